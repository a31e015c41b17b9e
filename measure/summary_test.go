package measure

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

const sec = int64(time.Second)

func TestSurvey(t *testing.T) {
	event := func(at int64, name, detail string) history.Event {
		return history.Event{At: at, Name: name, Detail: detail}
	}
	start, end := event(2*sec, history.EventMeasureStart, ""), event(7*sec, history.EventMeasureEnd, "")
	quiet := event(9*sec, history.EventQuiesced, "")
	const died = "the history ends before the measured part does"
	for name, c := range map[string]struct {
		events []history.Event
		want   Scope
	}{
		"whole":             {[]history.Event{start, end, quiet}, Scope{MeasureStart: 2 * sec, MeasureEnd: 7 * sec, End: 8 * sec, Known: 9 * sec, Cut: ""}},
		"killed":            {[]history.Event{start}, Scope{MeasureStart: 2 * sec, MeasureEnd: 8 * sec, End: 8 * sec, Known: 8 * sec, Cut: died}},
		"killed early":      {nil, Scope{MeasureStart: 8 * sec, MeasureEnd: 8 * sec, End: 8 * sec, Known: 8 * sec, Cut: died}},
		"never started":     {[]history.Event{end}, Scope{MeasureStart: 8 * sec, MeasureEnd: 8 * sec, End: 8 * sec, Known: 8 * sec, Cut: died}},
		"interrupted":       {[]history.Event{start, event(5*sec, history.EventCut, "interrupt"), end}, Scope{MeasureStart: 2 * sec, MeasureEnd: 7 * sec, End: 8 * sec, Known: 8 * sec, Cut: "interrupt"}},
		"without a word":    {[]history.Event{start, end, event(7*sec, history.EventCut, "")}, Scope{MeasureStart: 2 * sec, MeasureEnd: 7 * sec, End: 8 * sec, Known: 8 * sec, Cut: "no reason given"}},
		"in warm-up":        {[]history.Event{event(sec, history.EventCut, "interrupt"), end}, Scope{MeasureStart: 8 * sec, MeasureEnd: 8 * sec, End: 8 * sec, Known: 8 * sec, Cut: "interrupt"}},
		"ends at its start": {[]history.Event{end, event(8*sec, history.EventMeasureStart, "")}, Scope{MeasureStart: 8 * sec, MeasureEnd: 8 * sec, End: 8 * sec, Known: 8 * sec, Cut: ""}},
	} {
		var s ScopeFinder
		s.Ended(8 * sec)
		s.Ended(3 * sec)
		for _, e := range c.events {
			expect.NoError(t, s.Event(e))
		}
		if got := s.Scope(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	if s := (&ScopeFinder{}).Scope(); s.Seconds() != 0 || s.Cut == "" {
		t.Errorf("an empty history: %+v", s)
	}
}

func TestFiguresAreOfTheMeasuredPart(t *testing.T) {
	s := NewSummary(Scope{MeasureStart: sec, MeasureEnd: 3 * sec, End: 4 * sec})
	add := func(final history.Outcome, due, first, end int64) { s.Add(ended(0, final, due, first, end)) }
	add(history.Committed, 0, 0, 500*ms)                     // warm-up
	add(history.Committed, sec-1, sec-1, sec+200*ms)         // due before, ended inside
	add(history.Committed, sec, sec, sec+10*ms)              // inside
	add(history.Committed, sec+5*ms, sec+25*ms, sec+35*ms)   // inside, late
	add(history.Committed, 3*sec-ms, 3*sec-ms, 3*sec+600*ms) // due inside, ended after
	add(history.Committed, 3*sec, 3*sec, 3*sec+ms)           // due after
	add(history.Rejected, 2*sec, 2*sec, 2*sec+3*ms)          // inside
	add(history.Unknown, 2*sec, 2*sec, 2*sec+800*ms)         // inside
	s.Add(&history.Op{Attempt: 2, Last: true, Final: history.Unknown, Due: 2 * sec, First: 2*sec + 15*ms, Start: 2*sec + 90*ms, End: 2*sec + 100*ms})
	add(history.Failed, 500*ms, 500*ms, 600*ms) // warm-up
	f := s.Figures()
	if f.Outcomes != (history.Counts{Committed: 6, Rejected: 1, Failed: 1, Unknown: 2}) || f.Measured != (history.Counts{Committed: 3, Rejected: 1, Failed: 0, Unknown: 2}) {
		t.Errorf("outcomes %+v, measured %+v", f.Outcomes, f.Measured)
	}
	if f.Latency.Count != 3 || f.Latency.Max != 601 || f.Latency.Mean != (10+30+601)/3.0 {
		t.Errorf("latency %+v", f.Latency)
	}
	if f.ServiceTime.Count != 3 || f.ServiceTime.Mean != (10+10+601)/3.0 {
		t.Errorf("service time %+v", f.ServiceTime)
	}
	if f.Uncommitted.Count != 3 || f.Uncommitted.Max != 800 {
		t.Errorf("uncommitted %+v", f.Uncommitted)
	}
	if f.Lag.Count != 6 || f.Lag.Max != 20 || f.Lag.Mean != 35.0/6 {
		t.Errorf("lag %+v", f.Lag)
	}
	// Three committed ones ended within the two seconds.
	if f.Throughput.PerSecond != 1.5 || f.Throughput.Seconds != 2 {
		t.Errorf("throughput %+v", f.Throughput)
	}
	if len(f.Latency.Curve) == 0 || len(f.Uncommitted.Curve) == 0 || len(f.ServiceTime.Curve) == 0 {
		t.Error("a curve is missing")
	}
}

func TestAttemptsAndErrors(t *testing.T) {
	s := NewSummary(Scope{MeasureEnd: sec, End: sec})
	attempt := func(n int, last bool, outcome, final history.Outcome, class string) {
		s.Add(&history.Op{Attempt: n, Last: last, Outcome: outcome, Final: final, Error: class, End: ms})
	}
	attempt(1, true, history.Committed, history.Committed, "")
	attempt(1, false, history.Failed, history.Failed, "deadlock")
	attempt(2, false, history.Failed, history.Failed, "deadlock")
	attempt(3, true, history.Committed, history.Committed, "")
	attempt(1, false, history.Unknown, history.Unknown, "timeout")
	attempt(2, true, history.Failed, history.Unknown, "deadlock")
	attempt(1, true, history.Unknown, history.Unknown, "deadlock")
	attempt(1, true, history.Unknown, history.Unknown, "")
	attempt(1, true, history.Failed, history.Failed, "timeout")
	f := s.Figures()
	if f.Attempts != 9 || f.Retried != 2 || f.Settled != 1 || f.Outcomes != (history.Counts{Committed: 2, Unknown: 3, Failed: 1}) {
		t.Errorf("attempts %d, retried %d, settled %d, outcomes %+v", f.Attempts, f.Retried, f.Settled, f.Outcomes)
	}
	want := []ErrorCount{{"deadlock", history.Failed.String(), 3, ""}, {"deadlock", history.Unknown.String(), 1, ""},
		{"timeout", history.Unknown.String(), 1, ""}, {"timeout", history.Failed.String(), 1, ""}, {noClass, history.Unknown.String(), 1, ""}}
	for range 20 {
		if got := s.Figures().Errors; !slices.Equal(got, want) {
			t.Fatalf("errors %+v", got)
		}
	}
}

func TestErrorClassesAreBounded(t *testing.T) {
	s := NewSummary(Scope{MeasureEnd: sec, End: sec})
	for i := range 5000 {
		s.Add(&history.Op{Attempt: 1, Outcome: history.Failed, Error: fmt.Sprint("class ", i)})
	}
	s.Add(&history.Op{Attempt: 1, Outcome: history.Failed, Error: "class 0"}) // is still told apart
	f := s.Figures()
	var sum int64
	for _, e := range f.Errors {
		sum += e.Attempts
	}
	if len(f.Errors) != maxErrors+1 || sum != 5001 || f.Errors[0].Class != otherClass ||
		f.Errors[1] != (ErrorCount{"class 0", history.Failed.String(), 2, ""}) {
		t.Errorf("%d kinds, %d attempts, first %+v", len(f.Errors), sum, f.Errors[0])
	}
}

func TestNiceIntervals(t *testing.T) {
	for length, want := range map[int64]float64{
		0: 0.1, 1: 0.1, 6 * sec: 0.1, 60 * sec: 0.1, 60*sec + 1: 0.2, 120 * sec: 0.2, 121 * sec: 0.5, 300 * sec: 0.5,
		301 * sec: 1, 600 * sec: 1, 3600 * sec: 10, 24 * 3600 * sec: 200, math.MaxInt64: 2e7,
	} {
		got := niceInterval(length, 100*time.Millisecond)
		if float64(got)/1e9 != want {
			t.Errorf("%d ns: intervals of %v s, want %v", length, float64(got)/1e9, want)
		}
		if points := len(newTimeline(length).points); points > MaxPoints || int64(points)*got < length && length < math.MaxInt64/2 {
			t.Errorf("%d ns: %d points", length, points)
		}
	}
}

func TestSeries(t *testing.T) {
	s := NewSummary(Scope{MeasureStart: 150 * ms, MeasureEnd: 520 * ms, End: 600 * ms})
	for i := range int64(100) {
		s.Add(ended(0, history.Committed, 200*ms, 200*ms, 200*ms+i*ms/2)) // up to 50 ms
	}
	for range 5 {
		s.Add(ended(0, history.Committed, 0, 0, 410*ms))
	}
	s.Add(ended(0, history.Rejected, 0, 0, 100*ms))
	s.Add(ended(0, history.Failed, 0, 0, 599*ms))
	s.Add(ended(0, history.Unknown, 0, 0, 700*ms)) // beyond what the survey saw
	s.Add(ended(0, history.Committed, 0, 0, -ms))
	got := s.Figures().Series
	if got.IntervalSeconds != 0.1 || !slices.Equal(got.Start, []float64{0, .1, .2, .3, .4, .5}) {
		t.Errorf("points %v of %v s", got.Start, got.IntervalSeconds)
	}
	if !slices.Equal(got.Whole, []bool{false, false, true, true, true, false}) {
		t.Errorf("whole %v", got.Whole)
	}
	if !slices.Equal(got.Committed, []int64{1, 0, 100, 0, 5, 0}) || !slices.Equal(got.Rejected, []int64{0, 1, 0, 0, 0, 0}) ||
		!slices.Equal(got.Failed, []int64{0, 0, 0, 0, 0, 1}) || !slices.Equal(got.Unknown, []int64{0, 0, 0, 0, 0, 1}) {
		t.Errorf("counts %+v", got)
	}
	for _, c := range []struct {
		name string
		got  []float64
		want [6]float64
	}{
		{"mean", got.Mean, [6]float64{0, -1, 24.75, -1, 410, -1}},
		{"p50", got.P50, [6]float64{0, -1, 24.5, -1, 410, -1}},
		{"p95", got.P95, [6]float64{0, -1, 47, -1, 410, -1}},
		{"p99", got.P99, [6]float64{0, -1, 49, -1, 410, -1}},
		{"p99.9", got.P999, [6]float64{0, -1, 49.5, -1, 410, -1}},
		{"max", got.Max, [6]float64{0, -1, 49.5, -1, 410, -1}},
	} {
		for i, want := range c.want {
			if !within(int64(c.got[i]*1e6), int64(want*1e6), coarse) && c.got[i] != want {
				t.Errorf("%s of point %d is %v, want %v", c.name, i, c.got[i], want)
			}
		}
	}
}

func TestThroughputOverIntervals(t *testing.T) {
	s := NewSummary(Scope{MeasureStart: 0, MeasureEnd: 400 * ms, End: 450 * ms})
	for i, n := range []int{1, 4, 2, 3, 9} { // the last lies after the measured part
		for range n {
			s.Add(ended(0, history.Committed, 0, 0, int64(i)*100*ms+ms))
		}
	}
	got := s.Figures().Throughput
	want := Throughput{PerSecond: 25, Seconds: 0.4, Min: 10, Median: 25, Max: 40, Intervals: 4, IntervalSeconds: 0.1}
	deviation := math.Sqrt(500.0 / 3)
	if math.Abs(got.Deviation-deviation) > 1e-9 {
		t.Errorf("deviation %v, want %v", got.Deviation, deviation)
	}
	got.Deviation = 0
	if math.Abs(got.PerSecond-want.PerSecond) > 1e-9 || math.Abs(got.Median-25) > 1e-9 {
		t.Errorf("got %+v", got)
	}
	got.PerSecond, got.Median = 25, 25
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s = NewSummary(Scope{MeasureEnd: 100 * ms, End: sec})
	s.Add(ended(0, history.Committed, 0, 0, ms))
	if one := s.Figures().Throughput; one != (Throughput{PerSecond: 10, Seconds: 0.1, Intervals: 1, IntervalSeconds: 0.1}) {
		t.Errorf("over one interval: %+v", one)
	}
}

func TestSteps(t *testing.T) {
	s := NewSummary(Scope{MeasureStart: 500 * ms, MeasureEnd: 3700 * ms, End: 4 * sec})
	for _, end := range []int64{499, 500, 1499, 1500, 3499, 3500, 3699, 3700} {
		s.Add(ended(0, history.Committed, (end-4)*ms, 0, end*ms))
	}
	s.Add(ended(0, history.Rejected, 0, 0, 600*ms))
	s.Add(ended(0, history.Committed, 3640*ms, 0, 3641*ms))
	got := s.Figures().Steps
	want := make([]int64, 32)
	want[0], want[9], want[10], want[29], want[30], want[31] = 1, 1, 1, 1, 1, 2
	if got.Seconds != 0.1 || !slices.Equal(got.Committed, want) {
		t.Errorf("got %+v", got)
	}
	for i, typical := range map[int]float64{0: 4, 1: -1, 31: 2} { // of 1 and 4 ms the geometric mean is 2
		if math.Abs(got.TypicalMillis[i]-typical) > 1e-9 {
			t.Errorf("interval %d: %v, want %v", i, got.TypicalMillis[i], typical)
		}
	}
	if empty := NewSummary(Scope{}).Figures(); len(empty.Steps.Committed) != 0 || len(empty.Series.Committed) != 1 || empty.Throughput.PerSecond != 0 {
		t.Errorf("of nothing: %+v", empty.Steps)
	}
}

// Histories may be damaged; figures of any scope must not panic.
func TestImpossibleScopes(t *testing.T) {
	edges := []int64{math.MinInt64, -sec, 0, sec, math.MaxInt64}
	for _, start := range edges {
		for _, end := range edges {
			for _, last := range edges {
				s := NewSummary(Scope{MeasureStart: start, MeasureEnd: end, End: last})
				for _, at := range edges {
					s.Add(ended(0, history.Committed, at, at, at))
					s.Add(ended(0, 7, at, 0, at))
				}
				if f := s.Figures(); f.Outcomes != (history.Counts{Committed: 5, Unknown: 5}) {
					t.Errorf("scope %d to %d of %d: %+v", start, end, last, f.Outcomes)
				}
			}
		}
	}
}

// A database stands still for a second. In an open loop the operations that
// came meanwhile felt it; looking only at the time from their start, as a
// closed loop does, hides it: coordinated omission (G. Tene, "How NOT to
// Measure Latency").
func TestStallShowsInLatencyNotInServiceTime(t *testing.T) {
	s := NewSummary(Scope{MeasureEnd: 10 * sec, End: 11 * sec})
	free := int64(0)
	for i := range int64(1000) { // a hundred arrivals a second, one client
		due := i * 10 * ms
		first := max(due, free)
		service := ms
		if i == 500 {
			service = sec
		}
		free = first + service
		s.Add(ended(0, history.Committed, due, first, free))
	}
	f := s.Figures()
	if f.ServiceTime.P99 > 1.01 || f.ServiceTime.Max != 1000 {
		t.Errorf("service time p99 %v, max %v", f.ServiceTime.P99, f.ServiceTime.Max)
	}
	// 111 operations waited, so that 1 % waited for more than 900 ms.
	if f.Latency.P99 < 900 || f.Latency.P95 < 500 || f.Latency.P50 > 1.01 {
		t.Errorf("latency p50 %v, p95 %v, p99 %v", f.Latency.P50, f.Latency.P95, f.Latency.P99)
	}
	if f.Lag.P99 < 900 {
		t.Errorf("lag p99 %v", f.Lag.P99)
	}
}

func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	s := NewSummary(Scope{MeasureEnd: 600 * sec, End: 600 * sec})
	fill := func() {
		for i := range int64(60_000) {
			s.Add(ended(0, history.Committed, i*10*ms, i*10*ms, i*10*ms+ms))
		}
	}
	fill()
	before := allocated()
	for range 5 {
		fill()
	}
	if grown := allocated() - before; grown > 1<<20 {
		t.Errorf("five times as many operations took %d bytes more", grown)
	}
	runtime.KeepAlive(s)
}

func allocated() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.TotalAlloc)
}
