package measure

import (
	"slices"
	"testing"

	"assay/history"
)

// summaryOf has so many operations a second for so many seconds, without a break
// but from 5 s to 7 s. One of ten takes 40 ms and the others 2 ms.
func summaryOf(perSecond, seconds int64) Figures {
	s := NewSummary(Scope{MeasureStart: sec, MeasureEnd: seconds * sec, End: seconds * sec})
	for n := range perSecond * seconds {
		at := n*sec/perSecond + sec/(2*perSecond)
		if at >= 5*sec && at < 7*sec {
			continue
		}
		took := 2 * ms
		if n%10 == 7 {
			took = 40 * ms
		}
		s.Add(ended(0, history.Committed, at-took, at-took, at))
	}
	return s.Figures()
}

// TestFewOperationsAreMerged: with ten operations a second, each tenth of one holds
// one, whose median is its maximum; longer intervals hold enough.
func TestFewOperationsAreMerged(t *testing.T) {
	f := summaryOf(10, 20)
	if f.Series.IntervalSeconds != 0.1 {
		t.Fatalf("intervals of %v s", f.Series.IntervalSeconds)
	}
	m := f.Merged
	if m == nil || m.IntervalSeconds != 2 || len(m.Start) != 10 {
		t.Fatalf("merged into %+v", m)
	}
	apart := 0
	for i, committed := range m.Committed {
		joined := f.Series.Committed[i*20 : (i+1)*20]
		var want int64
		for _, n := range joined {
			want += n
		}
		if committed != want || m.Start[i] != float64(i)*2 {
			t.Errorf("from %v s on %d were committed, want %d", m.Start[i], committed, want)
		}
		if highest := slices.Max(f.Series.Max[i*20 : (i+1)*20]); m.Max[i] != highest {
			t.Errorf("from %v s on the maximum is %v, want %v", m.Start[i], m.Max[i], highest)
		}
		if m.P50[i] < 3 && m.Max[i] == 40 {
			apart++
		}
	}
	if apart != len(m.Committed) {
		t.Errorf("median and maximum are apart in %d of %d intervals: %v, %v", apart, len(m.Committed), m.P50, m.Max)
	}
	// A tenth of a second has one operation or none, which is no measure of evenness.
	if x := f.Throughput; x.IntervalSeconds != 2 || x.Intervals != 9 || x.Min != 5 || x.Median != 10 || x.Max != 10 {
		t.Errorf("throughput %+v", x)
	}
	if m.Whole[0] || !m.Whole[1] {
		t.Errorf("within the measured part are %v", m.Whole)
	}
}

// TestManyOperationsAreNotMerged, and those between become no longer than needed.
func TestManyOperationsAreNotMerged(t *testing.T) {
	if f := summaryOf(1000, 20); f.Merged != nil {
		t.Errorf("intervals of %v s, of 100 operations each, were merged into %v s", f.Series.IntervalSeconds, f.Merged.IntervalSeconds)
	}
	m := summaryOf(250, 20).Merged
	if m == nil || m.IntervalSeconds != 0.5 {
		t.Fatalf("merged into %+v", m)
	}
	// The outage stays one: nothing was committed, and nothing has a time.
	for i, start := range m.Start {
		if away := start >= 5 && start < 7; away != (m.Committed[i] == 0) || away != (m.P99[i] == -1) {
			t.Errorf("from %v s on %d were committed, p99 %v", start, m.Committed[i], m.P99[i])
		}
	}
	if empty := NewSummary(Scope{End: sec}).Figures(); empty.Merged != nil {
		t.Errorf("nothing was merged into %+v", empty.Merged)
	}
}
