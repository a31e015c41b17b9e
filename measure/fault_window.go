package measure

import "assay/history"

// faultWindow is a part of the run relative to its faults.
type faultWindow uint8

const (
	wholeRun faultWindow = iota
	// beforeFaults ends at the first injection, duringFaults is while any fault acts, and
	// afterFaults begins when the last fault is healed. The time between two faults is in none.
	beforeFaults
	duringFaults
	afterFaults
)

// faultWindows names them as in thresholds.
func faultWindows() map[string]faultWindow {
	return map[string]faultWindow{"before": beforeFaults, "during": duringFaults, "after": afterFaults}
}

// FaultWindows collects the figures of the measured part before, during and after faults, in one
// pass. An operation is during faults if one acted between its due time and its end, and otherwise
// in the window in which it was due. Throughput counts operations by their end. It is not safe for
// concurrent use, and its memory does not grow with the run.
type FaultWindows struct {
	scope   Scope
	periods *faultPeriods
	of      [afterFaults + 1]*windowSummary
}

type windowSummary struct {
	latency, service *distribution
	measured         history.Counts
	committed        int64
	unserved         unserved
}

// NewFaultWindows returns empty windows of a run of this scope with these faults.
func NewFaultWindows(scope Scope, periods []FaultPeriod) *FaultWindows {
	w := &FaultWindows{scope: scope, periods: newFaultPeriods(periods)}
	if len(periods) == 0 {
		return w
	}
	for i := range w.of {
		w.of[i] = &windowSummary{latency: newDistribution(fine), service: newDistribution(fine)}
	}
	return w
}

// Add takes one attempt and does not keep op.
func (w *FaultWindows) Add(op *history.Op) {
	if len(w.periods.ordered) == 0 || !op.Last {
		return
	}
	committed := op.Final == history.Committed
	if committed && w.scope.measured(op.End) {
		w.of[w.window(op.End, op.End+1)].committed++
	}
	if !w.scope.measured(op.Due) {
		return
	}
	s := w.of[w.window(op.Due, max(op.End, op.Due+1))]
	s.measured.Add(op.Final, 1)
	if committed && !w.scope.Stalls.Distort(op) {
		s.latency.record(op.Latency())
		s.service.record(op.ServiceTime())
	}
}

// Unserved takes arrivals that never started.
func (w *FaultWindows) Unserved(some Unserved) {
	if len(w.periods.ordered) > 0 {
		w.of[w.window(some.Due, max(w.scope.MeasureEnd, some.Due+1))].unserved.add(w.scope.MeasureEnd-some.Due, some.Count)
	}
}

// Around are the figures before the first fault and while any acted.
func (w *FaultWindows) Around() (before, during Figures) {
	all := w.Figures()
	return all[beforeFaults], all[duringFaults]
}

// window returns the window of [from, to), or wholeRun if it is in none.
func (w *FaultWindows) window(from, to int64) faultWindow {
	switch {
	case w.periods.any(from, to):
		return duringFaults
	case from < w.periods.first:
		return beforeFaults
	case from >= w.periods.last:
		return afterFaults
	}
	return wholeRun
}

// length is a window's length within the measured part, in nanoseconds.
func (w *FaultWindows) length(of faultWindow) int64 {
	within := func(from, to int64) int64 {
		return max(0, min(to, w.scope.MeasureEnd)-max(from, w.scope.MeasureStart))
	}
	switch of {
	case beforeFaults:
		return within(w.scope.MeasureStart, w.periods.first)
	case afterFaults:
		return within(w.periods.last, w.scope.MeasureEnd)
	}
	total, end := int64(0), int64(0)
	for _, p := range w.periods.ordered { // faults may overlap
		total += within(max(p.Injected, end), p.Healed)
		end = max(end, p.Healed)
	}
	return total
}

// Figures returns each window's figures for thresholds: outcomes, response and service time,
// throughput. It is nil without faults.
func (w *FaultWindows) Figures() map[faultWindow]Figures {
	if len(w.periods.ordered) == 0 {
		return nil
	}
	all := map[faultWindow]Figures{}
	for _, of := range faultWindows() {
		s := w.of[of]
		f := Figures{Scope: w.scope, Measured: s.measured, Latency: s.latency.latency(), ServiceTime: s.service.latency(),
			Arrivals: s.unserved.arrivals(s.latency, s.measured.Total())}
		f.Throughput.Seconds = float64(w.length(of)) / 1e9
		if f.Throughput.Seconds > 0 {
			f.Throughput.PerSecond = float64(s.committed) / f.Throughput.Seconds
		}
		all[of] = f
	}
	return all
}
