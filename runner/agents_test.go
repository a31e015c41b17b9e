package runner

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/check"
	"assay/driver/bugs"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/internal/wait"
	"assay/report"
	"assay/runner/agents"
	"assay/runner/open"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/isolation"
)

// The number of seeded bugs for agents; `make trust` takes more.
var trustAgents = flag.Int("trust.agents", 2, "seeded bugs that four agents must find as one process does")

// oneStore is one store for the coordinator and all agents, like a server.
type oneStore struct {
	// apart gives each a store of its own, in a file.
	apart bool
	mu    sync.Mutex
	work  definition.Work
}

// shared is one user's part of oneStore.
type shared struct{ definition.Work }

func (shared) Close() error { return nil }

func (o *oneStore) open(ctx context.Context, s Scenario, address string, stallTimeout time.Duration) (*open.Work, error) {
	if o.apart {
		return openWork(ctx, s, address, stallTimeout)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.work == nil {
		work, err := openWork(ctx, s, address, stallTimeout)
		if err != nil {
			return nil, err
		}
		o.work = work
	}
	return open.New(shared{o.work}, stallTimeout, address), nil
}

// team is a coordinator's engine with agents in this process.
type team struct {
	engine *agents.Engine
	store  *oneStore
	ended  []chan error
	stop   context.CancelFunc
}

// newTeam starts agents at the address that reach makes of the engine's, with clock's clocks; nil
// means the engine's address and the system's clock.
func newTeam(t *testing.T, n int, version string, reach func(i int, address string) string, clock func(i int) agents.Clock) *team {
	t.Helper()
	engine, err := agents.Start("127.0.0.1:0", "")
	expect.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	x := &team{engine: engine, store: &oneStore{}, stop: stop}
	for i := range n {
		address, o := engine.Join(), agents.Options{Version: version, Pool: agents.AnyPool, Folder: t.TempDir(), Note: func(string) {}, Late: 20 * time.Second, Gone: time.Minute}
		if reach != nil {
			address = reach(i, address)
		}
		if clock != nil {
			o.Clock = clock(i)
		}
		conn, err := agents.Open(ctx, address)
		expect.NoError(t, err)
		ended := make(chan error, 1)
		x.ended = append(x.ended, ended)
		go func() {
			defer conn.Close()
			ended <- agents.Serve(ctx, conn, &ShareWorker{open: x.store.open}, o)
		}()
	}
	t.Cleanup(x.end)
	return x
}

func (x *team) end() {
	x.stop()
	for _, ended := range x.ended {
		<-ended
	}
	if x.store.work != nil {
		_ = x.store.work.Close() // of memory
	}
	x.engine.Close()
}

func (x *team) run(t *testing.T, s Scenario, change func(*Agents)) Outcome {
	t.Helper()
	out, err := x.try(t, filepath.Join(t.TempDir(), "run"), s, &diary{}, change)
	expect.NoError(t, err)
	return out
}

func (x *team) try(t *testing.T, folder string, s Scenario, d *diary, change func(*Agents)) (Outcome, error) {
	// On a busy machine an agent is heard late. It must not be lost for that.
	a := &Agents{Engine: x.engine, Pool: agents.AnyPool, Count: len(x.ended), Timeout: time.Minute, open: x.store.open}
	if change != nil {
		change(a)
	}
	return Run(t.Context(), s, Options{Version: "test", Out: folder, Progress: d, Agents: a})
}

// wrongClocks are an hour ahead, and one is fast by 300 ppm.
func wrongClocks(i int) agents.Clock {
	right := agents.NewClock()
	began := right()
	return func() int64 {
		now := right()
		if i == 1 {
			now += int64(float64(now-began) * 300e-6)
		}
		return now + int64(i)*int64(time.Hour)
	}
}

// TestAgentsAreOneRun: four agents, three with wrong clocks, record each operation once, get one
// verdict, and the run can be judged again.
func TestAgentsAreOneRun(t *testing.T) {
	t.Parallel()
	for _, w := range []definition.Workload{bank.Definition(), isolation.Definition()} {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			s := small("mem://?latency=100us", 7, 2000)
			if w.Name != bank.Name {
				become(&s, w)
			}
			s.Load.Clients = 10
			out := newTeam(t, 4, "test", nil, wrongClocks).run(t, s, nil)
			r := out.Result
			if r.Verdict != check.Valid || r.Outcomes.Total() != 2000 || len(r.Agents) != 4 {
				t.Fatalf("verdict %v of %+v by %+v: %s", r.Verdict, r.Outcomes, r.Agents, details(r))
			}
			var operations int64
			byClock := slices.SortedFunc(slices.Values(r.Agents), func(a, b report.Agent) int { return cmp.Compare(a.OffsetMillis, b.OffsetMillis) })
			for i, a := range byClock {
				operations += a.Operations
				off := a.OffsetMillis - float64(i)*3600e3
				if !a.Delivered || a.OffsetErrorMillis <= 0 || max(off, -off) > 50+a.OffsetErrorMillis {
					t.Errorf("agent %d: %+v", i, a)
				}
			}
			if operations != 2000 {
				t.Errorf("the agents did %d", operations)
			}
			if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.HasPrefix(n, noteOrder) }) {
				t.Errorf("nothing says what the clocks left out: %q", r.Notes)
			}
			clients := map[int]bool{}
			_, err := history.Read(filepath.Join(out.Folder, FileHistory), history.Visitor{Op: func(op *history.Op) error {
				clients[op.Client] = true
				return nil
			}})
			if err != nil || len(clients) < 10 {
				t.Errorf("%d clients in the history: %v", len(clients), err)
			}
			keepsSchema(t, out.Folder)
			sameFigures(t, recheck(t, out.Folder).Result, r)
		})
	}
}

