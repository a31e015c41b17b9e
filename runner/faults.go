package runner

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	// eventDied is a server that ended though nobody had it end; Detail begins with
	// its node's name and says how.
	eventDied = "server died"
	// eventSettled says in Detail how long after the last fault all nodes held
	// the same data.
	eventSettled = "settled"
	// eventTwoPrimaries says that a node took writes in the end beside the primary.
	eventTwoPrimaries = "two primaries"
	// eventLeader is who took writes: the first of a run before the work, the last in the end.
	// Detail is the node's name, or the names, with commas between, where each has a part of the data.
	eventLeader = "leader"
)

// faultRecord is a fault in the history. Times are nanoseconds since the start
// of the run.
type faultRecord struct {
	Number int    `json:"number"`
	Action string `json:"action"`
	Target string `json:"target"`
	// Asked is the fault as it was asked for, with its times.
	Asked string `json:"asked,omitempty"`
	// Source says where it is from, such as a file; empty if it was written as it is.
	Source   string   `json:"source,omitempty"`
	Nodes    []string `json:"nodes"`
	Injected int64    `json:"injected"`
	// Cut is when the power was cut; 0 of other faults.
	Cut int64 `json:"cut,omitempty"`
	// Healed is 0 until it is.
	Healed          int64  `json:"healed,omitempty"`
	Proven          bool   `json:"proven"`
	Proof           string `json:"proof,omitempty"`
	Healing         string `json:"healing,omitempty"`
	Problem         string `json:"problem,omitempty"`
	Skipped         bool   `json:"skipped,omitempty"`
	Primary         string `json:"primary,omitempty"`
	NewPrimary      string `json:"new_primary,omitempty"`
	NewPrimaryAfter int64  `json:"new_primary_after,omitempty"`
	// Backup is what a backup or a restore made; nil of other faults.
	Backup        *backupRecord `json:"backup,omitempty"`
	PrimaryStayed string        `json:"primary_stayed,omitempty"`
}

// faultLog is what a history has of faults and of the cluster.
type faultLog struct {
	faults  []faultRecord // by number
	events  []report.ClusterEvent
	died    []report.ClusterEvent
	leaders []report.ClusterEvent // of eventLeader
	settled string
	// twoPrimaries is true after eventTwoPrimaries.
	twoPrimaries bool
}

// event takes one event of the history.
func (l *faultLog) event(e history.Event) error {
	switch e.Name {
	case eventFault:
		var f faultRecord
		if err := json.Unmarshal([]byte(e.Detail), &f); err != nil {
			return fmt.Errorf("the history's record of a fault cannot be read: %w", err)
		}
		i := slices.IndexFunc(l.faults, func(old faultRecord) bool { return old.Number == f.Number })
		if i < 0 {
			l.faults = append(l.faults, f)
		} else {
			l.faults[i] = f
		}
	case eventCluster:
		l.events = append(l.events, report.ClusterEvent{Second: float64(e.At) / 1e9, Text: e.Detail})
	case eventDied:
		l.events = append(l.events, report.ClusterEvent{Second: float64(e.At) / 1e9, Text: e.Detail})
		l.died = append(l.died, l.events[len(l.events)-1])
	case eventLeader:
		l.leaders = append(l.leaders, report.ClusterEvent{Second: float64(e.At) / 1e9, Text: e.Detail})
	case eventSettled:
		l.settled = e.Detail
	case eventTwoPrimaries:
		l.twoPrimaries = true
	}
	return nil
}

// acted are the faults that acted, as measure wants them; each with its
// index in faults. One that never healed acted until the end.
func (l *faultLog) acted(end int64) (acted []measure.FaultPeriod, indexes []int) {
	for i, f := range l.faults {
		if f.Skipped {
			continue
		}
		healed := f.Healed
		if healed == 0 {
			healed = end
		}
		acted = append(acted, measure.FaultPeriod{Injected: f.Injected, Healed: healed})
		indexes = append(indexes, i)
	}
	return acted, indexes
}

// enter puts the faults with what they did to the work into the result.
func (l *faultLog) enter(r *report.Result, impacts []measure.Impact, indexes []int) {
	r.Faults = nil
	for _, f := range l.faults {
		out := f.reported(r.Started)
		if s := &r.Series; s.MeasureEnd > s.MeasureStart {
			measured := out.InjectedSecond - s.MeasureStart
			out.InjectedMeasured = &measured
		}
		r.Faults = append(r.Faults, out)
	}
	for i, impact := range impacts {
		enterImpact(&r.Faults[indexes[i]], impact)
	}
	if r.Cluster != nil {
		r.Cluster.Events, r.Cluster.Settled, r.Cluster.TookOver = l.events, l.settled, ""
		r.Cluster.TwoPrimaries = l.twoPrimaries
		if last, took := l.tookOver(); took {
			r.Cluster.TookOver = last.Text
			last.Text += " takes writes in the end, and nobody saw it take over"
			r.Cluster.Events = append(slices.Clone(l.events), last)
		}
	}
}

