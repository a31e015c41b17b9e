package runner

import (
	"cmp"
	"flag"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/check"
	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/load"
	"assay/runner/catalog"
)

// huntRuns is the number of runs of each hunt on each product; 0 means one run on one product.
var huntRuns = flag.Int("hunt.runs", 0, "runs of each hunt for false convictions on each product")

// hunt is a trouble or a setting of a healthy database for which no vendor may be convicted.
type hunt struct {
	name string
	// trouble happens to the network again and again while clients work.
	trouble func(p *drivertest.Proxy)
	// parameters are added to the address, by product.
	parameters map[string][]string
	// levels runs at each isolation level in turn.
	levels bool
}

// statementTime is how long a statement may take, in seconds. It doubles with each run of ten, since
// a busy machine may open no session within the first.
const statementTime = "max_statement_time"

func hunts() []hunt {
	after := func(d time.Duration) { time.Sleep(d) }
	return []hunt{
		{name: "nothing passes for a while", trouble: func(p *drivertest.Proxy) {
			p.Freeze()
			after(120 * time.Millisecond)
			p.Pass()
			after(60 * time.Millisecond)
		}},
		{name: "messages are late", trouble: func(p *drivertest.Proxy) { p.Freeze(); after(3 * time.Millisecond); p.Pass(); after(time.Millisecond) }},
		{name: "connections are reset", trouble: func(p *drivertest.Proxy) {
			after(80 * time.Millisecond)
			p.Cut()
			after(5 * time.Millisecond)
			p.Pass()
		}},
		{name: "answers are lost", trouble: func(p *drivertest.Proxy) {
			after(60 * time.Millisecond)
			p.Swallow()
			after(40 * time.Millisecond)
			p.Cut()
			p.Pass()
		}},
		{name: "cut once COMMIT was delivered", trouble: armed(true)},
		{name: "cut before COMMIT is delivered", trouble: armed(false)},
		{name: "weak durability", parameters: map[string][]string{"postgres": {"synchronous_commit=off"}, "mongodb": {"w=1"}, "sqlite": {"synchronous=off"}}},
		{name: "short time limits", parameters: map[string][]string{"postgres": {"statement_timeout=3", "lock_timeout=1", "idle_in_transaction_session_timeout=5"},
			"mysql": {"innodb_lock_wait_timeout=1", statementTime + "=0.01"}}},
		{name: "other words of a session", parameters: map[string][]string{"postgres": {"timezone=Asia/Kathmandu", "datestyle=German", "extra_float_digits=0"}}},
		{name: "every level", levels: true},
	}
}

// armed cuts all connections about the next COMMIT.
func armed(deliver bool) func(*drivertest.Proxy) {
	return func(p *drivertest.Proxy) {
		select {
		case <-p.Arm([]byte("commit"), deliver):
			time.Sleep(10 * time.Millisecond)
		case <-time.After(100 * time.Millisecond):
		}
		p.Pass()
		time.Sleep(20 * time.Millisecond)
	}
}

// troubled makes trouble while a run's clients work.
type troubled struct {
	diary
	proxy   *drivertest.Proxy
	trouble func(*drivertest.Proxy)
	over    chan struct{}
	running sync.WaitGroup
}

func (p *troubled) Stage(text string) {
	p.diary.Stage(text)
	p.end()
	if p.trouble == nil || !strings.HasPrefix(text, "working") {
		return
	}
	over := make(chan struct{})
	p.over = over
	p.running.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(30 * time.Millisecond):
			}
			p.trouble(p.proxy)
		}
	})
}

func (p *troubled) end() {
	if p.over != nil {
		close(p.over)
		p.running.Wait()
		p.over = nil
	}
	p.proxy.Pass()
}

