package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay/fault"
	"assay/history"
	"assay/measure"
	"assay/report"
	"assay/runner/record"
	"assay/store"
)

// Status is the present state of a run: Live gives it to this process, live.json in the run's
// folder to others. It is safe for concurrent use.
type Status struct {
	mu   sync.Mutex
	live report.Live
	last float64 // the end of the latest point, in seconds of the work
	// merged is how many seconds a point stands for. next is an incomplete point of parts seconds.
	merged, parts int
	next          report.LivePoint
}

// At maxLivePoints, points are merged in pairs. Of faults and notes, the oldest are dropped.
const (
	maxLivePoints = 240
	maxLiveFaults = 20
	maxLiveNotes  = 20
)

// Live returns the present state.
func (s *Status) Live() report.Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.live
	l.Points, l.Notes = slices.Clone(l.Points), slices.Clone(l.Notes)
	if s.parts > 0 {
		l.Points = append(l.Points, s.next)
	}
	l.Faults, l.Nodes = slices.Clone(l.Faults), slices.Clone(l.Nodes)
	return l
}

func (s *Status) begin(sc Scenario, version string) {
	s.change(func(l *report.Live) {
		*l = report.Live{Format: resultFormat, Version: version, Workload: sc.Workload, Started: time.Now().UTC(),
			Warmup: sc.Load.Warmup.Seconds(), Duration: measuredLength(sc.Load).Seconds(), Ops: sc.Load.Ops, Clients: sc.Load.Clients}
		if sc.Database != "" {
			l.Database = store.Redact(sc.Database)
		}
		s.last, s.merged, s.parts = 0, 1, 0
	})
}

func (s *Status) change(how func(l *report.Live)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	how(&s.live)
}

func (s *Status) describe(r *report.Result) {
	s.change(func(l *report.Live) {
		l.Database = r.Database.Product + " " + r.Database.Version
		if r.Cluster == nil {
			return
		}
		for _, n := range r.Cluster.Nodes {
			l.Nodes = append(l.Nodes, n.Name)
		}
	})
}

func (s *Status) stage(text string) {
	s.change(func(l *report.Live) {
		l.Stage, l.StageBegan, l.Rows, l.TotalRows = text, time.Now().UTC(), 0, 0
		if l.Outcomes.Total() > 0 {
			l.Elapsed = -1
		}
	})
}

func (s *Status) rows(done, total int64) {
	s.change(func(l *report.Live) { l.Rows, l.TotalRows = done, total })
}

func (s *Status) note(text string) {
	s.change(func(l *report.Live) { l.Notes = lastOf(append(l.Notes, text), maxLiveNotes) })
}

func lastOf[T any](all []T, most int) []T { return all[max(0, len(all)-most):] }

func (s *Status) working(elapsed time.Duration, measuring bool, now measure.Snapshot) {
	s.change(func(l *report.Live) {
		at := elapsed.Seconds()
		l.Elapsed, l.Measuring, l.Outcomes = at, measuring, now.Outcomes
		l.PerSecond = float64(now.Outcomes.Committed) / at
		l.Latency = now.Latency
		l.Latency.Curve = nil
		now := report.LivePoint{Second: at, PerSecond: float64(now.Recent.Committed) / max(at-s.last, 1e-3),
			P50: now.RecentLatency.P50, P99: now.RecentLatency.P99, Uncommitted: now.Recent.Total() - now.Recent.Committed}
		s.next, s.parts, s.last = mergePoints(s.next, s.parts, now), s.parts+1, at
		if s.parts < s.merged {
			return
		}
		l.Points, s.parts = append(l.Points, s.next), 0
		if len(l.Points) >= maxLivePoints {
			for i := range len(l.Points) / 2 {
				l.Points[i] = mergePoints(l.Points[2*i], 1, l.Points[2*i+1])
			}
			l.Points = l.Points[:len(l.Points)/2]
			s.merged *= 2
		}
	})
}

// mergePoints adds a point to one that stands for n others. It takes the mean of the medians
// and the largest 99th percentile.
func mergePoints(p report.LivePoint, n int, next report.LivePoint) report.LivePoint {
	if n == 0 {
		return next
	}
	mean := func(a, b float64) float64 { return (a*float64(n) + b) / float64(n+1) }
	return report.LivePoint{Second: next.Second, PerSecond: mean(p.PerSecond, next.PerSecond), P50: mean(p.P50, next.P50),
		P99: max(p.P99, next.P99), Uncommitted: p.Uncommitted + next.Uncommitted}
}

// fault enters an injected or healed fault; start is the zero of the work.
func (s *Status) fault(i fault.Injection, start time.Time) {
	s.change(func(l *report.Live) {
		f := report.LiveFault{Text: record.ActionOf(i.Fault) + " " + i.Fault.Target, Nodes: i.Nodes, Injected: i.InjectedAt.Sub(start).Seconds(), Healed: -1}
		if !i.HealedAt.IsZero() {
			f.Healed = i.HealedAt.Sub(start).Seconds()
		}
		at := slices.IndexFunc(l.Faults, func(old report.LiveFault) bool { return old.Text == f.Text && old.Injected == f.Injected })
		if at < 0 {
			l.Faults = lastOf(append(l.Faults, f), maxLiveFaults)
		} else {
			l.Faults[at] = f
		}
	})
}

// keepIn writes live.json into a folder once a second. stop removes it. A failure to write does
// not end the run.
func (s *Status) keepIn(folder string) (stop func()) {
	path := filepath.Join(folder, report.FileLive)
	write := func() {
		l := s.Live()
		l.Updated = time.Now().UTC()
		if text, err := json.Marshal(&l); err == nil {
			_ = history.WriteFile(path, text) // as above
		}
	}
	write()
	end := everySecond(write)
	return func() {
		end()
		_ = os.Remove(path) // result.json tells the rest
	}
}
