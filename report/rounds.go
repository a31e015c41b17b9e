package report

import (
	"slices"
	"strings"

	"assay/check"
	"assay/history"
)

// Round is one stretch of a run that is worked in several.
type Round struct {
	Name    string `json:"name"`
	Clients int    `json:"clients"`
	// Apart is true if it is not in the run's own throughput and latency.
	Apart bool `json:"apart,omitempty"`
	// StartSecond is since the start of the run, Seconds how long it took.
	StartSecond float64        `json:"start_s"`
	Seconds     float64        `json:"seconds"`
	Outcomes    history.Counts `json:"outcomes"`
	PerSecond   float64        `json:"committed_per_second"`
	// RowsPerSecond is how many rows were written or returned a second; 0 where
	// the workload does not count them.
	RowsPerSecond float64 `json:"rows_per_second,omitempty"`
	// Service is the time of each committed operation.
	Service Latency `json:"service_time"`
	// Size is what the rows took after the round; null where that is not known.
	Size *RoundSize `json:"size,omitempty"`
	// Facts are what the workload or the server says of the round, such as the
	// rows that were read, or the share of time spent in waiting for locks.
	Facts []Setting `json:"facts,omitempty"`
}

// EndSecond is since the start of the run.
func (r *Round) EndSecond() float64 { return r.StartSecond + r.Seconds }

// RoundSize is what the rows took after a round.
type RoundSize struct {
	// Bytes is on disk, as the database counts them.
	Bytes int64 `json:"bytes"`
	// Rows is how many rows there were, Payload the bytes that they held.
	Rows    int64 `json:"rows"`
	Payload int64 `json:"payload_bytes"`
}

// roundTable shows the stretches of a run that is worked in several.
func roundTable(r *Result) Table {
	t := Table{Title: "Rounds", Head: []string{"round", "clients", "took", "committed", "per second", "mean", "p50", "p95", "p99", "max"}}
	for _, x := range r.Rounds {
		row := []string{x.Name, check.Count(x.Clients), seconds(x.Seconds), check.Count(x.Outcomes.Committed), figure(x.PerSecond)}
		row = append(row, times(x.Service.Count > 0, x.Service.Mean, x.Service.P50, x.Service.P95, x.Service.P99, x.Service.Max)...)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// roundFactTable shows what the workload and the server say of the rounds. Beside
// the times it would be wider than a window.
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

// sizedRounds are those after which the size on disk is known.
func sizedRounds(r *Result) []Round {
	return slices.DeleteFunc(slices.Clone(r.Rounds), func(x Round) bool { return x.Size == nil })
}

// times are some times in milliseconds, or none of them if nothing was timed.
func times(timed bool, these ...float64) []string {
	cells := make([]string, len(these))
	for i, ms := range these {
		cells[i] = known(timed, millis(ms))
	}
	return cells
}

// roundFacts are the names of all facts, in the order in which they come up.
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

// narrowRounds shows the rounds without their facts, so narrow that it fits into a
// terminal.
func narrowRounds(r *Result) Table {
	t := Table{Head: []string{"round", "clients", "took", "committed", "mean", "p50", "p99", "max"}}
	for _, x := range r.Rounds {
		row := []string{x.Name, check.Count(x.Clients), seconds(x.Seconds), check.Count(x.Outcomes.Committed)}
		row = append(row, times(x.Service.Count > 0, x.Service.Mean, x.Service.P50, x.Service.P99, x.Service.Max)...)
		t.Rows = append(t.Rows, row)
	}
	return t
}

// factsLine is what is known of a round beside its times.
func factsLine(x *Round) string {
	var parts []string
	for _, f := range x.Facts {
		parts = append(parts, f.Name+" "+readableText(f.Value))
	}
	return strings.Join(parts, "; ")
}

// roundLine is a round in short.
func roundLine(x *Round) string {
	s := &x.Service
	return joined("; ", x.Name+": "+check.Count(x.Outcomes.Committed)+" in "+seconds(x.Seconds)+
		when(s.Count > 0, ", mean "+millis(s.Mean)+", p99 "+millis(s.P99)+", max "+millis(s.Max)), factsLine(x))
}