// TestTrustInAgents: four agents convict exactly what one process convicts.
func TestTrustInAgents(t *testing.T) {
	t.Parallel()
	all := slices.DeleteFunc(bugsOf(bank.Name), func(b bugs.Bug) bool { return b.Check == "" || b.MayPass("") })
	for i := range *trustAgents {
		bug := all[i%len(all)]
		t.Run(fmt.Sprintf("%s/%d", bug.Name, i+1), func(t *testing.T) {
			x := &trial{workload: bank.Name, bug: bug}
			s := trustScenario(t, x, uint64(i)+1, 1000)
			one := trustRun(t, s)
			x.count(t, one, uint64(i)+1, 1000)
			four := newTeam(t, 4, "test", nil, nil).run(t, s, nil).Result
			x.count(t, four, uint64(i)+1, 1000)
			struck := func(r *report.Result) bool { return r.Data.Rows[bugs.StrikesOf(bug.Name)] > 0 }
			if struck(one) == struck(four) && one.Verdict != four.Verdict {
				t.Errorf("one process says %v and four agents %v: %s", one.Verdict, four.Verdict, told(four))
			}
		})
	}
}

// behindProxy is a team whose first agent's link can be cut.
func behindProxy(t *testing.T, n int) (x *team, proxy *drivertest.Proxy) {
	t.Helper()
	x = newTeam(t, n, "test", func(i int, address string) string {
		if i > 0 {
			return address
		}
		u, err := url.Parse(address)
		expect.NoError(t, err)
		proxy = drivertest.NewProxy(t, u.Host)
		u.Host = proxy.Addr()
		return u.String()
	}, nil)
	return x, proxy
}

// cutOff runs n agents. The first is cut off once all have delivered something, and is back when
// it is lost, or with back false when the run has ended. On a busy machine the others, or the first
// before that, are heard late and lost, too: the run is repeated with twice the patience.
func cutOff(t *testing.T, n int, back bool) (*team, Outcome) {
	t.Helper()
	for patience := 3 * time.Second; ; patience *= 2 {
		x, proxy := behindProxy(t, n)
		s := small("mem://?latency=1ms", 3, 0)
		s.Load.Clients, s.Load.Duration, s.Load.Timeout = 4, 2*patience, time.Second
		folder, d := filepath.Join(t.TempDir(), "run"), &diary{}
		running, ended := context.WithCancel(t.Context())
		await := func(happened func() bool) bool {
			for !happened() && wait.Pause(running, 20*time.Millisecond) == nil {
			}
			return running.Err() == nil
		}
		cut := make(chan bool, 1)
		go func() {
			delivered := await(func() bool {
				return fileSize(folder, agents.Folder, "0.history") > 4000 && (n == 1 || fileSize(folder, agents.Folder, "1.history") > 4000)
			})
			if delivered {
				proxy.Freeze()
				await(func() bool { return back && d.noted("was lost") })
			}
			proxy.Pass()
			cut <- delivered
		}()
		out, err := x.try(t, folder, s, d, func(a *Agents) { a.Continue, a.Timeout = back, patience })
		ended()
		if delivered := <-cut; delivered && err == nil && len(lostOf(out.Result)) == 1 {
			return x, out
		}
		if patience > time.Minute {
			t.Fatalf("with a patience of %v: %v", patience, err)
		}
	}
}

func lostOf(r *report.Result) []report.Agent {
	return slices.DeleteFunc(slices.Clone(r.Agents), func(a report.Agent) bool { return a.Lost == "" })
}

// TestAllAgentsAreLost: the delivered part is judged although no agent reports.
func TestAllAgentsAreLost(t *testing.T) {
	t.Parallel()
	_, out := cutOff(t, 1, false)
	if r := out.Result; r.Verdict != check.Valid || r.Measurement.Verdict != invalid || r.Outcomes.Total() == 0 || r.Agents[0].Delivered {
		t.Errorf("verdict %v of %+v, measurement %+v, agents %+v: %s", r.Verdict, r.Outcomes, r.Measurement, r.Agents, details(r))
	}
}

