package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/cluster"
	"assay/cluster/machine"
	"assay/internal/expect"
)

type recording struct {
	mu                   sync.Mutex
	injected, healed     []Injection
	onInjected, onHealed func(Injection)
}

func (r *recording) Injected(i Injection) {
	r.mu.Lock()
	r.injected = append(r.injected, i)
	r.mu.Unlock()
	if r.onInjected != nil {
		r.onInjected(i)
	}
}

func (r *recording) Healed(i Injection) {
	r.mu.Lock()
	r.healed = append(r.healed, i)
	r.mu.Unlock()
	if r.onHealed != nil {
		r.onHealed(i)
	}
}

// quickMongo's members end at once. The 15 seconds for their clients are no part of any fault.
const quickMongo = "mongodb:3,election=2s,shutdown=100ms"

func startCluster(t *testing.T, text string) *cluster.Cluster {
	t.Helper()
	spec, err := cluster.ParseSpec(text)
	expect.NoError(t, err)
	c, err := cluster.Start(t.Context(), spec, cluster.Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return c
}

func parse(t *testing.T, texts ...string) []Fault {
	t.Helper()
	var all []Fault
	for _, text := range texts {
		f, err := Parse(text)
		expect.NoError(t, err)
		all = append(all, f)
	}
	return all
}

// patientPlan allows healing as long as a busy machine needs.
func patientPlan() Plan { return Plan{Seed: 7, HealWithin: expect.Patience} }

// happen has faults happen to a cluster and requires that none goes wrong.
func happen(t *testing.T, c *cluster.Cluster, texts ...string) []Injection {
	t.Helper()
	done, err := Run(t.Context(), Servers(c), parse(t, texts...), patientPlan(), &recording{})
	if err != nil || len(done) != len(texts) {
		t.Fatalf("%q: %+v, %v", texts, done, err)
	}
	return done
}

// checkWhole requires that all nodes run, undisturbed and in step.
func checkWhole(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ctx := expect.Patiently(t)
	if err := c.Settled(ctx); err != nil {
		t.Fatalf("not in step: %v", err)
	}
	for _, n := range c.Nodes() {
		halted, err := n.Halted()
		if err != nil || halted || !n.Running() {
			t.Errorf("%s: runs %v, halted %v, %v", n.Name(), n.Running(), halted, err)
		}
		if err := n.Dial(ctx, dialBound); err != nil {
			t.Errorf("%s: %v", n.Name(), err)
		}
		if l := n.Machine().Limits(); l != c.Spec().Limits {
			t.Errorf("%s: limits left: %+v", n.Name(), l)
		}
		if shifted, err := underFaketime(n.PID()); err != nil || shifted != "" {
			t.Errorf("%s: clock left: %q, %v", n.Name(), shifted, err)
		}
	}
}

// Each fault with the words of its proof and of its healing. What shapes and links cut is in
// TestPartitions and TestPairs.
var real = []struct{ fault, proof, healing string }{
	{"kill primary at 0s for 300ms", "refuses connections", "serves again"},
	{"stop n2 at 0s for 300ms", "gone", "serves again"},
	{"restart n2 or n3 at 0s", "gone", "serves again"},
	{"switchover at 0s", "is the primary in place of n", "all nodes are in step"},
	{"replace primary at 0s for 300ms", "were removed", "with all data again after"},
	{"rolling-restart cluster at 0s", "in step after", "port 27017 answers"},
	{"pause all at 0s for 300ms", "stopped", "go on"},
	{"isolate primary at 0s for 3s", "packets dropped", "port 27017 answers"},
	{"isolate=clients n3 at 0s for 300ms", "dropped", "port 27017 answers"},
	{"partition halves at 0s for 2s", "packets dropped", "the rule is gone"},
	{"partition n1,n2 at 0s for 2s", "n2: does not connect with it; n3: connects with both sides", "the rule is gone"},
	{"partition primary>secondary at 0s for 2s", ": connects with both sides", "the rule is gone"},
	{"flaky=20% any at 0s for 2s", "dropped", "the rule is gone"},
	{"loss=50% n1,n2 at 0s for 2s", "dropped", "the rule is gone"},
	{"delay=30ms primary at 0s for 1s", "came 30ms later", "the rule is gone"},
	{"delay=30ms n1>n2 at 0s for 2s", "came 30ms later", "the rule is gone"},
	{"slowcpu=0.01 n2 at 0s for 3s", "throttled the server", "the limit is gone"},
	{"slowdisk=1MiB all at 0s for 300ms", "holds the limit of 1MiB a second", "the limit is gone"},
	{"clock=+60s n3 at 0s for 300ms", "FAKETIME=+60", "clock right"},
	{"grow cluster at 0s for 300ms", "4 members, among them", "was removed"},
	{"backup n2 at 0s", "backup 1 has ", "kept until the run has ended"},
	{"remove primary at 0s for 300ms", "2 members, not", "3 members, among them"},
}

func TestEachFaultIsProvenAndHealed(t *testing.T) {
	t.Parallel()
	c := startCluster(t, quickMongo)
	expect.NoError(t, c.NoNetwork())
	for _, about := range real {
		t.Run(about.fault, func(t *testing.T) {
			faults := parse(t, about.fault)
			expect.NoError(t, Validate(t.Context(), faults, Servers(c)))
			kept := &recording{}
			done, err := Run(t.Context(), Servers(c), faults, patientPlan(), kept)
			if err != nil || len(done) != 1 {
				t.Fatalf("%+v, %v", done, err)
			}
			i := done[0]
			t.Logf("%+v", i)
			if !i.Proven || !strings.Contains(i.Proof, about.proof) || !i.Healed || !strings.Contains(i.Healing, about.healing) {
				t.Errorf("proven %v: %s\nhealed %v: %s", i.Proven, i.Proof, i.Healed, i.Healing)
			}
			if i.Skipped || i.Problem != "" || !i.HealedAt.After(i.InjectedAt) || i.InjectedAt.Before(i.Due) {
				t.Errorf("%+v", i)
			}
			if len(kept.injected) != 1 || len(kept.healed) != 1 || !kept.healed[0].HealedAt.Equal(i.HealedAt) {
				t.Errorf("the recorder was told %+v and %+v", kept.injected, kept.healed)
			}
			if i.Fault.Action == "kill" && (i.NewPrimary == "" || !slices.Contains(i.Nodes, i.Primary)) {
				t.Errorf("the primary %s was killed, and the next one is %q", i.Primary, i.NewPrimary)
			}
			checkWhole(t, c)
		})
	}
}

// TestTheEndInTheMiddleHeals ends the run during each kind of fault, and during its beginning. Of
// the faults that act by the same means there is one.
func TestTheEndInTheMiddleHeals(t *testing.T) {
	t.Parallel()
	c := startCluster(t, quickMongo)
	for _, text := range []string{
		"kill primary at 0s for 1h", "pause all at 0s for 1h", "switchover at 0s", "replace primary at 0s for 1h", "rolling-restart cluster at 0s", "isolate primary at 0s for 1h",
		"slowcpu=0.01 n2 at 0s for 1h", "slowdisk=1MiB all at 0s for 1h", "clock=+60s n3 at 0s for 1h", "grow cluster at 0s for 1h", "backup n2 at 0s", "remove primary at 0s for 1h",
	} {
		f := parse(t, text)
		t.Run(text, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			kept := &recording{onInjected: func(Injection) { time.AfterFunc(200*time.Millisecond, cancel) }}
			done, err := Run(ctx, Servers(c), f, patientPlan(), kept)
			if err != nil || len(done) != 1 || len(kept.healed) != 1 {
				t.Fatalf("%+v, %v; healing told %d times", done, err, len(kept.healed))
			}
			if i := done[0]; !i.Healed || i.HealedAt.IsZero() || i.Skipped || i.Problem != "" {
				t.Errorf("%+v", i)
			}
			checkWhole(t, c)
		})
	}
}

