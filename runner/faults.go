package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"assay/history"
	"assay/measure"
	"assay/report"
)

// The events of a run with a cluster, beside those of every run.
const (
	// eventFault is a fault that was injected, or healed, or skipped; Detail is
	// a faultRecord, and the last one of a number holds.
	eventFault = "fault"
	// eventCluster is what the cluster did by itself; Detail says what.
	eventCluster = "cluster"
	// eventDied is a server that ended though nobody had it end; Detail says
	// which, and how.
	eventDied = "server died"
	// eventSettled says in Detail how long after the last fault all nodes held
	// the same data.
	eventSettled = "settled"
)

// faultRecord is a fault in the history. Times are nanoseconds since the start
// of the run.
type faultRecord struct {
	Number   int      `json:"number"`
	Action   string   `json:"action"`
	Target   string   `json:"target"`
	Nodes    []string `json:"nodes"`
	Injected int64    `json:"injected"`
	// Healed is 0 until it is.
	Healed          int64  `json:"healed,omitempty"`
	Proven          bool   `json:"proven"`
	Proof           string `json:"proof,omitempty"`
	Healing         string `json:"healing,omitempty"`
	Problem         string `json:"problem,omitempty"`
	Skipped         bool   `json:"skipped,omitempty"`
	NewPrimary      string `json:"new_primary,omitempty"`
	NewPrimaryAfter int64  `json:"new_primary_after,omitempty"`
}

// disturbed is what a history tells of faults and of the cluster.
type disturbed struct {
	faults  []faultRecord // by number
	events  []report.ClusterEvent
	died    []string // reasons not to believe the figures
	settled string
}

// event takes one event of the history.
func (d *disturbed) event(e history.Event) error {
	switch e.Name {
	case eventFault:
		var f faultRecord
		if err := json.Unmarshal([]byte(e.Detail), &f); err != nil {
			return fmt.Errorf("the history's record of a fault cannot be read: %w", err)
		}
		i := slices.IndexFunc(d.faults, func(old faultRecord) bool { return old.Number == f.Number })
		if i < 0 {
			d.faults = append(d.faults, f)
		} else {
			d.faults[i] = f
		}
	case eventCluster:
		d.events = append(d.events, report.ClusterEvent{Second: float64(e.At) / 1e9, Text: e.Detail})
	case eventDied:
		d.events = append(d.events, report.ClusterEvent{Second: float64(e.At) / 1e9, Text: e.Detail})
		d.died = append(d.died, fmt.Sprintf("a server died: at %.1f s %s; its log is in the run's folder", float64(e.At)/1e9, e.Detail))
	case eventSettled:
		d.settled = e.Detail
	}
	return nil
}

// disturbances are the faults that acted, as measure wants them; each with its
// place in faults. One that never healed acted until the end.
func (d *disturbed) disturbances(end int64) (acted []measure.Disturbance, places []int) {
	for i, f := range d.faults {
		if f.Skipped {
			continue
		}
		healed := f.Healed
		if healed == 0 {
			healed = end
		}
		acted = append(acted, measure.Disturbance{Injected: f.Injected, Healed: healed})
		places = append(places, i)
	}
	return acted, places
}

// enter puts the faults with what they did to the work into the result.
func (d *disturbed) enter(r *report.Result, impacts []measure.Impact, places []int) {
	r.Faults = nil
	for _, f := range d.faults {
		out := report.Fault{
			Action: f.Action, Target: f.Target, Nodes: f.Nodes, Proven: f.Proven, Proof: f.Proof, Healing: f.Healing,
			Problem: f.Problem, Skipped: f.Skipped, NewPrimary: f.NewPrimary, NewPrimaryAfter: float64(f.NewPrimaryAfter) / 1e6,
			InjectedAt: r.Started.Add(time.Duration(f.Injected)), InjectedSecond: float64(f.Injected) / 1e9,
			RecoveredAfter: -1, WriteOutage: -1, ReadOutage: -1,
		}
		if f.Healed > 0 {
			out.HealedAt, out.HealedSecond = r.Started.Add(time.Duration(f.Healed)), float64(f.Healed)/1e9
		}
		if s := &r.Series; s.MeasureEnd > s.MeasureStart {
			measured := out.InjectedSecond - s.MeasureStart
			out.InjectedMeasured = &measured
		}
		r.Faults = append(r.Faults, out)
	}
	for i, impact := range impacts {
		enterImpact(&r.Faults[places[i]], impact)
	}
	if r.Cluster != nil {
		r.Cluster.Events, r.Cluster.Settled = d.events, d.settled
	}
}

func enterImpact(f *report.Fault, impact measure.Impact) {
	f.LongestCall = float64(impact.LongestCall) / 1e6
	if after := impact.RecoveredAfter(); after >= 0 {
		f.RecoveredAfter = float64(after) / 1e6
	}
	if gap := impact.Writes; gap.Known {
		f.WriteOutage, f.WritesAway = float64(gap.Length())/1e6, gap.Open
	}
	if gap := impact.Reads; gap.Known {
		f.ReadOutage, f.ReadsAway = float64(gap.Length())/1e6, gap.Open
	}
	for _, e := range impact.Errors {
		f.Errors = append(f.Errors, report.ErrorCount{Class: e.Class, Outcome: e.Outcome.String(), Attempts: e.Attempts})
	}
}

// unproven says which faults make the measurement one of something else than
// was asked for.
func (d *disturbed) unproven() []string {
	reasons := slices.Clone(d.died)
	for _, f := range d.faults {
		switch {
		case f.Skipped:
		case !f.Proven:
			reasons = append(reasons, fmt.Sprintf("a fault did nothing: %s %s at %.1f s is not proven to have taken effect",
				f.Action, f.Target, float64(f.Injected)/1e9))
		case f.Healed == 0:
			reasons = append(reasons, fmt.Sprintf("a fault was not healed: %s %s at %.1f s: %s",
				f.Action, f.Target, float64(f.Injected)/1e9, f.Problem))
		}
	}
	return reasons
}
