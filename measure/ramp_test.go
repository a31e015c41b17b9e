package measure

import (
	"math"
	"testing"

	"assay/history"
)

// ramped gives the operations of clients that begin a step apart and each do one operation
// in the time of latency, until the end.
func ramped(clients int, step, latency, end int64, take func(*history.Op)) {
	for c := range clients {
		for at, seq := int64(c)*step, uint64(0); at+latency <= end; at, seq = at+latency, seq+1 {
			op := history.Op{Client: c, Seq: seq, Attempt: 1, Last: true, Due: at, First: at, Start: at, End: at + latency - 1,
				Outcome: history.Committed, Final: history.Committed}
			if seq%10 == 9 {
				op.Outcome, op.Final = history.Failed, history.Failed
			}
			take(&op)
		}
	}
}

func TestRampByClients(t *testing.T) {
	const second = int64(1e9)
	scope := Scope{MeasureStart: 5 * second, MeasureEnd: 60 * second, End: 60 * second}
	var starts ClientStarts
	ramped(40, second, second/100, 60*second, starts.Op)
	r := NewRamp(scope, starts)
	ramped(40, second, second/100, 60*second, r.Add)
	points, width := r.Points()
	if width != 0.5 || len(points) != 74 { // to 39 s, and a tenth of 34 s
		t.Fatalf("%d points of %v s", len(points), width)
	}
	for i, p := range points {
		clients := math.Min(40, math.Floor(p.At)+1)
		if want := 5 + float64(i)/2; p.At != want || p.Clients != clients {
			t.Errorf("point %d is at %v with %v clients", i, p.At, p.Clients)
		}
		if rate := p.PerSecond + float64(p.Errors)/width; math.Abs(rate-100*clients) > 1 || math.Abs(p.PerSecond-90*clients) > 21 {
			t.Errorf("with %v clients %v/s and %d errors", clients, p.PerSecond, p.Errors)
		}
		if math.Abs(p.P50-10) > 0.2 || math.Abs(p.P99-10) > 0.2 {
			t.Errorf("response times are %v and %v ms", p.P50, p.P99)
		}
	}
}

// TestSlowRampHasLongWindows has a few operations a second alone.
func TestSlowRampHasLongWindows(t *testing.T) {
	const second = int64(1e9)
	scope := Scope{MeasureEnd: 300 * second, End: 300 * second}
	var starts ClientStarts
	ramped(20, 15*second, second/2, 300*second, starts.Op)
	r := NewRamp(scope, starts)
	ramped(20, 15*second, second/2, 300*second, r.Add)
	if points, width := r.Points(); width != 10 || len(points) != 30 || points[0].Clients != 1 || points[29].Clients != 20 {
		t.Errorf("%d points of %v s", len(points), width)
	}
}

func TestWhatIsNoRamp(t *testing.T) {
	const second = int64(1e9)
	var starts ClientStarts
	if NewRamp(Scope{MeasureEnd: second, End: second}, starts) != nil {
		t.Error("a run without clients has a ramp")
	}
	ramped(4, second, second/10, 10*second, starts.Op)
	r := NewRamp(Scope{MeasureStart: 3 * second, MeasureEnd: 10 * second, End: 10 * second}, starts)
	if r != nil {
		t.Error("clients that began in the warm-up make a ramp")
	}
	r.Add(&history.Op{Last: true})
	// A run that was cut at once has no whole window.
	cut := NewRamp(Scope{MeasureEnd: second / 100, End: second / 100}, starts)
	if points, _ := cut.Points(); len(points) != 0 {
		t.Errorf("%d points of a hundredth of a second", len(points))
	}
}
