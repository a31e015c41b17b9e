package report

import (
	"strings"

	"assay/check"
)

// roundTable shows the stretches of a run that is worked in several.
func roundTable(r *Result) table {
	t := table{Title: "Rounds", Head: []string{"round", "clients", "took", "committed", "per second", "mean", "p50", "p95", "p99", "max"}}
	facts := roundFacts(r.Rounds)
	t.Head = append(t.Head, facts...)
	for _, x := range r.Rounds {
		row := []string{x.Name, check.Count(x.Clients), seconds(x.Seconds), check.Count(x.Outcomes.Committed), figure(x.PerSecond)}
		row = append(row, times(&x.Service, x.Service.Mean, x.Service.P50, x.Service.P95, x.Service.P99, x.Service.Max)...)
		for _, name := range facts {
			row = append(row, factOf(x.Facts, name))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// times are some of a latency's, or none if nothing was timed.
func times(l *Latency, these ...float64) []string {
	cells := make([]string, len(these))
	for i, ms := range these {
		cells[i] = none
		if l.Count > 0 {
			cells[i] = millis(ms)
		}
	}
	return cells
}

// roundFacts are the names of all facts, in the order in which they come up.
func roundFacts(rounds []Round) []string {
	var names []string
	seen := map[string]bool{}
	for _, x := range rounds {
		for _, f := range x.Facts {
			if !seen[f.Name] {
				seen[f.Name] = true
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
func narrowRounds(r *Result) table {
	t := table{Head: []string{"round", "clients", "took", "committed", "mean", "p50", "p99", "max"}}
	for _, x := range r.Rounds {
		row := []string{x.Name, check.Count(x.Clients), seconds(x.Seconds), check.Count(x.Outcomes.Committed)}
		row = append(row, times(&x.Service, x.Service.Mean, x.Service.P50, x.Service.P99, x.Service.Max)...)
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
	line := x.Name + ": " + check.Count(x.Outcomes.Committed) + " in " + seconds(x.Seconds)
	if x.Service.Count > 0 {
		line += ", mean " + millis(x.Service.Mean) + ", p99 " + millis(x.Service.P99) + ", max " + millis(x.Service.Max)
	}
	if facts := factsLine(x); facts != "" {
		line += "; " + facts
	}
	return line
}