// TestManagedFaultsOnWhoLeads: managers, proxies and poolers can be lost.
func TestManagedFaultsOnWhoLeads(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "patroni:2,ttl=8s,loop_wait=2s,retry_timeout=3s,proxy=haproxy")
	expect.NoError(t, c.NoNetwork())
	for _, about := range []struct{ fault, nodes, proof string }{
		{"kill dcs1 at 0s for 1s", "dcs1", "gone"},
		{"pause all dcs at 0s for 1s", "dcs1, dcs2, dcs3", "stopped"},
		{"isolate dcs2 at 0s for 1s", "dcs2", "packets dropped"},
		{"partition primary,all dcs at 0s for 6s", "n1, dcs1, dcs2, dcs3", "does not connect with it"},
		{"kill proxy at 0s for 1s", "proxy", "gone"},
		{"kill primary at 0s for 1s", "", "descendants are gone"},
	} {
		t.Run(about.fault, func(t *testing.T) {
			expect.NoError(t, Validate(t.Context(), parse(t, about.fault), Servers(c)))
			i := happen(t, c, about.fault)[0]
			if !i.Proven || !strings.Contains(i.Proof, about.proof) || !i.Healed || i.Problem != "" || about.nodes != "" && joined(i.Nodes) != about.nodes && i.Primary == "n1" {
				t.Errorf("%+v", i)
			}
			checkWhole(t, c)
		})
	}
	for text, want := range map[string]string{
		"clock=+60s n1": "kernel", "backup=copy primary": "by copy", "restore=1s": "archive=on", "isolate proxy": "a process of this machine",
	} {
		var unavailable *UnavailableError
		if err := Validate(t.Context(), parse(t, text), Servers(c)); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var wrong *TargetError
	if err := Validate(t.Context(), parse(t, "kill monitor"), Servers(c)); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "pg-auto-failover") {
		t.Errorf("a monitor: %v", err)
	}
	if i := happen(t, c, "rolling-restart at 0s")[0]; !i.Proven || i.Problem != "" {
		t.Errorf("%+v", i)
	}
	checkWhole(t, c)
}

