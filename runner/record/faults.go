// Package record defines the events of a run's history beside operations: faults, what the cluster
// did, and rounds. Whoever writes these events and whoever evaluates the run share one form.
//
// It must not know how a fault is done, nor what follows from one.
package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/fault"
	"assay/history"
	"assay/measure"
	"assay/report"
)

// The events of a run with a cluster.
const (
	// EventFault is a fault that was injected, healed or skipped. Detail is a Fault; the last
	// event of a number holds.
	EventFault = "fault"
	// EventCluster is what the cluster did by itself, in the words of Detail.
	EventCluster = "cluster"
	// EventDied is a server that ended by itself. Detail begins with its node's name and says
	// how.
	EventDied = "server died"
	// EventSettled says in Detail how long after the last fault all nodes held the same data.
	EventSettled = "settled"
	// EventTwoPrimaries says that another node took writes beside the primary at the end.
	EventTwoPrimaries = "two primaries"
	// EventLeader is who takes writes: its first event is before the work, its last at the
	// end. Detail is the node's name; shards give several with commas.
	EventLeader = "leader"
)

// Fault is a fault in the history. Times are nanoseconds since the start of the run.
type Fault struct {
	Number int    `json:"number"`
	Action string `json:"action"`
	Target string `json:"target"`
	// Asked is the fault as asked for, with its times.
	Asked string `json:"asked,omitempty"`
	// Source is where the fault comes from, such as a file; empty for the fault's own text.
	Source   string   `json:"source,omitempty"`
	Nodes    []string `json:"nodes"`
	Injected int64    `json:"injected"`
	Cut      int64    `json:"cut,omitempty"`
	Healed   int64    `json:"healed,omitempty"`
	// Killed is when a server first had to be killed that was to end in order; 0 if none had to.
	// KilledNodes are all such servers; records of earlier versions lack them.
	Killed      int64    `json:"killed,omitempty"`
	KilledNodes []string `json:"killed_nodes,omitempty"`
	Proven      bool     `json:"proven"`
	Proof       string   `json:"proof,omitempty"`
	Healing     string   `json:"healing,omitempty"`
	Problem     string   `json:"problem,omitempty"`
	// Away means that its nodes were not seen to be back after it had ended.
	Away            bool   `json:"away,omitempty"`
	Skipped         bool   `json:"skipped,omitempty"`
	Primary         string `json:"primary,omitempty"`
	NewPrimary      string `json:"new_primary,omitempty"`
	NewPrimaryAfter int64  `json:"new_primary_after,omitempty"`
	// Backup is what a backup or restore made; nil for other faults.
	Backup        *Backup `json:"backup,omitempty"`
	PrimaryStayed string  `json:"primary_stayed,omitempty"`
}

// Log is what a history has of faults and of the cluster.
type Log struct {
	// Faults were injected or skipped. Their order is that of their first events.
	Faults       []Fault
	events       []report.ClusterEvent
	died         []report.ClusterEvent
	leaders      []report.ClusterEvent // of EventLeader
	settled      string
	twoPrimaries bool
}

// Event takes one event of the history. It fails if the event cannot be read.
func (l *Log) Event(e history.Event) error {
	switch e.Name {
	case EventFault:
		var f Fault
		if err := json.Unmarshal([]byte(e.Detail), &f); err != nil {
			return fmt.Errorf("the history's record of a fault cannot be read: %w", err)
		}
		i := slices.IndexFunc(l.Faults, func(old Fault) bool { return old.Number == f.Number })
		if i < 0 {
			l.Faults = append(l.Faults, f)
		} else {
			l.Faults[i] = f
		}
	case EventCluster:
		l.events = append(l.events, report.ClusterEvent{Second: float64(e.At) / 1e9, Text: e.Detail})
	case EventDied:
		l.events = append(l.events, report.ClusterEvent{Second: float64(e.At) / 1e9, Text: e.Detail})
		l.died = append(l.died, l.events[len(l.events)-1])
	case EventLeader:
		l.leaders = append(l.leaders, report.ClusterEvent{Second: float64(e.At) / 1e9, Text: e.Detail})
	case EventSettled:
		l.settled = e.Detail
	case EventTwoPrimaries:
		l.twoPrimaries = true
	}
	return nil
}

