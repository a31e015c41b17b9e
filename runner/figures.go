package runner

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/check"
	"assay/cluster"
	"assay/history"
	"assay/internal/quantity"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/store"
	"assay/workload/definition"
)

// measured computes the figures from the history and enters them.
func measured(folder string, s Scenario, r *report.Result, f findings) (measure.Figures, error) {
	path := filepath.Join(folder, FileHistory)
	ramp := newClientRamp(s)
	var (
		faults faultLog
		rounds roundReader
		cut    string
	)
	first, err := f.firstPass(path, ramp)
	for _, e := range first.events {
		err = errors.Join(err, faults.event(e), rounds.event(e))
		if e.Name == history.EventCut {
			cut = e.Detail
		}
	}
	scope, unread := first.scope()
	if err = errors.Join(err, unread); err != nil {
		return measure.Figures{}, err
	}
	if f.cut && scope.Cut == "" || !first.ending.Whole {
		scope.Cut = cmp.Or(cut, whyCut(f))
	}
	summary := measure.NewSummary(scope)
	ramp.windows = measure.NewRamp(scope, ramp.starts)
	acted, indexes := faults.acted(scope.Known)
	// The measured part is the last period: its impact is the longest outage.
	periods := slices.Concat(acted, []measure.FaultPeriod{{Injected: scope.MeasureStart, Healed: scope.MeasureEnd}})
	effect, measures := measure.NewImpactFinder(scope, periods), s.definition().Measures
	felt := newFelt(scope, &faults, acted, indexes)
	byRound, kinds := measure.NewRounds(rounds.scopes, scope.Stalls), newKinds(s.operationNames(), scope)
	_, err = history.Read(path, history.Visitor{AsMeasured: true, Bare: true, Op: func(op *history.Op) error {
		switch apart := byRound.Add(op); {
		case measures != nil && !measures(op.Kind):
			effect.Read(op)
		case apart:
			summary.Count(op)
		default:
			summary.Add(op)
			ramp.windows.Add(op)
			felt.add(op)
			kinds.add(op)
			effect.Write(op)
		}
		return nil
	}})
	if err != nil {
		return measure.Figures{}, err
	}
	figures, impacts := summary.Figures(), effect.Impacts()
	figures.Outage, figures.ByFaults, impacts = impacts[len(acted)].Writes, felt.all.Figures(), impacts[:len(acted)]
	figures.LeaveOutFaults(impacts)
	if len(rounds.scopes) > 0 {
		figures.Throughput.Low, figures.Throughput.High = nil, nil
	}
	enterFigures(r, figures, s)
	said := history.FirstErrors(first.events)
	for i := range r.Errors {
		r.Errors[i].First = said[r.Errors[i].Class]
	}
	faults.enter(r, impacts, indexes)
	felt.enter(r.Faults)
	enterRounds(r, byRound.Figures())
	r.Kinds = kinds.several(len(r.Rounds) > 0)
	enterDegradation(r, figures, s)
	enterValidity(r, s, figures, impacts, faults)
	ramp.enter(r, s)
	enterCorrection(r, figures, len(impacts) > 0)
	return figures, enterThresholds(r, figures, s)
}

// firstPass surveys a history, unless that was done already, and finds when the clients of a
// ramp began.
func (f findings) firstPass(path string, ramp *clientRamp) (s survey, err error) {
	if f.survey != nil && !ramp.wanted {
		return *f.survey, nil
	}
	s.ending, err = history.Read(path, history.Visitor{
		AsMeasured: true,
		Op:         ramp.visitor(),
		Event:      func(e history.Event) error { s.events = append(s.events, e); return nil },
	})
	return s, err
}

// whyCut is why a run was cut whose history does not tell.
func whyCut(f findings) string {
	if f.unrecorded {
		return "its history could not be written to the end"
	}
	return "assay or its machine was stopped before the run had ended"
}

