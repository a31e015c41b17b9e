package runner

import (
	"fmt"

	"assay/check"
	"assay/measure"
	"assay/quantity"
	"assay/report"
)

// materialRatio is how many times the measured p99 the corrected one must be for
// reports to show it where no faults acted.
const materialRatio = 2

// enterCorrection enters what the response times of a closed loop leave out: its
// clients ask for nothing while they wait, so that a stall counts once a client.
// An open loop is measured from due and leaves nothing out, and rounds have no
// pace in common.
func enterCorrection(r *report.Result, f measure.Figures, faults bool) {
	r.Corrected, r.Correction = nil, nil
	switch {
	case r.Load.Loop == "open":
		return
	case f.Corrected.Count == 0 || len(r.Rounds) > 0:
		if faults {
			r.Notes = append(r.Notes, "latency is that of a closed loop, whose clients ask for nothing while they wait; what operations would have felt that come by themselves cannot be told: "+
				"there is no usual pace of a client to reckon with")
		}
		return
	}
	all := f.Corrected.Latency
	r.Corrected = &all
	r.Correction = &report.Correction{
		Interval: f.Corrected.IntervalMillis, Added: f.Corrected.Added,
		Material: faults || f.Corrected.P99 > materialRatio*f.Latency.P99,
	}
	if !r.Correction.Material {
		return
	}
	text := fmt.Sprintf("latency is that of a closed loop, whose clients ask for nothing while they wait: a stall counts once a client. "+
		"For operations that come at the usual pace, one each %s a client, p99 is estimated as %s where %s was measured, with %s added (corrected, after HdrHistogram); "+
		"--rate measures it",
		quantity.Milliseconds(f.Corrected.IntervalMillis), quantity.Milliseconds(f.Corrected.P99), quantity.Milliseconds(f.Latency.P99), check.Counted(f.Corrected.Added, "operation", "operations"))
	if hung := r.Client.Hung; hung > 0 {
		text += fmt.Sprintf("; what %s that never came back would add cannot be told", check.Counted(int64(hung), "client", "clients"))
	}
	r.Notes = append(r.Notes, text)
}