// Acted are the faults that acted, for package measure, each with its index in Faults. A fault that
// never healed acted until end, in nanoseconds since the start of the run.
func (l *Log) Acted(end int64) (acted []measure.FaultPeriod, indexes []int) {
	for i, f := range l.Faults {
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

// Enter enters the faults with their impacts on the work. impacts belong to the faults with these
// indexes.
func (l *Log) Enter(r *report.Result, impacts []measure.Impact, indexes []int) {
	r.Faults = nil
	for _, f := range l.Faults {
		out := f.Reported(r.Started)
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

// tookOver is who takes writes at the end, unless that node did before the work or a fault was seen
// to have brought it in.
func (l *Log) tookOver() (last report.ClusterEvent, took bool) {
	if len(l.leaders) < 2 {
		return last, false
	}
	seen := strings.Split(l.leaders[0].Text, ",")
	faults := slices.SortedStableFunc(slices.Values(l.Faults), func(a, b Fault) int {
		return cmp.Compare(a.Injected+a.NewPrimaryAfter, b.Injected+b.NewPrimaryAfter)
	})
	for _, f := range faults {
		place := slices.Index(seen, f.Primary)
		switch {
		case f.NewPrimary == "":
		case place >= 0:
			seen[place] = f.NewPrimary
		default: // the predecessor is unknown, or took over unseen
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

// Reported is the fault for the report, without its impact. Its times count from start.
func (f *Fault) Reported(start time.Time) report.Fault {
	out := report.Fault{
		Action: f.Action, Target: f.Target, Asked: f.Asked, Source: f.Source, Nodes: f.Nodes, Proven: f.Proven, Proof: f.Proof, Healing: f.Healing,
		Problem: f.Problem, Away: f.Away, Skipped: f.Skipped, Primary: f.Primary, NewPrimary: f.NewPrimary, NewPrimaryAfter: float64(f.NewPrimaryAfter) / 1e6, PrimaryStayed: f.PrimaryStayed,
		InjectedAt: start.Add(time.Duration(f.Injected)), InjectedSecond: float64(f.Injected) / 1e9,
		RecoveredAfter: -1, WriteOutage: -1, ReadOutage: -1, Backup: f.Backup.reported(),
	}
	if f.Cut > 0 {
		at := start.Add(time.Duration(f.Cut))
		out.CutAt = &at
	}
	if f.Killed > 0 {
		at := start.Add(time.Duration(f.Killed))
		out.KilledAt, out.Killed = &at, f.KilledNodes
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

// Unproven says which faults make the measurement differ from what was asked for.
func (l *Log) Unproven() []string {
	var reasons []string
	for _, death := range l.died {
		if !l.diskFailed(death) {
			reasons = append(reasons, fmt.Sprintf("a server died: at %.1f s %s; its log is in the run's folder", death.Second, death.Text))
		}
	}
	for i, f := range l.Faults {
		switch {
		case f.Skipped && l.neverActed(i):
			reasons = append(reasons, fmt.Sprintf("a fault did nothing: %s: %s", cmp.Or(f.Asked, f.Action+" "+f.Target), strings.TrimPrefix(f.Problem, "skipped: ")))
		case f.Skipped:
		case !f.Proven:
			reasons = append(reasons, fmt.Sprintf("a fault did nothing: %s %s at %.1f s is not proven to have taken effect",
				f.Action, f.Target, float64(f.Injected)/1e9))
		case f.Healed == 0:
			reasons = append(reasons, fmt.Sprintf("a fault was not healed: %s %s at %.1f s: %s",
				f.Action, f.Target, float64(f.Injected)/1e9, f.Problem))
		case f.Away:
			reasons = append(reasons, fmt.Sprintf("a node was not seen to be back after a fault: %s %s at %.1f s: %s",
				f.Action, f.Target, float64(f.Injected)/1e9, f.Problem))
		}
	}
	return reasons
}

// neverActed reports whether fault i is the first of its kind that was asked for, and all of that kind
// were skipped. One time left out of many, such as of a node that was down already, is no reason.
func (l *Log) neverActed(i int) bool {
	f := l.Faults[i]
	same := func(o Fault) bool {
		return o.Asked == f.Asked && o.Source == f.Source && o.Action == f.Action && o.Target == f.Target
	}
	acted := slices.ContainsFunc(l.Faults, func(o Fault) bool { return same(o) && !o.Skipped })
	return !acted && slices.IndexFunc(l.Faults, same) == i
}

// seenWithin bounds the time, in nanoseconds, to notice the end of a server on a busy machine.
const seenWithin = int64(time.Second)

// diskFailed reports whether a server ended while a fault failed its disk. Many end themselves
// rather than go on without what they could not write.
func (l *Log) diskFailed(death report.ClusterEvent) bool {
	node, _, _ := strings.Cut(death.Text, " ")
	at := int64(death.Second * 1e9)
	return slices.ContainsFunc(l.Faults, func(f Fault) bool {
		return fault.Recorded(f.Action).FailsDisk && slices.Contains(f.Nodes, node) && at >= f.Injected && (f.Healed == 0 || at <= f.Healed+seenWithin)
	})
}

// FaultOf is the record of an injection, with times since start, the zero of the run's clock.
func FaultOf(i fault.Injection, start time.Time) Fault {
	since := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return max(int64(t.Sub(start)), 0)
	}
	at := i.InjectedAt
	if at.IsZero() {
		at = i.Due
	}
	f := Fault{
		Number: i.Number, Action: ActionOf(i.Fault), Target: i.Fault.Target, Asked: i.Fault.Written().String(), Source: i.Fault.Source, Nodes: i.Nodes,
		Injected: since(at), Cut: since(i.CutAt), Killed: since(i.KilledAt), KilledNodes: i.Killed, Healed: since(i.HealedAt), Proven: i.Proven, Proof: i.Proof, Healing: i.Healing,
		Problem: i.Problem, Skipped: i.Skipped, Primary: i.Primary, NewPrimary: i.NewPrimary, NewPrimaryAfter: int64(i.NewPrimaryAfter),
		Backup: backupOf(i.Backup, start),
	}
	// While its nodes are still awaited, it has no problem yet.
	f.Away = !i.HealedAt.IsZero() && !i.Healed && i.Problem != ""
	if i.PrimaryStayed {
		f.PrimaryStayed = i.Primary
	}
	if i.Detail != "" {
		f.Proof = strings.TrimSuffix(i.Detail+"; "+f.Proof, "; ")
	}
	return f
}

// ActionOf is the action with its value, if it has one.
func ActionOf(f fault.Fault) string {
	f.Target, f.At, f.Every, f.For = "", -1, 0, 0
	f.Loading, f.Source, f.When = false, "", ""
	text := f.String()
	return text[:len(text)-1] // the space before the target
}

// Backup is what a backup or a restore made.
type Backup struct {
	Number  int    `json:"number"`
	Restore int    `json:"restore,omitempty"`
	By      string `json:"by"`
	Bytes   int64  `json:"bytes"`
	Took    int64  `json:"took"`
	// Target is the moment restored, in nanoseconds since the start of the run; nil for the
	// backup's moment.
	Target *int64 `json:"target,omitempty"`
}

func backupOf(b *fault.Backup, start time.Time) *Backup {
	if b == nil {
		return nil
	}
	out := &Backup{Number: b.Number, Restore: b.Restore, By: b.By, Bytes: b.Bytes, Took: int64(b.Took)}
	if !b.Until.IsZero() {
		target := int64(b.Until.Sub(start))
		out.Target = &target
	}
	return out
}

func (b *Backup) reported() *report.Backup {
	if b == nil {
		return nil
	}
	out := &report.Backup{Number: b.Number, Restore: b.Restore, By: b.By, Bytes: b.Bytes, Seconds: float64(b.Took) / 1e9}
	if b.Target != nil {
		second := float64(*b.Target) / 1e9
		out.Target = &second
	}
	return out
}