func enterFigures(r *report.Result, f measure.Figures, s Scenario) {
	r.Throughput = f.Throughput
	r.Throughput.Offered = s.Load.Rate
	r.Latency, r.ServiceTime, r.Uncommitted = f.Latency, f.ServiceTime, f.Uncommitted
	r.Outcomes, r.Measured = f.Outcomes, f.Measured
	r.Retries.Attempts, r.Retries.Retried, r.Retries.Settled = f.Attempts, f.Retried, f.Settled
	r.Errors = f.Errors
	r.Client.Stalls, r.Client.StalledSeconds = nil, float64(f.Scope.Stalls.Within(math.MinInt64, math.MaxInt64))/1e9
	for _, stall := range f.Scope.Stalls[:min(len(f.Scope.Stalls), report.MaxStalls)] {
		r.Client.Stalls = append(r.Client.Stalls, report.ClientStall{At: float64(stall.From) / 1e9, Seconds: float64(stall.To-stall.From) / 1e9, Busy: stall.Busy})
	}
	for _, e := range r.Errors {
		if e.Class == store.ClassMet {
			r.Notes = append(r.Notes, check.Counted(e.Attempts, "operation", "operations")+" met the row of an earlier attempt that had no answer. "+
				"That row is no acknowledgement: they count as unknown, and not in the throughput")
		}
	}
	if s.Load.Rate > 0 {
		r.Load.Late = f.Lag
	}
	r.Series, r.Merged = f.Series, f.Merged
}

// enterClient enters how the tester itself fared.
func enterClient(r *report.Result, stats load.Stats, live measure.Snapshot) {
	r.Client.Hung = stats.Hung
	r.Client.Counted = &report.Counted{Outcomes: live.Outcomes, Attempts: live.Attempts}
	r.Client.CPUShare, r.Client.CPUs = stats.Self.CPUShare, stats.Self.CPUs
	r.Client.SchedulerP99 = stats.Self.SchedulerP99.Seconds() * 1000
	r.Client.Runnable = stats.Self.Runnable
	r.Client.OwnLag = lag(stats.OwnLag)
	r.Client.PeakMemory = peakMemory()
	r.Load.Unserved = stats.Unserved
}

// lag turns a histogram of microseconds into figures; nil is of a run whose agents were
// all lost.
func lag(h *hdrhistogram.Histogram) report.Latency {
	at := func(percent float64) float64 { return float64(h.ValueAtPercentile(percent)) / 1000 }
	if h == nil || h.TotalCount() == 0 {
		return report.Latency{}
	}
	return report.Latency{
		Count: h.TotalCount(), Mean: h.Mean() / 1000, P50: at(50), P95: at(95), P99: at(99), P999: at(99.9),
		Max: float64(h.Max()) / 1000,
	}
}

// onFaultyDisks reports whether the cluster's disks are served by assay itself.
func onFaultyDisks(c *report.Cluster) bool {
	if c == nil {
		return false
	}
	spec, err := cluster.ParseSpec(c.Spec)
	return err == nil && spec.OwnDisks()
}

func enterValidity(r *report.Result, s Scenario, figures measure.Figures, impacts []measure.Impact, faults faultLog) {
	v := measure.Judge(figures, measure.Conditions{
		OpenLoop: r.Load.Loop == "open", Unserved: r.Load.Unserved,
		OwnLagP50Millis: r.Client.OwnLag.P50, OwnLagP99Millis: r.Client.OwnLag.P99,
		CPUShare: r.Client.CPUShare, Embedded: r.Database.Embedded, Impacts: impacts,
		AllStarted: allStarted(r.Load), CPUs: r.Client.CPUs, Clients: clientsAtOnce(r),
		SchedulerP99Millis: r.Client.SchedulerP99, Runnable: r.Client.Runnable, OtherWork: otherWork(r.Machine),
	}, limits(s))
	r.Client.OwnLagShareP50, r.Client.OwnLagShareP99 = nil, nil
	if own := v.OwnShares; own != nil {
		r.Client.OwnLagShareP50, r.Client.OwnLagShareP99 = &own.P50, &own.P99
	}
	undone := append(faults.unproven(), unprovenLoading(&r.Loading)...)
	v.Refuse(undone...)
	r.Unanswered = nil
	if cut := figures.Scope.CutText(); cut != "" {
		r.Unanswered = append(r.Unanswered, cut)
	}
	r.Unanswered = append(r.Unanswered, undone...)
	if onFaultyDisks(r.Cluster) {
		v.Refuse("the nodes' disks are a file system of assay's own (cluster option disk), whose speed is not that of any disk")
	}
	if hung := r.Client.Hung; hung > 0 {
		v.Refuse(fmt.Sprintf("clients hung: %s never came back from the last operation", check.Count(hung)))
	}
	r.Measurement = report.Measurement{Verdict: string(v.Grade), Reasons: v.Reasons}
	r.Strict = s.Strict
	r.Notes = append(r.Notes, v.Notes...)
	r.Steadiness = nil
	if !limits(s).NoSteadyState {
		r.Steadiness = &v.Steadiness
	}
	if v.Steadiness.State == measure.Steady {
		r.Notes = append(r.Notes, "steady state: "+v.Steadiness.Text)
	}
}

