package measure

import (
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

// call is an attempt from one millisecond to another.
func call(from, to int64, outcome history.Outcome, class string) *history.Op {
	return &history.Op{Start: from * ms, End: to * ms, First: from * ms, Due: from * ms, Last: true, Outcome: outcome, Final: outcome, Error: class}
}

func TestImpactOfAFault(t *testing.T) {
	e := NewImpactFinder(Scope{MeasureEnd: 10_000 * ms}, []FaultPeriod{{Injected: 1000 * ms, Healed: 2000 * ms}, {Injected: 9000 * ms, Healed: 9500 * ms}})
	for at := int64(100); at <= 900; at += 100 {
		e.Write(call(at-5, at, history.Committed, ""))
		e.Read(call(at-5, at+1, history.Committed, ""))
	}
	e.Write(call(950, 1950, history.Unknown, "timeout"))
	e.Write(call(1100, 1101, history.Failed, "not primary"))
	e.Read(call(1400, 1500, history.Committed, ""))
	e.Write(call(1200, 3100, history.Committed, ""))
	e.Read(call(3050, 3120, history.Committed, ""))
	for at := int64(3200); at <= 10_000; at += 100 {
		e.Write(call(at-5, at, history.Committed, ""))
		e.Read(call(at-5, at+1, history.Committed, ""))
	}
	got := e.Impacts()
	first := got[0]
	if want := (Gap{From: 900 * ms, To: 3100 * ms, Known: true}); first.Writes != want {
		t.Errorf("writes were away %+v, want %+v", first.Writes, want)
	}
	if want := (Gap{From: 1500 * ms, To: 3120 * ms, Known: true}); first.Reads != want {
		t.Errorf("reads were away %+v, want %+v", first.Reads, want)
	}
	if first.RecoveredAfter() != 2100*ms || first.LongestCall() != (Call{Length: 1900 * ms}) {
		t.Errorf("recovered after %d, longest call %+v", first.RecoveredAfter(), first.LongestCall())
	}
	if len(first.Errors) != 2 || first.Errors[0].Attempts != 1 || first.Errors[0].Class != "not primary" || first.Errors[1].Class != "timeout" {
		t.Errorf("errors %+v", first.Errors)
	}
	second := got[1]
	if second.Writes.Length() != 100*ms || second.Writes.Open || len(second.Errors) != 0 || second.RecoveredAfter() < 0 {
		t.Errorf("a fault without effect: %+v, recovered after %d", second, second.RecoveredAfter())
	}
}

func TestImpactThatNeverEnds(t *testing.T) {
	e := NewImpactFinder(Scope{MeasureEnd: 5000 * ms}, []FaultPeriod{{Injected: 1000 * ms, Healed: 2000 * ms}})
	e.Write(call(800, 900, history.Committed, ""))
	e.Write(call(1000, 1500, history.Unknown, "timeout"))
	got := e.Impacts()[0]
	if !got.Writes.Open || got.Writes.From != 900*ms || got.Writes.To != 5000*ms || got.RecoveredAfter() != -1 {
		t.Errorf("%+v, recovered after %d", got, got.RecoveredAfter())
	}
	if got.Reads.Known || got.Reads.Length() != 0 {
		t.Errorf("reads that there were none of: %+v", got.Reads)
	}
}

// TestAShorterOutageThatDidNotEnd: the first failover takes 12 s, and 6 s before the end the second
// begins, whose length nobody knows. It decides no limit that is above what was seen.
func TestAShorterOutageThatDidNotEnd(t *testing.T) {
	for ended, want := range map[bool]map[string]ThresholdResult{
		false: {"outage<15s": {Undecided: true, AtLeast: true}, "outage<10s": {AtLeast: true}, "outage>10s": {Kept: true, AtLeast: true}},
		true:  {"outage<15s": {Kept: true}, "outage<10s": {}, "outage>10s": {Kept: true}},
	} {
		e := NewImpactFinder(Scope{MeasureEnd: 40_000 * ms}, []FaultPeriod{{Injected: 5000 * ms, Healed: 9000 * ms}, {Injected: 34_000 * ms, Healed: 36_000 * ms}})
		for at := int64(0); at < 34_000; at += 100 {
			if at < 5000 || at >= 17_000 {
				e.Write(call(at, at+50, history.Committed, ""))
			}
		}
		e.Write(call(34_000, 39_000, history.Unknown, "timeout"))
		if ended {
			e.Write(call(39_000, 39_900, history.Committed, ""))
		}
		f := Figures{Outage: e.Outage()}
		if ms := f.Outage.Length() / 1e6; ms < 12_000 || ms > 12_200 {
			t.Errorf("ended %v: the outage is %d ms", ended, ms)
		}
		for text, want := range want {
			threshold, err := ParseThreshold(text)
			expect.NoError(t, err)
			got := threshold.Judge(f)
			if got.Kept != want.Kept || got.Undecided != want.Undecided || got.AtLeast != want.AtLeast {
				t.Errorf("ended %v, %s: %+v", ended, text, got)
			}
		}
	}
}

// TestAnOutageBeginsWithTheMeasuredPart: nothing succeeds from 1 s to 4 s, and the measured part
// begins at 3 s. Of an outage at its end all is seen.
func TestAnOutageBeginsWithTheMeasuredPart(t *testing.T) {
	scope := Scope{MeasureStart: 3000 * ms, MeasureEnd: 10_000 * ms}
	for name, c := range map[string]struct {
		scope Scope
		ends  []int64
		want  Gap
	}{
		"in the warm-up":        {scope, []int64{500, 1000, 4000, 4500, 9999}, Gap{From: 4500 * ms, To: 9999 * ms, Known: true}},
		"from the warm-up on":   {scope, []int64{1000, 4000, 4500, 5000, 5500, 6000, 6500, 7000, 7500, 8000, 8500, 9000, 9500, 10_000}, Gap{From: 3000 * ms, To: 4000 * ms, Known: true}},
		"over the end":          {scope, []int64{3000, 6000, 9000, 9500, 14_000}, Gap{From: 9500 * ms, To: 14_000 * ms, Known: true}},
		"nothing after warm-up": {scope, []int64{500}, Gap{From: 3000 * ms, To: 10_000 * ms, Known: true, Open: true}},
		"no write":              {scope, nil, Gap{}},
		"cut in the warm-up":    {Scope{MeasureStart: 3000 * ms, MeasureEnd: 3000 * ms}, []int64{500, 1000}, Gap{Known: true}},
		"assay did not run":     {Scope{MeasureStart: 3000 * ms, MeasureEnd: 10_000 * ms, Stalls: stood(history.Stall{From: 1000 * ms, To: 3900 * ms})}, []int64{1000, 4000, 9000}, Gap{From: 4000 * ms, To: 9000 * ms, Known: true}},
	} {
		e := NewImpactFinder(c.scope, nil)
		for _, at := range c.ends {
			e.Write(call(at-1, at, history.Committed, ""))
		}
		if got := e.Outage(); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestWhatFaultsDoMakesNothingInvalid(t *testing.T) {
	scope := Scope{MeasureStart: 0, MeasureEnd: int64(40 * time.Second), End: int64(40 * time.Second)}
	s := NewSummary(scope)
	add := func(at int64, outcome history.Outcome) { s.Add(call(at, at+2, outcome, "lost")) }
	for at := int64(0); at < 40_000; at += 20 {
		outcome := history.Committed
		if at >= 20_000 && at < 38_000 {
			outcome = history.Failed
		}
		add(at, outcome)
	}
	plain := Judge(s.Figures(), Conditions{}, DefaultLimits())
	if plain.Grade == Valid {
		t.Error("half of the operations failed, and the measurement is valid")
	}
	impact := Impact{FaultPeriod: FaultPeriod{Injected: int64(20 * time.Second), Healed: int64(30 * time.Second)},
		Writes: Gap{From: int64(20 * time.Second), To: int64(38 * time.Second), Known: true}}
	figures := s.Figures()
	figures.LeaveOutFaults([]Impact{impact})
	v := Judge(figures, Conditions{Impacts: []Impact{impact}}, DefaultLimits())
	if v.Grade != Valid || v.Steadiness.State != Steady {
		t.Errorf("with the fault known: %+v", v)
	}
	if at := v.Steadiness.IntervalSeconds * float64(v.Steadiness.Intervals); at < 20 || at > 22 {
		t.Errorf("judged by %g s of 40, of which 18 were disturbed", at)
	}
}

// TestAnotherPaceAfterAFault: without a fault that is no measurement, with one
// it is what is to be told.
func TestAnotherPaceAfterAFault(t *testing.T) {
	scope := Scope{MeasureStart: 0, MeasureEnd: int64(40 * time.Second), End: int64(40 * time.Second)}
	s := NewSummary(scope)
	for at, step := int64(0), int64(20); at < 40_000; at += step {
		if at > 20_000 {
			step = 50
		}
		s.Add(call(at, at+2, history.Committed, ""))
	}
	if v := Judge(s.Figures(), Conditions{}, DefaultLimits()); v.Grade == Valid {
		t.Error("the pace changed by itself, and the measurement is valid")
	}
	impact := Impact{FaultPeriod: FaultPeriod{Injected: int64(20 * time.Second), Healed: int64(21 * time.Second)}}
	v := Judge(s.Figures(), Conditions{Impacts: []Impact{impact}}, DefaultLimits())
	if v.Grade != Wide || v.Steadiness.State == Steady || len(v.Notes) < 2 {
		t.Errorf("with a fault at the change: %+v", v)
	}
}

// A faultImpact holds the moment of its injection and not that of its healing.
func TestDisturbanceIsHalfOpen(t *testing.T) {
	for _, c := range []struct {
		d        FaultPeriod
		from, to int64
		want     bool
	}{
		{FaultPeriod{10, 20}, 0, 10, false},
		{FaultPeriod{10, 20}, 0, 11, true},
		{FaultPeriod{10, 20}, 10, 20, true},
		{FaultPeriod{10, 20}, 19, 30, true},
		{FaultPeriod{10, 20}, 20, 30, false},
		{FaultPeriod{10, 10}, 0, 10, false},
		{FaultPeriod{10, 10}, 10, 20, true},
		{FaultPeriod{10, 10}, 11, 20, false},
	} {
		if got := c.d.overlaps(c.from, c.to); got != c.want {
			t.Errorf("%v and [%d, %d): %v", c.d, c.from, c.to, got)
		}
		if got := (Impact{FaultPeriod: c.d}).touches(c.from, c.to); got != c.want {
			t.Errorf("an impact of %v on [%d, %d): %v", c.d, c.from, c.to, got)
		}
	}
}
