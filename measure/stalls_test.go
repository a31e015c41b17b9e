package measure

import (
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// stalledRun is ten seconds of a client whose operations take 2 ms, but for two: one spans a stall
// of assay's of 1.5 s, and one takes 30 ms by itself.
func stalledRun(t *testing.T, stalls ...history.Stall) (Summary, Scope) {
	t.Helper()
	finder := ScopeFinder{}
	events := []history.Event{{Name: history.EventMeasureStart}, {At: 10 * sec, Name: history.EventMeasureEnd}}
	for _, s := range stalls {
		e, err := s.Event()
		expect.NoError(t, err)
		events = append(events, e)
	}
	for _, e := range events {
		expect.NoError(t, finder.Event(e))
	}
	scope := finder.Scope()
	s := NewSummary(scope)
	for at := int64(0); at < 10*sec; {
		took := 2 * ms
		switch at {
		case 4 * sec:
			took += 1500 * ms
		case 8 * sec:
			took = 30 * ms
		}
		s.Add(ended(0, history.Committed, at, at, at+took))
		at += took
	}
	return *s, scope
}

// What falls into a time in which assay did not run is in no response time, corrected or not, and
// the reason says when and for how long. The twin without the record has it as the database's.
func TestAStallIsNotTheDatabases(t *testing.T) {
	blamed, _ := stalledRun(t)
	if f := blamed.Figures(); f.Latency.Max < 1500 || f.Corrected.P99 < 100 || f.Distorted != 0 {
		t.Errorf("without a record of the stall: max %v, corrected p99 %v", f.Latency.Max, f.Corrected.P99)
	}
	stall := history.Stall{From: 4*sec + ms, To: 5501 * ms}
	s, scope := stalledRun(t, stall, history.Stall{From: 4*sec + 5*ms, To: 5501 * ms}) // by two clocks
	f := s.Figures()
	if len(scope.Stalls.Any) != 1 || f.Distorted != 1 || f.Latency.Max > 31 || f.Corrected.P99 > 30 || f.Latency.Max < 29 {
		t.Errorf("%+v: %d left out, max %v, corrected p99 %v", scope.Stalls, f.Distorted, f.Latency.Max, f.Corrected.P99)
	}
	for i := range f.Series.Max {
		if f.Series.Max[i] > 31 {
			t.Errorf("the series has %v ms at %v s", f.Series.Max[i], f.Series.Start[i])
		}
	}
	v := Judge(f, Conditions{}, DefaultLimits())
	if v.Grade != Invalid || !strings.Contains(strings.Join(v.Reasons, "; "), "assay did not run for 1.50 s at 4.0 s: it was stopped or the machine stalled") {
		t.Errorf("%s: %q", v.Grade, v.Reasons)
	}
	short, _ := stalledRun(t, history.Stall{From: 4 * sec, To: 4*sec + 60*ms, Busy: true})
	v = Judge(short.Figures(), Conditions{}, DefaultLimits())
	if said := strings.Join(v.Notes, "; "); strings.Contains(strings.Join(v.Reasons, "; "), "stalled") || !strings.Contains(said, "its own work kept the processors") {
		t.Errorf("of 60 ms: %q, %q", v.Reasons, v.Notes)
	}
}

// The queue that a stall has made is assay's too, for as long again; a slow answer is not.
func TestDistort(t *testing.T) {
	stalls := Stalls{{From: sec, To: 2 * sec}}
	for name, c := range map[string]struct {
		due, first, end int64
		want            bool
	}{
		"before":            {sec - 9*ms, sec - 9*ms, sec - ms, false},
		"ends in it":        {sec - 5*ms, sec - 5*ms, sec + 5*ms, true},
		"due in it":         {1500 * ms, 2 * sec, 2*sec + 3*ms, true},
		"spans it":          {sec - ms, sec - ms, 2*sec + ms, true},
		"hardly touched":    {-19 * sec, -19 * sec, 3 * sec, false},
		"queued behind it":  {2500 * ms, 2900 * ms, 2901 * ms, true},
		"slow after it":     {2500 * ms, 2500 * ms, 2901 * ms, false},
		"queued long after": {3001 * ms, 3500 * ms, 3501 * ms, false},
	} {
		if got := stalls.Distort(&history.Op{Due: c.due, First: c.first, End: c.end}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An outage is the time in which assay ran and nothing succeeded.
func TestAStallIsNoOutage(t *testing.T) {
	scope := Scope{MeasureEnd: 10 * sec, Stalls: stood(history.Stall{From: 2 * sec, To: 4 * sec})}
	e := NewImpactFinder(scope, []FaultPeriod{{Injected: 0, Healed: 10 * sec}})
	for at := int64(100); at <= 10_000; at += 100 {
		if at <= 1900 || at >= 4100 {
			e.Write(call(at-5, at, history.Committed, ""))
		}
	}
	e.Read(call(1990, 4010, history.Committed, ""))
	i := e.Impacts()[0]
	if i.Writes.Length() > 200*ms || i.Writes.Open || i.LongestCall().Length != 20*ms {
		t.Errorf("%+v, longest call %+v", i.Writes, i.LongestCall())
	}
}

func stood(all ...history.Stall) (s Standstill) {
	for _, one := range all {
		s.add(one)
	}
	return s.finished()
}

// of is a stall of one of two processes, with one client each.
func of(client int, from, to int64) history.Stall {
	return history.Stall{From: from, To: to, Processes: 2, Clients: []history.ClientNumbers{{First: client, Count: 1}}}
}

// TestAStallOfOneProcess: client 1's process does not run from 2 s to 4 s. The outage that client 0
// sees from 1 s to 5 s is a whole outage, unless client 0's process did not run either.
func TestAStallOfOneProcess(t *testing.T) {
	for name, c := range map[string]struct {
		stalls               []history.Stall
		outage, first, other int64
		distorted            [2]bool
	}{
		"one of two":         {[]history.Stall{of(1, 2*sec, 4*sec)}, 4 * sec, 4 * sec, 2 * sec, [2]bool{false, true}},
		"both":               {[]history.Stall{of(1, 2*sec, 4*sec), of(0, 3*sec, 4500*ms)}, 3 * sec, 2500 * ms, 2 * sec, [2]bool{true, true}},
		"one twice":          {[]history.Stall{of(1, 2*sec, 3*sec), of(1, 2*sec, 4*sec)}, 4 * sec, 4 * sec, 2 * sec, [2]bool{false, true}},
		"a run's only":       {[]history.Stall{{From: 2 * sec, To: 4 * sec}}, 2 * sec, 2 * sec, 2 * sec, [2]bool{true, true}},
		"of both and of one": {[]history.Stall{{From: 2 * sec, To: 3 * sec}, of(1, 3*sec, 4*sec)}, 3 * sec, 3 * sec, 2 * sec, [2]bool{true, true}},
	} {
		scope := Scope{MeasureEnd: 10 * sec, Stalls: stood(c.stalls...)}
		summary := NewSummary(scope)
		var got [2]Impact
		var outage Gap
		for client := range got {
			e := NewImpactFinder(scope, []FaultPeriod{{Injected: sec, Healed: 5 * sec}})
			for _, until := range []int64{1, 5, 6, 7, 8, 9, 10} {
				from := until - 1
				if until == 5 {
					from = 1
				}
				op := ended(client, history.Committed, from*sec, from*sec, until*sec)
				e.Write(op)
				summary.Add(op)
			}
			got[client], outage = e.Impacts()[0], e.Outage()
		}
		if outage.Length() != c.outage || got[0].Writes.Length() != c.outage || got[0].LongestWrite.Length != c.first || got[1].LongestWrite.Length != c.other {
			t.Errorf("%s: the outage is %d, the longest calls %d and %d; want %+v", name, outage.Length(), got[0].LongestWrite.Length, got[1].LongestWrite.Length, c)
		}
		var distorted int64
		for _, is := range c.distorted {
			if is {
				distorted++
			}
		}
		if n := summary.Figures().Distorted; n != distorted {
			t.Errorf("%s: %d response times are left out, want %d", name, n, distorted)
		}
	}
}

// What the run's end cuts is open; what only waits for the next arrival is not.
func TestWhatTheEndCuts(t *testing.T) {
	for name, c := range map[string]struct {
		after []*history.Op
		every int64
		want  bool
	}{
		"nothing was due any more":    {nil, 1000, false},
		"one failed":                  {[]*history.Op{call(4200, 4900, history.Failed, "down")}, 500, true},
		"clients that never returned": {nil, 100, true},
	} {
		e := NewImpactFinder(Scope{MeasureEnd: 5 * sec}, []FaultPeriod{{Healed: 5 * sec}})
		for at := c.every; at <= 4000; at += c.every {
			e.Write(call(at-5, at, history.Committed, ""))
		}
		for _, op := range c.after {
			e.Write(op)
		}
		if got := e.Impacts()[0].Writes; got.Open != c.want || got.Length() != sec {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