// TestManyFaultsOnOneCluster: faults overlap. The later ones wait for what the first has done, since
// a slow machine takes its time over that. What ends the longest may not come: the test is patient,
// and no more.
func TestManyFaultsOnOneCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t, quickMongo)
	faults := parse(t, "kill all at 0s for 4s", "flaky=5% all at 0s for 8s", "slowdisk=8MiB all at 0s for ever",
		"pause n1 when n1 leaves", "isolate primary when n1 rejoins for 4s", "kill any when n1 rejoins after 1s for 1s")
	ctx, end := context.WithCancel(expect.Patiently(t))
	defer end()
	kept := &recording{onHealed: func(i Injection) {
		if i.Fault.Target == TargetAny { // the last one: what acts longer is healed then
			end()
		}
	}}
	done, err := Run(ctx, Servers(c), faults, patientPlan(), kept)
	if err != nil || len(done) != len(faults) {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, i := range done {
		if paused := i.Fault.Action == "pause"; i.Skipped != paused || !paused && !(i.Proven && i.Healed) {
			t.Errorf("%+v", i)
		}
		if i.Fault.Target == TargetAll && i.Fault.Action == "kill" && i.NewPrimary == "" {
			t.Errorf("no primary after all were killed: %+v", i)
		}
	}
	checkWhole(t, c)
}

