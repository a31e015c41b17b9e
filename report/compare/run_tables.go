package compare

import (
	"cmp"
	"slices"
	"strconv"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
)

// workTables are about what only some runs have. An empty one is left out.
type workTables struct{ faults, availability, entities, rounds, facts report.Table }

func newWorkTables() *workTables {
	return &workTables{
		faults:       report.Table{Title: "Faults", Head: []string{"run", "fault", "proven", "new primary", "write outage", "read outage", "longest call", "errors of attempts"}, Words: []int{1, 7}},
		availability: report.Table{Title: "Availability", Head: []string{"run", "policy", "longest write", "longest read", "hung", "lost", "done twice", "stale reads"}, Words: []int{1}},
		entities:     report.Table{Title: "Entities", Head: []string{"run", "writes/s", "best second", "mean", "reads/s", "best second", "mean"}},
		rounds:       report.Table{Title: "Rounds", Head: []string{"run", "round", "clients", "took", "mean", "p50", "p99", "max"}, Words: []int{1}},
		facts:        report.Table{Title: "What else is known of the rounds", Head: []string{"run", "round", "on disk", "more"}, Words: []int{1, 3}},
	}
}

func (w *workTables) add(name string, r *report.Result) {
	for _, f := range r.Faults {
		primary := quantity.None
		switch {
		case f.TookOver():
			primary = quantity.Milliseconds(f.NewPrimaryAfter)
		case f.PrimaryStayed != "":
			primary = "stayed"
		}
		fault, proven := f.Action+" "+f.Target, "no"
		if f.Skipped {
			fault += " (skipped)"
		}
		if f.Proven {
			proven = "yes"
		}
		w.faults.Rows = append(w.faults.Rows, []string{name, fault, proven, primary, quantity.Lasted(f.WriteOutage, f.WritesAway), quantity.Lasted(f.ReadOutage, f.ReadsAway),
			quantity.Lasted(f.LongestCall, f.LongestCallCut), cmp.Or(report.ErrorCounts(f.Errors), "none")})
	}
	if a := r.Availability; a != nil {
		w.availability.Rows = append(w.availability.Rows, []string{name, a.Policy, quantity.Lasted(a.LongestWrite, a.LongestWriteCut), quantity.Lasted(a.LongestRead, a.LongestReadCut),
			check.Count(a.HungWrites + a.HungReads), a.Counted(a.Lost), a.Counted(a.Duplicates), a.Counted(a.Stale)})
	}
	if e := r.Entity; e != nil {
		row := []string{name}
		for _, flow := range []report.Flow{e.Writes, e.Reads} {
			row = append(row, quantity.Figure(flow.PerSecond), quantity.Figure(flow.Max), quantity.Lasted(flow.Mean, false))
		}
		w.entities.Rows = append(w.entities.Rows, row)
	}
	for _, round := range r.Rounds {
		t := &round.Service
		w.rounds.Rows = append(w.rounds.Rows, []string{name, round.Name, strconv.Itoa(round.Clients), quantity.Milliseconds(round.Seconds * 1000),
			quantity.Lasted(t.Mean, false), quantity.Lasted(t.P50, false), quantity.Lasted(t.P99, false), quantity.Lasted(t.Max, false)})
		if more := report.Pairs(round.Facts, " "); more != "" || round.Size != nil {
			size := quantity.None
			if round.Size != nil {
				size = quantity.Bytes(round.Size.Bytes)
			}
			w.facts.Rows = append(w.facts.Rows, []string{name, round.Name, size, more})
		}
	}
}

func (w *workTables) tables() []report.Table {
	return filled(w.faults, w.availability, w.entities, w.rounds, w.facts)
}

func roundsTable(groups []Group) []report.Table {
	t := report.Table{Title: "Rounds by configuration", Head: []string{"", "round", "took", "±", "rows", "±", "p50", "±"}, Words: []int{1}}
	for _, g := range groups {
		first := g.Runs[0].Result
		own := roundMetrics(first)
		for _, round := range first.Rounds {
			line := []string{cmp.Or(g.Name, "all"), round.Name}
			for _, figure := range []string{"took", "rows", "p50"} {
				m, _ := find(own, round.Name+": "+figure)
				line = append(line, g.medianAndShare(m)...)
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return filled(t)
}

func filled(tables ...report.Table) []report.Table {
	return slices.DeleteFunc(tables, func(t report.Table) bool { return len(t.Rows) == 0 })
}

// availabilityTable counts lost, doubled and stale operations over all runs of each group.
func availabilityTable(groups []Group) []report.Table {
	t := report.Table{Title: "Over all runs", Head: []string{"", "lost", "done twice", "stale reads"}}
	for _, g := range groups {
		var lost, twice, stale int64
		least := ""
		for _, r := range g.Runs {
			a := r.Result.Availability
			if a == nil {
				return nil
			}
			if a.NotRead != "" {
				least = quantity.AtLeast
			}
			lost, twice, stale = lost+a.Lost, twice+a.Duplicates, stale+a.Stale
		}
		t.Rows = append(t.Rows, []string{cmp.Or(g.Name, "all"), least + check.Count(lost), least + check.Count(twice), least + check.Count(stale)})
	}
	return filled(t)
}
