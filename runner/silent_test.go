package runner

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/check"
	"assay/cluster"
	"assay/driver/drivertest"
	"assay/driver/sqlite"
	"assay/internal/expect"
	"assay/runner/open"
	"assay/runner/serve"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/entity"
)

// shortStallTimeout is these tests' patience with absent servers.
const shortStallTimeout = 500 * time.Millisecond

// tries limits how often a run restarts, each time with double patience, if its servers were too
// slow before they went away.
const tries = 5

// absence is how servers go away, at which stages, and how they come back. If they go during the
// work, they are away when the run settles.
type absence struct {
	stages []string
	leave  func(n *cluster.Node) error
	come   func(ctx context.Context, n *cluster.Node) error
}

func absences() map[string]absence {
	return map[string]absence{
		"silent": {stages: []string{"loading", "rows", "opening", "", atReading}, leave: (*cluster.Node).Pause, come: func(_ context.Context, n *cluster.Node) error { return n.Resume() }},
		"killed": {stages: []string{"rows", "", atReading}, leave: (*cluster.Node).Kill, come: func(ctx context.Context, n *cluster.Node) error { return n.Start(ctx) }},
	}
}

// goAway removes all servers until the end of the test, without a lease that a run could not
// release.
func goAway(t *testing.T, c *cluster.Cluster, a absence, s Scenario) {
	t.Helper()
	for _, n := range c.Nodes() {
		if err := a.leave(n); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		var all []error
		for _, n := range c.Nodes() {
			all = append(all, a.come(ctx, n))
		}
		if err := errors.Join(append(all, c.Settled(ctx), forgetLease(ctx, s, c.Address()))...); err != nil {
			t.Error(err)
		}
	})
}

// forgetLease releases the lease of a run that ended without doing so.
func forgetLease(ctx context.Context, s Scenario, address string) error {
	s.ConnectTimeout = time.Minute
	w, err := openWork(ctx, s, address, 0)
	if err != nil {
		return err
	}
	left, err := w.Lease(ctx)
	if err == nil && left != nil {
		err = w.ReleaseLease(ctx, left.Token)
	}
	return errors.Join(err, w.Close())
}

// trustGone disturbs every database in each way, not only PostgreSQL (`make trust`).
var trustGone = flag.Bool("trust.gone", false, "have servers of each database go away at each stage of a run")

// silence makes all servers go away for good, silent or killed, before each call and, if at each
// stage, during a run. A stage's end is the run's matter. A database's own driver answers for its
// calls, which all but silence leaves without an answer at once.
func silence(t *testing.T, c *cluster.Cluster, eachStage bool) {
	for how, a := range absences() {
		if !eachStage {
			if how == "killed" {
				continue
			}
			a.stages = nil
		}
		if how == "killed" && strings.HasPrefix(c.Address(), "cassandra") {
			continue // a node takes half a minute to start
		}
		t.Run(how, func(t *testing.T) { leave(t, c, a) })
	}
}

func leave(t *testing.T, c *cluster.Cluster, a absence) {
	runs := shortRuns(c.Address())
	s, transfers := runs[bank.Name]
	if !transfers {
		s = runs[entity.Name]
	}
	s.ConnectTimeout, s.Load.Timeout = 2*time.Second, time.Second
	for _, stage := range a.stages {
		t.Run("at "+stage, func(t *testing.T) { goneDuring(t, c, a, s, stage) })
	}
	t.Run("before each call, and before a run", func(t *testing.T) {
		goneBefore(t, c.Address(), s, func() { goAway(t, c, a, s) })
		folder := filepath.Join(t.TempDir(), "run")
		_, err := Run(t.Context(), s, Options{Version: "test", Out: folder, Progress: &diary{}, StallTimeout: shortStallTimeout})
		if !errors.As(err, new(*store.UnreachableError)) {
			t.Errorf("%v; want *store.UnreachableError", err)
		}
		if _, err := os.Stat(folder); err == nil {
			t.Error("a run that never began has left its folder")
		}
	})
}

// goneDuring requires that a run ends: before the work with an error, later with a result that
// judges nothing.
func goneDuring(t *testing.T, c *cluster.Cluster, a absence, s Scenario, stage string) {
	var gone atomic.Bool
	progress := &intruder{stage: stage, act: func() { gone.Store(true); goAway(t, c, a, s) }}
	var out Outcome
	var err error
	for try := 0; try < tries && !gone.Load(); try++ {
		run, patience := s, 4*shortStallTimeout<<try
		if s.Workload != bank.Name { // Cassandra changes its schema in seconds
			patience *= 2
		}
		run.ConnectTimeout <<= try
		out, err = Run(t.Context(), run, Options{
			Version: "test", Out: filepath.Join(t.TempDir(), fmt.Sprint("run", try)), Progress: progress, StallTimeout: patience,
		})
		if gone.Load() || !errors.As(err, new(*store.UnreachableError)) {
			break
		}
		expect.NoError(t, forgetLease(t.Context(), s, c.Address()))
	}
	if !gone.Load() {
		t.Fatalf("the run has ended before it came to %q: %v", stage, err)
	}
	if stage == "loading" || stage == "rows" || stage == "opening" && err != nil {
		if err == nil {
			t.Errorf("it went on to %v: %s", out.Result.Verdict, details(out.Result))
		}
		return
	}
	// Opening a session of Cassandra asks no server.
	if err != nil {
		t.Error(err)
		return
	}
	if notes := strings.Join(out.Result.Notes, "\n"); out.Result.Verdict != check.Unknown || !strings.Contains(notes, noteNotRead) {
		t.Errorf("the verdict is %v, the notes are %s", out.Result.Verdict, notes)
	}
}