// clientsAtOnce is how many clients worked at a time, at most.
func clientsAtOnce(r *report.Result) int {
	n := r.Load.Clients
	if len(r.Rounds) > 0 {
		n = 0
	}
	for _, round := range r.Rounds {
		n = max(n, round.Clients)
	}
	return n
}

// allStarted is when the last client starts, in nanoseconds (see load.Plan).
func allStarted(l report.Load) int64 {
	if l.RampPerSecond <= 0 {
		return 0
	}
	return int64(float64(l.Clients-1) / l.RampPerSecond * 1e9)
}

// limits are those that a measurement has to keep.
func limits(s Scenario) measure.Limits {
	l := measure.DefaultLimits()
	if s.OtherWork > 0 {
		l.MaxOthers = s.OtherWork / 100
	}
	if limit := s.definition().Limit; limit != nil {
		limit(&l)
	}
	return l
}

func enterThresholds(r *report.Result, f measure.Figures, s Scenario) error {
	thresholds, err := s.thresholds()
	if err != nil {
		return err
	}
	r.Thresholds = nil
	for _, t := range thresholds {
		r.Thresholds = append(r.Thresholds, t.Judge(f))
	}
	return nil
}

// accounting holds the counts of the same run against one another: live, from
// the history, and by the judge. If they differ, the tester has failed, and
// nothing that it says may count as valid.
func accounting(f measure.Figures, judged history.Counts, client *report.Client) check.Result {
	r := check.Result{Name: "record", Verdict: check.Valid}
	h := f.Outcomes
	r.Detail = fmt.Sprintf("%s in %s in the history", check.Counted(h.Total(), "operation", "operations"), check.Counted(f.Attempts, "attempt is", "attempts are"))
	// Reserved and done, but without a record: only where a client was lost.
	unrecorded := judged.Unknown - h.Unknown
	wrong := judged.Committed != h.Committed || judged.Rejected != h.Rejected || judged.Failed != h.Failed || unrecorded < 0
	live := client.Counted
	if live != nil {
		r.Detail += fmt.Sprintf(", as many as were counted while it went on (%s in %s)", check.Count(live.Outcomes.Total()), check.Count(live.Attempts))
		wrong = wrong || live.Outcomes != h || live.Attempts != f.Attempts || client.Hung == 0 && unrecorded != 0
	}
	if wrong {
		r.Verdict = check.Unknown
		r.Detail = fmt.Sprintf("the tester's own counts differ: history %+v, judge %+v, live %+v; please report this", h, judged, live)
	}
	return r
}

// kinds gathers what the operations of each kind came to.
type kinds struct {
	names map[uint8]string
	scope measure.Scope
	paces map[uint8]*definition.Pace
	// last is the one of the operation before, of this kind.
	last *definition.Pace
	kind uint8
}

func newKinds(names map[uint8]string, scope measure.Scope) *kinds {
	return &kinds{names: names, scope: scope, paces: map[uint8]*definition.Pace{}}
}

func (k *kinds) add(op *history.Op) {
	if k.last == nil || k.kind != op.Kind {
		k.last, k.kind = k.paces[op.Kind], op.Kind
	}
	if k.last == nil {
		k.last = definition.NewPace(k.scope)
		k.paces[op.Kind] = k.last
	}
	k.last.Op(op)
}

// several are the kinds in their order, where there are more than one. A run in rounds
// has its figures by round.
func (k *kinds) several(inRounds bool) (all []report.Kind) {
	if len(k.paces) < 2 || inRounds {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(k.paces)) {
		all = append(all, report.Kind{Name: k.names[kind], Flow: k.paces[kind].Flow()})
	}
	return all
}

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
