package report

import (
	"slices"
	"strings"

	"assay/check"
	"assay/history"
	"assay/internal/quantity"
)

// Round is one stretch of a run that is worked in several.
type Round struct {
	Name    string `json:"name"`
	Clients int    `json:"clients"`
	// Apart keeps it out of the run's throughput and latency.
	Apart bool `json:"apart,omitempty"`
	// StartSecond is since the start of the run.
	StartSecond float64        `json:"start_s"`
	Seconds     float64        `json:"seconds"`
	Outcomes    history.Counts `json:"outcomes"`
	PerSecond   float64        `json:"committed_per_second"`
	// RowsPerSecond counts rows written or returned; 0 if the workload does not count them.
	RowsPerSecond float64 `json:"rows_per_second,omitempty"`
	Service       Latency `json:"service_time"`
	// Tasks are the first 2,000 committed operations in order of their beginning, if the workload
	// wants them: seconds since the round's start, and duration in milliseconds.
	Tasks [][2]float64 `json:"tasks,omitempty"`
	// Size is taken after the round; null if unknown.
	Size *RoundSize `json:"size,omitempty"`
	// Facts are from the workload or the server, such as rows read or the share of lock waits.
	Facts []Setting `json:"facts,omitempty"`
}

// EndSecond is since the start of the run.
func (r *Round) EndSecond() float64 { return r.StartSecond + r.Seconds }

// RoundSize is what the rows took after a round.
type RoundSize struct {
	Bytes int64 `json:"bytes"`
	// Payload is the bytes that the Rows held.
	Rows    int64 `json:"rows"`
	Payload int64 `json:"payload_bytes"`
}

// roundTables are what the rounds did, the times of their operations, and their facts.
func roundTables(r *Result) []Table {
	did := Table{Title: "Rounds", Head: []string{"round", "clients", "took", "committed", "per second"}}
	took := Table{Title: "Times of the rounds' operations", Head: []string{"round", "mean", "p50", "p95", "p99", "max"}}
	for _, x := range r.Rounds {
		did.Rows = append(did.Rows, []string{x.Name, check.Count(x.Clients), seconds(x.Seconds), check.Count(x.Outcomes.Committed), figure(x.PerSecond)})
		took.Rows = append(took.Rows, append([]string{x.Name}, times(x.Service.Count > 0, x.Service.Mean, x.Service.P50, x.Service.P95, x.Service.P99, x.Service.Max)...))
	}
	all := []Table{did, took}
	if facts := roundFactTable(r); len(facts.Rows) > 0 {
		all = append(all, facts.Parted(1)...)
	}
	return all
}

// roundFactTable is a table of its own: beside the times it would be wider than a window.
func roundFactTable(r *Result) Table {
	facts := roundFacts(r.Rounds)
	t := Table{Title: "What else is known of the rounds", Head: append([]string{"round"}, facts...)}
	sized := len(sizedRounds(r)) > 0
	if sized {
		t.Head = append(t.Head, "payload", "ended at")
	}
	if len(t.Head) == 1 {
		return t
	}
	for _, x := range r.Rounds {
		row := []string{x.Name}
		for _, name := range facts {
			row = append(row, factOf(x.Facts, name))
		}
		if sized {
			payload := none
			if x.Size != nil {
				payload = check.Count(x.Size.Payload)
			}
			row = append(row, payload, seconds(x.EndSecond()))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func sizedRounds(r *Result) []Round {
	return slices.DeleteFunc(slices.Clone(r.Rounds), func(x Round) bool { return x.Size == nil })
}

func times(timed bool, these ...float64) []string {
	cells := make([]string, len(these))
	for i, ms := range these {
		cells[i] = known(timed, millis(ms))
	}
	return cells
}

func roundFacts(rounds []Round) []string {
	var names []string
	for _, x := range rounds {
		for _, f := range x.Facts {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

func factOf(facts []Setting, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return readableText(f.Value)
		}
	}
	return none
}

// narrowRounds has the most important figures of the rounds in one table, for terminals and summaries.
func narrowRounds(r *Result) Table {
	t := Table{Head: []string{"round", "clients", "took", "committed", "mean", "p50", "p99", "max"}}
	for _, x := range r.Rounds {
		row := []string{x.Name, check.Count(x.Clients), seconds(x.Seconds), check.Count(x.Outcomes.Committed)}
		t.Rows = append(t.Rows, append(row, times(x.Service.Count > 0, x.Service.Mean, x.Service.P50, x.Service.P99, x.Service.Max)...))
	}
	return t
}

func factsLine(x *Round) string {
	var parts []string
	for _, f := range x.Facts {
		parts = append(parts, f.Name+" "+readableText(f.Value))
	}
	return strings.Join(parts, "; ")
}

// TimesOfTasks draws the time of each operation of named rounds; nothing if there are no Tasks.
func TimesOfTasks(title string, names []string, rounds []Round) LineChart {
	chart := LineChart{Title: title, Across: "seconds since the round began", Up: "time of each task", Scattered: true, Format: quantity.Milliseconds}
	for i, r := range rounds {
		if len(r.Tasks) > 0 {
			chart.Lines = append(chart.Lines, ChartLine{Name: names[i], Points: r.Tasks})
		}
	}
	return chart
}

// tasksChart has only the last rounds, one for each color.
func tasksChart(r *Result) LineChart {
	last := r.Rounds[max(0, len(r.Rounds)-lineClasses):]
	var names []string
	for _, x := range last {
		names = append(names, x.Name)
	}
	return TimesOfTasks("Time of each task", names, last)
}

func drawRounds(rounds []Round) (all []DrawnBars) {
	took := BarChart{Title: "Length of the rounds", Along: "how long the round took", Format: quantity.Seconds}
	times := BarChart{Title: "Times of the rounds' operations", Along: "99th percentile, with the median and the longest", Format: quantity.Milliseconds}
	for _, r := range rounds {
		took.Bars = append(took.Bars, Bar{Name: r.Name, Value: r.Seconds})
		if s := &r.Service; s.Count > 0 {
			times.Bars = append(times.Bars, Bar{Name: r.Name, Value: s.P99, Low: s.P50, High: s.Max})
		}
	}
	for _, chart := range []BarChart{took, times} {
		if len(chart.Bars) > 0 {
			all = append(all, chart.Draw(anchor(chart.Title)))
		}
	}
	return all
}
