package runner

import (
	"assay/measure"
	"assay/report"
)

// enterDegradation marks the point at which the throughput fell for good. It is
// looked for in a closed loop without rounds or faults: in an open loop the
// throughput is what was asked for, rounds differ on purpose, and what a fault
// does is reported with the fault.
func enterDegradation(r *report.Result, f measure.Figures, s Scenario) {
	if s.Load.Rate > 0 || len(r.Rounds) > 0 || len(s.Faults) > 0 {
		return
	}
	d := measure.FindDegradation(f.Series)
	if d.Found {
		r.Series.Degradation = &d.AtSeconds
		r.Notes = append(r.Notes, d.String())
	} else if s.definition().Degradation {
		r.Notes = append(r.Notes, d.String())
	}
}
