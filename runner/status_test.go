package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/fault"
	"assay/history"
	"assay/measure"
	"assay/report"
)

// watcher reads live.json like another process at every report of the work.
type watcher struct {
	diary
	folder string
	seen   []*report.Live
	failed error
}

func (w *watcher) Working(elapsed time.Duration, measuring bool, now measure.Snapshot) {
	l, err := report.ReadLive(w.folder)
	if err != nil {
		w.failed = err
		return
	}
	w.seen = append(w.seen, l)
}

// TestARunSaysHowItGoes in live.json, which ends with the run.
func TestARunSaysHowItGoes(t *testing.T) {
	t.Parallel()
	s := small("mem://?latency=1ms", 4, 0)
	s.Load.Ops, s.Load.Warmup, s.Load.Duration = 0, 0, 2500*time.Millisecond
	w := &watcher{folder: filepath.Join(t.TempDir(), "run")}
	status := &Status{}
	carryOutBy(t, s, Options{Out: w.folder, Progress: w, Status: status})
	if w.failed != nil || len(w.seen) == 0 {
		t.Fatalf("%d times, %v", len(w.seen), w.failed)
	}
	l := w.seen[len(w.seen)-1]
	if l.Workload != "bank" || l.Clients != 4 || l.Database == "" || l.Duration != 2.5 || l.Stage == "" || l.Updated.Before(l.Started) {
		t.Errorf("%+v", l)
	}
	if now := status.Live(); now.Outcomes.Committed == 0 || len(now.Points) == 0 || now.PerSecond <= 0 {
		t.Errorf("in this process: %+v", now)
	}
	if _, err := os.Stat(filepath.Join(w.folder, report.FileLive)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("afterwards: %v", err)
	}
}

// TestStatusNamesNoDatabase that the run has not started or made yet.
func TestStatusNamesNoDatabase(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{"": "", "postgres://me:secret@host/d": "postgres://me:xxxxx@host/d"} {
		s := &Status{}
		s.begin(small(address, 1, 1), "test")
		if got := s.Live().Database; got != want {
			t.Errorf("%q is called %q, want %q", address, got, want)
		}
	}
}

// TestStatusIsBounded: a day has as many points as an hour, and loses none.
func TestStatusIsBounded(t *testing.T) {
	s := &Status{}
	s.begin(small("mem://", 1, 1), "test")
	var all history.Counts
	for i := 1; i <= 86_400; i++ {
		all.Committed += 10
		all.Failed++
		s.working(time.Duration(i)*time.Second, true, measure.Snapshot{Outcomes: all, Recent: history.Counts{Committed: 10, Failed: 1}, RecentLatency: measure.Latency{P50: 2, P99: 9}})
		if i%1000 == 0 {
			s.note("remark")
			s.fault(fault.Injection{Fault: fault.Fault{Action: "kill", Target: "any"}, InjectedAt: time.Unix(int64(i), 0)}, time.Unix(0, 0))
		}
	}
	s.fault(fault.Injection{Fault: fault.Fault{Action: "kill", Target: "any"}, InjectedAt: time.Unix(86_000, 0), HealedAt: time.Unix(86_005, 0)}, time.Unix(0, 0))
	l := s.Live()
	uncommitted := int64(0)
	for _, p := range l.Points {
		uncommitted += p.Uncommitted
		if p.PerSecond < 9.99 || p.PerSecond > 10.01 || p.P50 < 1.99 || p.P50 > 2.01 || p.P99 != 9 {
			t.Fatalf("a point is %+v", p)
		}
	}
	if len(l.Points) > maxLivePoints || uncommitted != 86_400 || l.Points[len(l.Points)-1].Second != 86_400 {
		t.Errorf("%d points with %d", len(l.Points), uncommitted)
	}
	if len(l.Notes) != maxLiveNotes || len(l.Faults) != maxLiveFaults || l.Faults[maxLiveFaults-1].Healed != 86_005 {
		t.Errorf("%d notes, faults %+v", len(l.Notes), l.Faults)
	}
	s.stage("checking")
	if l = s.Live(); l.Elapsed != -1 {
		t.Errorf("after the work: %+v", l)
	}
	if _, known := l.Left(); known {
		t.Error("after the work there is a time left")
	}
}

// TestTimeLeft of a duration, of a number of operations, and of neither.
func TestTimeLeft(t *testing.T) {
	for _, c := range []struct {
		l     report.Live
		left  time.Duration
		known bool
		share float64
	}{
		{report.Live{Elapsed: 4, Warmup: 2, Duration: 8}, 6 * time.Second, true, 0.4},
		{report.Live{Elapsed: 30, Warmup: 2, Duration: 8}, 0, true, 1},
		{report.Live{Elapsed: 5, Ops: 1000, Outcomes: history.Counts{Committed: 250}}, 15 * time.Second, true, 0.25},
		{report.Live{Elapsed: 5, Ops: 1000}, 0, false, 0},
		{report.Live{Elapsed: 5}, 0, false, 0},
		{report.Live{Rows: 30, TotalRows: 120}, 0, false, 0.25},
	} {
		left, known := c.l.Left()
		if share, _ := c.l.Share(); left != c.left || known != c.known || share != c.share {
			t.Errorf("%+v: %v, %v, share %v", c.l, left, known, share)
		}
	}
}
