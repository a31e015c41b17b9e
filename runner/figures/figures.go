// Package figures computes a run's figures from its history: throughput, times, outcomes, the
// cost of faults, and whether the measurement is valid. It is a pure function of the history and
// of what was asked for, so that a saved run always has the same figures.
//
// It must not know how a run is carried out, nor whether the database kept its promise.
package figures

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"assay/check"
	"assay/history"
	"assay/internal/quantity"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/runner/record"
	"assay/store"
	"assay/workload/definition"
)

// Asked is the load that was asked for, and the limits on its figures.
type Asked struct {
	Load     load.Plan
	Workload definition.Workload
	// Operations names the kinds of operations, by history.Op.Kind.
	Operations map[uint8]string
	Faults     bool
	Thresholds []measure.Threshold
	// OtherWork is the largest share of the processors, in percent, that other programs may
	// use in a valid measurement; 0 for the default.
	OtherWork float64
}

// History is a run's history and what is known beside its file.
type History struct {
	Path string
	// Cut means that the run ended early, Unrecorded that its end could not be written.
	Cut, Unrecorded bool
	// Survey is nil if the history was not read yet.
	Survey *Survey
}

// Survey is what a reading without the attempts finds.
type Survey struct {
	Events []history.Event
	Ending history.Ending
}

func (s *Survey) scope() (measure.Scope, error) {
	var scan measure.ScopeFinder
	for _, e := range s.Events {
		if err := scan.Event(e); err != nil {
			return measure.Scope{}, err
		}
	}
	if s.Ending.Ops > 0 {
		scan.Ended(s.Ending.Last)
	}
	return scan.Scope(), nil
}

// cut is why the run ended early, if its history says so.
func (s *Survey) cut() (why string) {
	for _, e := range s.Events {
		if e.Name == history.EventCut {
			why = e.Detail
		}
	}
	return why
}

