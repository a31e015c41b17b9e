package measure

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"assay/history"
)

const ms = int64(time.Millisecond)

// ended is an operation that took service from first to end, and was due at.
func ended(client int, final history.Outcome, due, first, end int64) *history.Op {
	return &history.Op{Client: client, Attempt: 1, Last: true, Outcome: final, Final: final, Due: due, First: first, Start: first, End: end}
}

func TestLiveTellsRecentFromAll(t *testing.T) {
	l := NewLive(3)
	for range 10 {
		l.Add(ended(0, history.Committed, 0, 0, 2*ms))
	}
	l.Add(ended(1, history.Rejected, 0, 0, 900*ms))
	l.Add(&history.Op{Client: 1, Attempt: 1, Outcome: history.Failed, Due: 0, End: 700 * ms})
	first := l.Snapshot()
	want := history.Counts{Committed: 10, Rejected: 1}
	if first.Outcomes != want || first.Recent != want || first.Attempts != 12 || first.RecentAttempts != 12 {
		t.Errorf("first snapshot: %+v", first)
	}
	if first.Latency.Count != 10 || first.Latency.Max != 2 {
		t.Errorf("latency of committed operations only: %+v", first.Latency)
	}
	for range 30 {
		l.Add(ended(2, history.Committed, 0, 0, 50*ms))
	}
	l.Add(ended(2, history.Failed, 0, 0, ms))
	l.Add(ended(2, history.Unknown, 0, 0, ms))
	second := l.Snapshot()
	if second.Recent != (history.Counts{Committed: 30, Failed: 1, Unknown: 1}) || second.RecentAttempts != 32 ||
		second.Outcomes != (history.Counts{Committed: 40, Rejected: 1, Failed: 1, Unknown: 1}) || second.Attempts != 44 {
		t.Errorf("second snapshot: %+v", second)
	}
	if r := second.RecentLatency; r.Count != 30 || !within(int64(r.P50*1e6), 50*ms, fine) {
		t.Errorf("recent latency: %+v", r)
	}
	if a := second.Latency; a.Count != 40 || !within(int64(a.P50*1e6), 50*ms, fine) || a.Mean != 38 {
		t.Errorf("latency: %+v", a)
	}
	third := l.Snapshot()
	if third.Recent.Total() != 0 || third.RecentLatency.Count != 0 || third.RecentLatency.P99 != 0 ||
		third.Outcomes != second.Outcomes || third.Latency.P99 != second.Latency.P99 {
		t.Errorf("third snapshot: %+v", third)
	}
}

func TestLiveLosesNothingUnderConcurrency(t *testing.T) {
	const clients, each = 100, 2000
	l := NewLive(clients)
	var done sync.WaitGroup
	stop := make(chan struct{})
	var recent history.Counts
	var counted int64
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			select {
			case <-stop:
				return
			default:
				s := l.Snapshot()
				recent = recent.Plus(s.Recent)
				counted += s.RecentLatency.Count
			}
		}
	}()
	for client := range clients {
		done.Go(func() {
			for i := range int64(each) {
				l.Add(ended(client, history.Outcome(i%4), 0, 0, i*1000))
			}
		})
	}
	done.Wait()
	close(stop)
	<-watched
	s := l.Snapshot()
	recent = recent.Plus(s.Recent)
	counted += s.RecentLatency.Count
	const quarter = clients * each / 4
	want := history.Counts{Committed: quarter, Rejected: quarter, Failed: quarter, Unknown: quarter}
	if s.Outcomes != want || recent != want || s.Latency.Count != quarter || counted != quarter || s.Attempts != clients*each {
		t.Errorf("all %+v, recent %+v, latencies %d and %d", s.Outcomes, recent, s.Latency.Count, counted)
	}
}

func TestLiveHasBoundedStripes(t *testing.T) {
	most := min(stripesEach*runtime.GOMAXPROCS(0), maxStripes)
	for clients, want := range map[int]int{-1: 1, 0: 1, 1: 1, 4: 4, 10_000: most} {
		l := NewLive(clients)
		if len(l.stripes) != want {
			t.Errorf("%d clients have %d histograms, want %d", clients, len(l.stripes), want)
		}
		l.Add(ended(9999, history.Committed, 0, 0, ms))
		l.Add(ended(-1, history.Committed, 0, 0, ms))
		if s := l.Snapshot(); s.Outcomes.Committed != 2 {
			t.Errorf("%d clients: %+v", clients, s.Outcomes)
		}
	}
}