// TestAgentIsCutOff: an unheard agent stops itself, and the run goes on without being a
// measurement. When it is back it delivers, and its work is judged.
func TestAgentIsCutOff(t *testing.T) {
	t.Parallel()
	x, out := cutOff(t, 2, true)
	judged := func(r *report.Result) {
		t.Helper()
		if lost := lostOf(r); r.Verdict != check.Valid || r.Measurement.Verdict != invalid || len(lost) != 1 || lost[0].Operations == 0 || !strings.Contains(reasons(r), "was lost") {
			t.Errorf("verdict %v, measurement %+v, agents %+v: %s", r.Verdict, r.Measurement, r.Agents, details(r))
		}
	}
	r := out.Result
	judged(r)
	// It delivers in time for the run, or later.
	until(t, "late delivery", func() bool {
		again, err := Recheck(t.Context(), out.Folder, RecheckOptions{Version: "test", Progress: &diary{}, Engine: x.engine})
		expect.NoError(t, err)
		r = again.Result
		return !slices.ContainsFunc(r.Agents, func(a report.Agent) bool { return !a.Delivered })
	})
	judged(r)
}

func (d *diary) noted(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.notes, func(n string) bool { return strings.Contains(n, text) })
}

func fileSize(parts ...string) int64 {
	info, err := os.Stat(filepath.Join(parts...))
	if err != nil {
		return 0
	}
	return info.Size()
}

// until waits at most a minute.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !happened() && t.Context().Err() == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("no %s within a minute", what)
			return
		}
	}
}

// TestAgentsOfAnotherVersionAreRefused, and their run leaves nothing.
func TestAgentsOfAnotherVersionAreRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t, 1, "other", nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended, folder := make(chan error, 1), filepath.Join(t.TempDir(), "run")
	go func() {
		a := &Agents{Engine: x.engine, Pool: agents.AnyPool, Count: 1, Timeout: time.Minute, open: x.store.open}
		_, err := Run(ctx, small("mem://", 1, 10), Options{Version: "test", Out: folder, Progress: &diary{}, Agents: a})
		ended <- err
	}()
	err := <-x.ended[0]
	x.ended = nil
	cancel()
	if _, is := err.(*agents.RefusedError); !is || !strings.Contains(err.Error(), "version") {
		t.Errorf("the agent ended with %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the run without agents ended well")
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the run that did not begin left its folder: %v", err)
	}
}

// TestWhatAgentsCannotShare is refused before anything is done. For workloads see
// TestAgentsOfEachWorkload.
func TestWhatAgentsCannotShare(t *testing.T) {
	for name, s := range map[string]Scenario{"mem": small("mem://", 1, 100), "clients": small("sqlite:x", 1, 100), "ops": small("sqlite:x", 1, 3)} {
		if err := (&Agents{Count: map[string]int{"clients": 5}[name]}).validate(s); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

// TestSharesOfALoad: 10^9 operations of 512 clients are divided among a hundred agents, and add up.
func TestSharesOfALoad(t *testing.T) {
	p := small("", 9, 1_000_000_000).Load
	p.Clients, p.Rate, p.Ramp = 512, 1e6, 14
	var ops uint64
	var rate, ramp float64
	seeds := map[uint64]bool{}
	next := 0
	for n := range 100 {
		share := agents.Share{Number: n, Of: 100, First: next, Clients: 5, All: 512}
		if n < 12 {
			share.Clients = 6
		}
		s := sharedPlan(p, share)
		each := s.Ops / uint64(share.Clients)
		if each < 1_953_124 || each > 1_953_126 {
			t.Errorf("agent %d has %d operations for %d clients", n, s.Ops, share.Clients)
		}
		seeds[s.Seed] = true
		ops, rate, ramp, next = ops+s.Ops, rate+s.Rate, ramp+s.Ramp, next+share.Clients
	}
	if ops != 1_000_000_000 || next != 512 || rate < 999_999.9 || rate > 1_000_000.1 || ramp < 13.999 || ramp > 14.001 || len(seeds) != 100 {
		t.Errorf("%d operations by %d clients at %v/s, %v clients/s, %d seeds", ops, next, rate, ramp, len(seeds))
	}
}

// TestPasswordsAreNotPassedOn: a plan has no password, and an agent without it says what it needs.
func TestPasswordsAreNotPassedOn(t *testing.T) {
	planned := store.Redact("postgres://me:secret@host/db?sslmode=disable")
	w := &ShareWorker{}
	if _, err := w.address(planned, nil); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "ASSAY_DB") {
		t.Errorf("without the password: %v", err)
	}
	w.Database = func() string { return "postgres://me:secret@host/db" }
	if got, err := w.address(planned, []string{"sslmode=disable"}); err != nil || got != "postgres://me:secret@host/db?sslmode=disable" {
		t.Errorf("with it: %q, %v", got, err)
	}
}
