package hunt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"assay/fault"
	"assay/internal/expect"
)

// TestOverlaps: each pair of kinds is drawn once before one is repeated, and first those that need
// disks of their own.
func TestOverlaps(t *testing.T) {
	for text, first := range map[string]int{"etcd:1,disk=faulty": 1, "patroni:3": 0, "mariadb:3,disk=faulty": 1} {
		s, seen := space(t, text), map[string]bool{}
		pairs := s.pairs(7)
		if len(pairs) < 10 || fmt.Sprint(pairs) == fmt.Sprint(s.pairs(8)) {
			t.Errorf("%s: %v", text, pairs)
		}
		for n := range pairs {
			p := s.Overlap(rand.New(rand.NewPCG(3, uint64(n))), 7, n)
			if _, err := Parse("drawn.yaml", p.Text(), s.Specs...); err != nil || len(p.Faults) != 2 {
				t.Fatalf("%s: %v in\n%s", text, err, p.Text())
			}
			under, err := fault.Parse(p.Faults[0])
			expect.NoError(t, err)
			away, err := fault.Parse(p.Faults[1])
			expect.NoError(t, err)
			if takesAway(under.Action) || under.For < p.Duration*7/10 || !takesAway(away.Action) || away.Every == 0 || away.For > away.Every {
				t.Errorf("%s: %q", text, p.Faults)
			}
			pair := under.Action + " " + away.Action
			if disks := strings.HasSuffix(pair, "power-cut"); seen[pair] || n == 0 && disks != (first > 0) {
				t.Errorf("%s: plan %d has %s", text, n, pair)
			}
			seen[pair] = true
		}
	}
}

// TestUndisturbed: plans without faults have each workload in turn, at the strongest level.
func TestUndisturbed(t *testing.T) {
	s := space(t, "postgres:1")
	for n, want := range []string{"bank", "isolation", "availability", "bank"} {
		p := s.Undisturbed(rand.New(rand.NewPCG(3, uint64(n))), n)
		if p.Workload != want || p.Isolation != "serializable" || len(p.Faults) != 0 || p.Duration != 20*time.Second || p.Clients < 8 {
			t.Errorf("%s", p.Text())
		}
	}
}

// TestSettings: plans have one of the alternatives of the cluster's settings, several in a row the
// same, and a finding is told with its own.
func TestSettings(t *testing.T) {
	s := newState(t)
	g := &fakeGround{t: t, space: space(t, "postgres:2")}
	var err error
	g.space.Specs, err = ParseClusters([]string{"postgres:2,standby=sync", "postgres:2,standby=async", "postgres:2,standby=sync,set.work_mem=8MB", "postgres:2,standby=async,set.work_mem=8MB"})
	expect.NoError(t, err)
	changes, last, seen := 0, "", map[string]bool{}
	g.result = func(p Plan) Trial {
		if p.Cluster != last {
			changes++
		}
		last, seen[p.Cluster] = p.Cluster, true
		return Trial{Result: verdict(len(g.tried) >= 80 && strings.Contains(p.Cluster, "async"))}
	}
	o := g.options(t.TempDir())
	o.ShrinkFor = 0
	expect.NoError(t, Go(t.Context(), s, g, o))
	if len(seen) != 4 || changes > 13 || len(g.tried) < 80 {
		t.Errorf("%d plans, %d changes: %v", len(g.tried), changes, seen)
	}
	if f := s.Findings[0]; !strings.Contains(f.Command, " --cluster '"+f.Plan.Cluster+"' ") {
		t.Errorf("%s of %s", f.Command, f.Plan.Cluster)
	}
	if _, err := Parse("p.yaml", []byte("workload: bank\ncluster: postgres:3\n"), g.space.Specs...); err == nil || !strings.HasPrefix(err.Error(), "p.yaml:2:10: cluster: no --cluster is postgres:3") {
		t.Errorf("another cluster: %v", err)
	}
	for _, others := range [][]string{{"postgres:2", "postgres:3"}, {"postgres:2", "patroni:2"}, {"postgres:2", "postgres:2,memory=1GiB"}, {}} {
		if _, err := ParseClusters(others); err == nil {
			t.Errorf("%q are taken", others)
		}
	}
	if p := (Plan{Workload: "bank", Clients: 1, Duration: 2 * time.Second, Cluster: g.space.Specs[3].String()}); !strings.Contains(fmt.Sprint(g.space.reductions(p)), "{ bank") {
		t.Error("the first settings are not tried")
	}
}