// Enter computes the figures and enters them into a result that already has the run's load,
// cluster, client and notes. It fails if the history cannot be read.
func (a Asked) Enter(r *report.Result, h History) (measure.Figures, error) {
	ramp := newClientRamp(a.Load)
	var (
		faults record.Log
		rounds record.Rounds
	)
	first, err := h.firstPass(ramp)
	for _, e := range first.Events {
		err = errors.Join(err, faults.Event(e), rounds.Event(e))
	}
	scope, unread := first.scope()
	if err = errors.Join(err, unread); err != nil {
		return measure.Figures{}, err
	}
	if h.Cut && scope.Cut == "" || !first.Ending.Whole {
		scope.Cut = cmp.Or(first.cut(), h.whyCut())
	}
	summary := measure.NewSummary(scope)
	ramp.windows = measure.NewRamp(scope, ramp.starts)
	acted, indexes := faults.Acted(scope.Known)
	effect, measures := measure.NewImpactFinder(scope, acted), a.Workload.Measures
	felt := newFelt(scope, faults.Faults, acted, indexes)
	byRound, kinds := measure.NewRounds(rounds.Scopes, scope.Stalls, a.Workload.Tasks), newKinds(a.Operations, scope)
	waiting := measure.NewWaiting(scope, clientsByProcess(r))
	_, err = history.Read(h.Path, history.Visitor{AsMeasured: true, Bare: true, Op: func(op *history.Op) error {
		waiting.Add(op)
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
	for _, some := range waiting.Unserved(r.Load.Unserved) {
		summary.Unserved(some)
		felt.all.Unserved(some)
	}
	figures, impacts := summary.Figures(), effect.Impacts()
	figures.Outage, figures.ByFaults = effect.Outage(), felt.all.Figures()
	figures.LeaveOutFaults(impacts)
	if len(rounds.Scopes) > 0 {
		figures.Throughput.Low, figures.Throughput.High = nil, nil
	}
	enterFigures(r, figures, a.Load, history.FirstErrors(first.Events))
	faults.Enter(r, impacts, indexes)
	felt.enter(r.Faults)
	enterRounds(r, byRound.Figures())
	r.Kinds = kinds.several(len(r.Rounds) > 0)
	a.enterDegradation(r, figures)
	a.enterValidity(r, figures, impacts, &faults)
	ramp.enter(r, a.Load)
	enterCorrection(r, figures, len(impacts) > 0)
	r.Thresholds = nil
	for _, t := range a.Thresholds {
		r.Thresholds = append(r.Thresholds, t.Judge(figures))
	}
	return figures, nil
}

// clientsByProcess is the number of working clients of each process; observers follow after them.
// It is nil if all arrivals were served.
func clientsByProcess(r *report.Result) (all []int) {
	if r.Load.Unserved == 0 {
		return nil
	}
	for _, a := range r.Agents {
		all = append(all, a.Clients)
	}
	if len(all) == 0 {
		all = []int{r.Load.Clients}
	}
	return all
}

// firstPass surveys a history, if necessary, and finds when the clients of a ramp began.
func (h History) firstPass(ramp *clientRamp) (s Survey, err error) {
	if h.Survey != nil && !ramp.wanted {
		return *h.Survey, nil
	}
	s.Ending, err = history.Read(h.Path, history.Visitor{
		AsMeasured: true,
		Op:         ramp.visitor(),
		Event:      func(e history.Event) error { s.Events = append(s.Events, e); return nil },
	})
	return s, err
}

func (h History) whyCut() string {
	if h.Unrecorded {
		return "its history could not be written to the end"
	}
	return "assay or its machine was stopped before the run had ended"
}

// enterFigures enters what the clients did; said has the first message of each class of error.
func enterFigures(r *report.Result, f measure.Figures, l load.Plan, said map[string]string) {
	r.Throughput = f.Throughput
	r.Throughput.Offered = l.Rate
	r.Latency, r.ServiceTime, r.Uncommitted = f.Latency, f.ServiceTime, f.Uncommitted
	r.Outcomes, r.Measured = f.Outcomes, f.Measured
	r.Retries.Attempts, r.Retries.Retried, r.Retries.Settled = f.Attempts, f.Retried, f.Settled
	r.Errors = f.Errors
	stalls := f.Scope.Stalls.Any
	r.Client.Stalls, r.Client.StalledSeconds = nil, float64(stalls.Within(math.MinInt64, math.MaxInt64))/1e9
	for _, stall := range stalls[:min(len(stalls), report.MaxStalls)] {
		r.Client.Stalls = append(r.Client.Stalls, report.ClientStall{At: float64(stall.From) / 1e9, Seconds: float64(stall.To-stall.From) / 1e9, Busy: stall.Busy})
	}
	for i, e := range r.Errors {
		if r.Errors[i].First = said[e.Class]; e.Class == store.ClassMet {
			r.Notes = append(r.Notes, check.Counted(e.Attempts, "operation", "operations")+" met the row of an earlier attempt that had no answer. "+
				"That row is no acknowledgement: they count as unknown, and not in the throughput")
		}
	}
	if l.Rate > 0 {
		r.Load.Late = f.Lag
	}
	r.Series, r.Merged = f.Series, f.Merged
}

// materialRatio is the ratio of the corrected p99 to the measured p99 from which reports show
// the correction without faults.
const materialRatio = 2

// enterCorrection enters what the response times of a closed loop leave out: waiting clients ask
// for nothing, so a stall counts once a client. An open loop measures from the due time and
// leaves nothing out. Rounds have no common pace.
func enterCorrection(r *report.Result, f measure.Figures, faults bool) {
	r.Corrected, r.Correction = nil, nil
	switch {
	case r.Load.Loop == "open":
		return
	case f.Corrected.Count == 0 || len(r.Rounds) > 0:
		if faults {
			r.Notes = append(r.Notes, "latency is of a closed loop, whose clients ask for nothing while they wait; what operations would have felt that come by themselves cannot be told: "+
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
	text := fmt.Sprintf("latency is of a closed loop, whose clients ask for nothing while they wait: a stall counts once a client. "+
		"For operations that come at the usual pace, one each %s a client, p99 is estimated as %s where %s was measured, with %s added (corrected, after HdrHistogram); "+
		"--rate measures it",
		quantity.Milliseconds(f.Corrected.IntervalMillis), quantity.Milliseconds(f.Corrected.P99), quantity.Milliseconds(f.Latency.P99), check.Counted(f.Corrected.Added, "operation", "operations"))
	if hung := r.Client.Hung; hung > 0 {
		text += fmt.Sprintf("; what %s that never came back would add cannot be told", check.Counted(int64(hung), "client", "clients"))
	}
	r.Notes = append(r.Notes, text)
}

// enterDegradation marks where the throughput fell for good. Only a closed loop without rounds
// and faults can tell: an open loop has a given rate, rounds differ on purpose, and the effect
// of a fault is reported with the fault.
func (a Asked) enterDegradation(r *report.Result, f measure.Figures) {
	if a.Load.Rate > 0 || len(r.Rounds) > 0 || a.Faults {
		return
	}
	d := measure.FindDegradation(f.Series)
	if d.Found {
		r.Series.Degradation = &d.AtSeconds
		r.Notes = append(r.Notes, d.String())
	} else if a.Workload.Degradation {
		r.Notes = append(r.Notes, d.String())
	}
}