// tookOver is who takes writes in the end, if it is another node than those before the work and
// those that a fault was seen to have brought in their places.
func (l *faultLog) tookOver() (last report.ClusterEvent, took bool) {
	if len(l.leaders) < 2 {
		return last, false
	}
	seen := strings.Split(l.leaders[0].Text, ",")
	faults := slices.SortedStableFunc(slices.Values(l.faults), func(a, b faultRecord) int {
		return cmp.Compare(a.Injected+a.NewPrimaryAfter, b.Injected+b.NewPrimaryAfter)
	})
	for _, f := range faults {
		place := slices.Index(seen, f.Primary)
		switch {
		case f.NewPrimary == "":
		case place >= 0:
			seen[place] = f.NewPrimary
		default: // its predecessor is not known, or took over unseen
			seen = append(seen[:len(seen)-1], f.NewPrimary)
		}
	}
	last = l.leaders[len(l.leaders)-1]
	for name := range strings.SplitSeq(last.Text, ",") {
		if !slices.Contains(seen, name) {
			last.Text = name
			return last, true
		}
	}
	return last, false
}

// reported is the fault for the report, without what it did to the work; its times count
// from start.
func (f *faultRecord) reported(start time.Time) report.Fault {
	out := report.Fault{
		Action: f.Action, Target: f.Target, Asked: f.Asked, Source: f.Source, Nodes: f.Nodes, Proven: f.Proven, Proof: f.Proof, Healing: f.Healing,
		Problem: f.Problem, Skipped: f.Skipped, Primary: f.Primary, NewPrimary: f.NewPrimary, NewPrimaryAfter: float64(f.NewPrimaryAfter) / 1e6, PrimaryStayed: f.PrimaryStayed,
		InjectedAt: start.Add(time.Duration(f.Injected)), InjectedSecond: float64(f.Injected) / 1e9,
		RecoveredAfter: -1, WriteOutage: -1, ReadOutage: -1, Backup: f.Backup.reported(),
	}
	if f.Cut > 0 {
		at := start.Add(time.Duration(f.Cut))
		out.CutAt = &at
	}
	if f.Healed > 0 {
		out.HealedAt, out.HealedSecond = start.Add(time.Duration(f.Healed)), float64(f.Healed)/1e9
	}
	return out
}

func enterImpact(f *report.Fault, impact measure.Impact) {
	longest := impact.LongestCall()
	f.LongestCall, f.LongestCallCut = float64(longest.Length)/1e6, longest.Cut
	if after := impact.RecoveredAfter(); after >= 0 {
		f.RecoveredAfter = float64(after) / 1e6
	}
	if gap := impact.Writes; gap.Known {
		f.WriteOutage, f.WritesAway = float64(gap.Length())/1e6, gap.Open
	}
	if gap := impact.Reads; gap.Known {
		f.ReadOutage, f.ReadsAway = float64(gap.Length())/1e6, gap.Open
	}
	f.Errors = append(f.Errors, impact.Errors...)
}

// unproven says which faults make the measurement one of something else than
// was asked for.
func (l *faultLog) unproven() []string {
	var reasons []string
	for _, death := range l.died {
		if !l.diskFailed(death) {
			reasons = append(reasons, fmt.Sprintf("a server died: at %.1f s %s; its log is in the run's folder", death.Second, death.Text))
		}
	}
	for _, f := range l.faults {
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

// seenWithin is the time within which the end of a server is seen, on a machine that is busy, too.
const seenWithin = int64(time.Second)

// diskFailed reports whether a server ended while the disk below it failed, as was asked for:
// many end themselves rather than go on without what they could not write.
func (l *faultLog) diskFailed(death report.ClusterEvent) bool {
	node, _, _ := strings.Cut(death.Text, " ")
	at := int64(death.Second * 1e9)
	return slices.ContainsFunc(l.faults, func(f faultRecord) bool {
		return recordedAction(f.Action).FailsDisk && slices.Contains(f.Nodes, node) && at >= f.Injected && (f.Healed == 0 || at <= f.Healed+seenWithin)
	})
}
