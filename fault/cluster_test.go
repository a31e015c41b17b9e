package fault

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/cluster"
)

// recording keeps what a Recorder is told.
type recording struct {
	mu               sync.Mutex
	injected, healed []Injection
	onInjected       func(Injection)
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
	defer r.mu.Unlock()
	r.healed = append(r.healed, i)
}

func startCluster(t *testing.T, text string) *cluster.Cluster {
	t.Helper()
	spec, err := cluster.ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start(t.Context(), spec, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func parse(t *testing.T, texts ...string) []Fault {
	t.Helper()
	var all []Fault
	for _, text := range texts {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

// checkWhole fails the test unless all nodes run, undisturbed and in step.
func checkWhole(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := c.Settled(ctx); err != nil {
		t.Fatalf("not in step: %v", err)
	}
	for _, n := range c.Nodes() {
		halted, err := n.Halted()
		if err != nil || halted || !n.Running() {
			t.Errorf("%s: runs %v, halted %v, %v", n.Name(), n.Running(), halted, err)
		}
		if _, err := answers(ctx, n); err != nil {
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

// each fault, and what its proof and its healing say.
var real = []struct{ fault, proof, healing string }{
	{"kill primary at 0s for 300ms", "refuses connections", "serves again"},
	{"stop n2 at 0s for 300ms", "gone", "serves again"},
	{"restart secondary at 0s", "gone", "serves again"},
	{"pause all at 0s for 300ms", "stopped", "go on"},
	{"isolate primary at 0s for 3s", "packets dropped", "port 27017 answers"},
	{"isolate=clients n3 at 0s for 300ms", "dropped", "port 27017 answers"},
	{"partition halves at 0s for 2s", "packets dropped", "the rule is gone"},
	{"partition one at 0s for 4s", "packets dropped", "the rule is gone"},
	{"partition oneway at 0s for 2s", "packets dropped", "the rule is gone"},
	{"flaky=20% any at 0s for 2s", "dropped", "the rule is gone"},
	{"slowcpu=0.01 n2 at 0s for 3s", "throttled the server", "the limit is gone"},
	{"slowdisk=1MiB all at 0s for 300ms", "holds the limit of 1MiB a second", "the limit is gone"},
	{"clock=+60s n3 at 0s for 300ms", "FAKETIME=+60", "clock right"},
}

func TestEachFaultIsProvenAndHealed(t *testing.T) {
	c := startCluster(t, "mongodb:3,election=2s")
	if err := c.NoNetwork(); err != nil {
		t.Fatal(err)
	}
	for _, about := range real {
		t.Run(about.fault, func(t *testing.T) {
			faults := parse(t, about.fault)
			if err := Validate(t.Context(), faults, c); err != nil {
				t.Fatal(err)
			}
			kept := &recording{}
			done, err := Run(t.Context(), c, faults, Plan{Seed: 7}, kept)
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
			if i.Fault.Action == Kill && (i.NewPrimary == "" || !slices.Contains(i.Nodes, i.Primary)) {
				t.Errorf("the primary %s was killed, and the next one is %q", i.Primary, i.NewPrimary)
			}
			checkWhole(t, c)
		})
	}
}