// TestNoFalseConvictions: these networks, settings and retries convict no healthy database.
func TestNoFalseConvictions(t *testing.T) {
	t.Parallel()
	for i, spec := range []string{"postgres:1", "mariadb:1", "redis:1,appendfsync=always", "etcd:1", "mongodb:1", ""} {
		name, _, _ := strings.Cut(cmp.Or(spec, "sqlite"), ":")
		t.Run(name, func(t *testing.T) {
			address := ""
			if spec != "" {
				address = onServers(t, spec).Address()
			}
			for k, h := range hunts() {
				switch usual := []int{0, 1, 2, 3, 0, 1, 4, 1, 0, 5}[k]; {
				case *huntRuns > 0:
					made := 0
					for n := range *huntRuns {
						made += huntOnce(t, h, spec, address, uint64(n))
					}
					t.Logf("%s: %d runs", h.name, made)
				case usual == i && !huntAny(t, h, spec, address):
					t.Errorf("%s: no run was made", h.name)
				}
			}
		})
	}
}

// huntAny makes one run. A short time limit may end its preparation on a busy machine.
func huntAny(t *testing.T, h hunt, spec, address string) bool {
	t.Helper()
	for n := range uint64(10) {
		if huntOnce(t, h, spec, address, n) > 0 {
			return true
		}
	}
	return false
}

// huntOnce returns the number of runs that it made: 0 if the hunt has nothing for the product.
func huntOnce(t *testing.T, h hunt, spec, address string, n uint64) int {
	t.Helper()
	parameters := h.parameters[strings.SplitN(address, ":", 2)[0]]
	if spec == "" {
		parameters = h.parameters["sqlite"]
	}
	if h.trouble == nil && !h.levels && parameters == nil {
		return 0
	}
	workloads := []string{"bank", "isolation", "ycsb", "tpcb", "smallbank", "churn"}
	s := small(address, n+1, 0)
	w, err := catalog.WorkloadOf(workloads[int(n+n/6)%len(workloads)])
	expect.NoError(t, err)
	if s.Workload != w.Name {
		become(&s, w)
	}
	s.Load.Duration, s.Load.Timeout, s.Load.Clients = 400*time.Millisecond, 80*time.Millisecond, 6
	s.Load.Retry, s.Load.MaxAttempts = []load.RetryMode{load.RetryNone, load.RetryFailed, load.RetryIdempotent}[n%3], 5
	s.Options = slices.Clone(parameters)
	if i := slices.IndexFunc(s.Options, func(o string) bool { return strings.HasPrefix(o, statementTime) }); i >= 0 {
		s.Options[i] = fmt.Sprintf("%s=%g", statementTime, 0.01*float64(int(1)<<(n%10)))
	}
	if h.levels {
		levels, _, err := Levels(t.Context(), s)
		if err != nil || len(levels) == 0 {
			return 0
		}
		level := levels[int(n)%len(levels)]
		s.Isolation, s.Options = level.Isolation, level.Options
	}
	progress := &troubled{trouble: h.trouble, proxy: drivertest.NewProxy(t, "127.0.0.1:1")}
	if h.trouble != nil {
		u, err := url.Parse(address)
		if spec == "" || err != nil || strings.HasPrefix(spec, "mongodb") { // its driver goes to the members that it is told of
			return 0
		}
		progress.proxy = drivertest.NewProxy(t, u.Host)
		u.Host = progress.proxy.Addr()
		s.Database = u.String()
	}
	name := fmt.Sprintf("%s, %s on %q, %s, run %d", h.name, s.Workload, spec, s.Load.Retry, n)
	out, err := Run(t.Context(), s, Options{Version: "test", Out: t.TempDir() + "/run", Progress: progress})
	progress.end()
	if err != nil { // the workload, or a parameter, is none of the product's
		t.Logf("%s: %v", name, err)
		return 0
	}
	if p := out.Result.Promise; out.Result.Verdict == check.Violated && (p == nil || p.Kept != nil && !*p.Kept) {
		t.Errorf("%s: convicted: %s", name, details(out.Result))
	}
	return 1
}
