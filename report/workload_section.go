package report

import "fmt"

// WorkloadFigures are figures of single workloads, each nil in runs of others.
type WorkloadFigures struct {
	Availability *Availability `json:"availability,omitempty"`
	Entity       *Entity       `json:"entity,omitempty"`
	YCSB         *YCSB         `json:"ycsb,omitempty"`
	TPCC         *TPCC         `json:"tpcc,omitempty"`
}

// section is a part of a report that only some runs have.
type section struct {
	ID, Title string
	Text      string
	Tables    []Table
	// lines are the pages' charts.
	lines       []LineChart
	label, line string
}

// Drawn are the charts as the page writes them.
func (s section) Drawn() (all []DrawnChart) {
	for i, c := range s.lines {
		all = append(all, c.Draw(fmt.Sprintf("%s-chart-%d", s.ID, i+1)))
	}
	return all
}

func sections(r *Result) (all []section) {
	if r.Ramp != nil {
		all = append(all, rampSection(r.Ramp))
	}
	if a := r.Availability; a != nil {
		all = append(all, section{ID: "availability", Title: "Availability", Tables: []Table{availabilityTable(a)}, label: "availability", line: availabilityLine(a)})
	}
	switch e, x := r.Entity, r.TPCC; { // tables of these two have the kinds of operations
	case e != nil:
		all = append(all, section{ID: "entity", Title: "Writes and reads", Tables: []Table{entityTable(e)}, label: "entities", line: entityLine(e)})
	case x != nil:
		all = append(all, section{ID: "tpcc", Title: "Transactions of TPC-C", Tables: tpccTables(x), label: "tpcc", line: tpccLine(x)})
	case len(r.Kinds) > 0:
		all = append(all, section{ID: "kinds", Title: "Kinds of operations", Tables: []Table{kindTable(r.Kinds)}})
	}
	return all
}