func TestAServerThatCannotBeStartedAgain(t *testing.T) {
	t.Parallel()
	c := startCluster(t, quickMongo)
	victim := c.Node("n2")
	folder := homeOf(t, victim)
	kept := &recording{onInjected: func(i Injection) {
		if i.Fault.Target == "n2" {
			// A file in the place of the journal's folder.
			if err := os.RemoveAll(filepath.Join(folder, "journal")); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "journal"), []byte("x"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}}
	done, err := Run(t.Context(), Servers(c), parse(t, "kill n2 at 0s for 1s", "pause n1 at 0s for 2s"), Plan{HealWithin: 30 * time.Second}, kept)
	if err == nil || len(done) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if i := done[0]; i.Healed || !i.HealedAt.IsZero() || !i.Proven || !strings.Contains(i.Problem, "start it again") || !strings.Contains(i.Problem, "log") {
		t.Errorf("%+v", i)
	}
	if i := done[1]; !i.Healed || !i.Proven || i.Problem != "" {
		t.Errorf("%+v", i)
	}
}

func homeOf(t *testing.T, n *cluster.Node) string {
	t.Helper()
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", n.PID()))
	expect.NoError(t, err)
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if home, is := strings.CutPrefix(variable, "HOME="); is {
			return home
		}
	}
	t.Fatal("no HOME")
	return ""
}

func TestValidateOnLoopback(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mongodb:1,network=loopback")
	for text, want := range map[string]any{
		"kill primary":                   nil,
		"pause all":                      nil,
		"slowcpu=0.5 any":                nil,
		"clock any":                      nil,
		"kill n2":                        new(*TargetError),
		"kill pooler":                    new(*TargetError),
		"kill 2 dcs":                     new(*TargetError),
		"isolate monitor1":               new(*TargetError),
		"rolling-restart":                nil,
		"rolling-restart set.net.port=1": new(*cluster.SpecError), // assay's own
		"rolling-restart set.journalCommitInterval=1": new(*cluster.SpecError), // what is judged
		"kill secondary":     new(*TargetError),
		"switchover":         new(*UnavailableError), // no other node
		"partition halves":   new(*TargetError),
		"isolate any":        new(*UnavailableError),
		"flaky=1% primary":   new(*UnavailableError),
		"isolate=clients n1": new(*UnavailableError),
		"power-cut all":      new(*UnavailableError), // no disk of its own
	} {
		err := Validate(t.Context(), parse(t, text), Servers(c))
		if want == nil && err != nil || want != nil && !errors.As(err, want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	var unsupported *machine.UnsupportedError
	if err := Validate(t.Context(), parse(t, "isolate n1", "kill n9"), Servers(c)); !errors.As(err, &unsupported) || !strings.Contains(err.Error(), "no node n9") {
		t.Errorf("%v", err)
	}
	if l := c.Node("n1").Machine().Limits(); l != (machine.Limits{}) {
		t.Errorf("Validate left limits: %+v", l)
	}
	done := happen(t, c, "slowcpu=0.01 primary at 0s for 2s", "kill primary at 0s for 100ms")
	if !done[0].Healed || !done[1].Proven || !done[1].Healed || done[1].NewPrimary != "n1" {
		t.Errorf("%+v", done)
	}
	checkWhole(t, c)
}

// Only the fault's healing starts a server again that ends under the fault.
func TestAServerThatEndsUnderAFaultIsStartedAgain(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "postgres:2")
	mustBeUnavailable(t, c, "replace n2", "gets no data from the others")
	mustBeUnavailable(t, c, "switchover", "postgres has no command for it")
	for _, text := range []string{"pause primary at 0s for 4s", "isolate primary at 0s for 4s"} {
		killed := make(chan error, 1)
		time.AfterFunc(2*time.Second, func() { killed <- c.Node("n1").Kill() })
		if i := happen(t, c, text)[0]; !i.Proven || !i.Healed || !strings.Contains(i.Healing, "had ended meanwhile, and serves again") || i.NewPrimary != "n1" {
			t.Errorf("%+v", i)
		}
		expect.NoError(t, <-killed)
		checkWhole(t, c)
	}
	// Another fault's dead server is that fault's to start.
	done := happen(t, c, "slowdisk n2 at 0s for 4s", "kill n2 at 3s for 4s")
	if !strings.Contains(done[0].Healing, "down for another fault") || !done[0].Proven || !done[1].Healed {
		t.Errorf("%+v", done)
	}
	checkWhole(t, c)
}