// calls are a run's calls outside of the work, by name.
func calls(s Scenario) map[string]func(ctx context.Context, w definition.Work, folder string) error {
	return map[string]func(context.Context, definition.Work, string) error{
		"describing": func(ctx context.Context, w definition.Work, _ string) error { _, err := w.Describe(ctx); return err },
		"finding":    func(ctx context.Context, w definition.Work, _ string) error { _, err := w.Find(ctx); return err },
		"loading": func(ctx context.Context, w definition.Work, _ string) error {
			return w.Load(ctx, func(int64, int64) {})
		},
		"settling": func(ctx context.Context, w definition.Work, _ string) error { return w.Settle(ctx) },
		"reading": func(ctx context.Context, w definition.Work, folder string) error {
			return w.Save(ctx, folder, func(int64) {})
		},
		"sizing":   func(ctx context.Context, w definition.Work, _ string) error { _, err := w.Size(ctx); return err },
		"dropping": func(ctx context.Context, w definition.Work, _ string) error { return w.Drop(ctx) },
		"making": func(ctx context.Context, w definition.Work, _ string) error {
			return w.Create(ctx, store.Marker{Run: "x", Workload: s.Workload})
		},
		"opening": func(ctx context.Context, w definition.Work, _ string) error { _, err := w.Client(ctx, 0); return err },
	}
}

// goneBefore requires that each call, and its closing, returns from absent servers. They run at
// once, since each takes its full time.
func goneBefore(t *testing.T, address string, s Scenario, leave func()) {
	t.Helper()
	opened := map[string]*open.Work{}
	for doing := range calls(s) {
		if doing == "making" && strings.HasPrefix(address, "cassandra") {
			continue // it comes back to two changes of its schema at once; a run that loads makes it, too
		}
		w, err := openWork(t.Context(), s, address, 0) // servers that are there may take their time
		for try := 1; try < tries && errors.As(err, new(*store.UnreachableError)); try++ {
			w, err = openWork(t.Context(), s, address, 0)
		}
		expect.NoError(t, err)
		if len(opened) == 0 { // all work on one schema
			expect.NoError(t, w.Create(t.Context(), store.Marker{Run: "x", Workload: s.Workload, Rows: w.Rows()}))
			expect.NoError(t, w.Load(t.Context(), func(int64, int64) {}))
		}
		w.StallTimeout, opened[doing] = shortStallTimeout, w
	}
	leave()
	var all sync.WaitGroup
	for doing, w := range opened {
		folder := t.TempDir()
		all.Go(func() {
			// Absent servers have nothing in flight, and a session may connect at its first use.
			if err := calls(s)[doing](t.Context(), w, folder); err == nil && doing != "settling" && doing != "opening" {
				t.Errorf("%s: no error came of it", doing)
			}
			if err := w.Close(); err != nil && !errors.As(err, new(*store.UnreachableError)) {
				t.Errorf("%s, closing: %v", doing, err)
			}
		})
	}
	all.Wait()
}

// TestAServiceGoesAway: the same for assay serve behind a silent or broken network.
func TestAServiceGoesAway(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), store.Target{Address: "sqlite:" + filepath.Join(t.TempDir(), "entity.db")}, entity.Schema())
	expect.NoError(t, err)
	o := serve.DefaultOptions()
	o.AllowReset, o.Version = true, "test"
	service, err := serve.New(t.Context(), db, o)
	expect.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(ctx, listener) }()
	defer func() {
		stop()
		if err := errors.Join(<-ended, db.Close()); err != nil {
			t.Error(err)
		}
	}()
	s := small("", 3, 0)
	become(&s, entity.Definition())
	s.Config.(*entity.Config).Entities, s.ConnectTimeout = 20, 2*time.Second
	proxy := drivertest.NewProxy(t, listener.Addr().String())
	for _, leave := range []func(){proxy.Cut, proxy.Freeze} { // what is held back is not delivered into the next
		proxy.Pass()
		goneBefore(t, "http://"+proxy.Addr(), s, leave)
	}
	proxy.Pass()
}
