package measure

import (
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// backlog is an open loop of 100 arrivals a second for 100 s, whose operations take 2 ms. Each
// process began nothing that was due from a moment on, and in all this many arrivals never started.
// A fault acts from 40 s to 50 s.
func backlog(t *testing.T, unserved int64, stopped ...int64) Figures {
	t.Helper()
	scope := Scope{MeasureEnd: 100 * sec, End: 100 * sec}
	clients := make([]int, len(stopped))
	for i := range clients {
		clients[i] = 1
	}
	s, around, waiting := NewSummary(scope), NewFaultWindows(scope, []FaultPeriod{{40 * sec, 50 * sec}}), NewWaiting(scope, clients)
	for n := range int64(10_000) {
		at, client := n*10*ms, int(n)%len(stopped)
		if at >= stopped[client] {
			continue
		}
		op := ended(client, history.Committed, at, at, at+2*ms)
		s.Add(op)
		around.Add(op)
		waiting.Add(op)
	}
	var sum int64
	for _, some := range waiting.Unserved(unserved) {
		sum += some.Count
		s.Unserved(some)
		around.Unserved(some)
	}
	if sum != unserved {
		t.Errorf("%d of %d arrivals have a moment at which they were due", sum, unserved)
	}
	f := s.Figures()
	f.ByFaults = around.Figures()
	return f
}

// TestArrivalsThatNeverStartedMissAThreshold: all that was served was served in 2 ms, and each
// arrival that was not has waited until the end.
func TestArrivalsThatNeverStartedMissAThreshold(t *testing.T) {
	type answer struct{ kept, undecided bool }
	kept, missed, undecided := answer{kept: true}, answer{}, answer{undecided: true}
	all := backlog(t, 3000, 70*sec)           // 30 s of arrivals
	part := backlog(t, 1500, 70*sec, 100*sec) // the same of one process of two
	few := backlog(t, 3, 100*sec-30*ms)       // clients were busy at the end
	hidden := backlog(t, 80, 99*sec+200*ms)   // not enough for p99, too long for the maximum
	early := backlog(t, 5500, 45*sec)         // from the middle of the fault on
	none := backlog(t, 0, 100*sec)
	for _, c := range []struct {
		f    Figures
		text string
		want answer
	}{
		{none, "max<3ms", kept}, {none, "errors<1%", kept},
		{all, "p50<3ms", kept}, {all, "p95<3ms", missed}, {all, "p95<20s", missed}, {all, "p95<29s", undecided}, {all, "p99>20s", kept},
		{all, "mean<3ms", missed}, {all, "max<29s", missed}, {all, "max<40s", undecided}, {all, "service.max<3ms", kept},
		{all, "errors<1%", undecided}, {all, "errors<40%", kept}, {all, "errors<=0", undecided}, {all, "failed<1%", kept},
		{all, "throughput>=69", kept}, {all, "throughput>=99", missed},
		{all, "p99<3ms before faults", kept}, {all, "max<3ms during faults", kept}, {all, "p95<3ms after faults", missed},
		{part, "p95<3ms", missed}, {part, "p50<3ms", kept},
		{few, "max<3ms", missed}, {few, "max<50ms", kept}, {few, "p99<3ms", kept}, {few, "errors<=0", kept},
		{hidden, "p99<3ms", kept}, {hidden, "p99.9<100ms", missed}, {hidden, "max<100ms", missed},
		{early, "p99<3ms before faults", kept}, {early, "p99<3ms during faults", missed}, {early, "p50<3s after faults", missed},
	} {
		threshold, err := ParseThreshold(c.text)
		expect.NoError(t, err)
		if got := threshold.Judge(c.f); (answer{got.Kept, got.Undecided}) != c.want {
			t.Errorf("%s with %d of %d unserved: %+v, want %+v", c.text, c.f.Arrivals.Unserved, c.f.Arrivals.Total, got, c.want)
		}
	}
}
