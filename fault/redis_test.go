package fault

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestPrimariesOfRedisCluster: a primary other than the one with the mark's slot is silent, and its
// replica replaces it.
func TestPrimariesOfRedisCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "redis-cluster:6,appendfsync=everysec,failover=2s")
	all, err := c.Primaries(t.Context())
	expect.NoError(t, err)
	before := names(all)
	name := before[1]
	i := happen(t, c, "pause "+name+" at 0s for 8s")[0]
	if !i.Proven || !i.Healed || i.Primary != name || i.NewPrimary == "" || slices.Contains(before, i.NewPrimary) {
		t.Errorf("%s: %+v, want its replica in its place", name, i)
	}
	checkWhole(t, c)
}

// TestASilentSentinelIsNoEndOfThePrimary: the others answer for it.
func TestASilentSentinelIsNoEndOfThePrimary(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "redis:3")
	expect.NoError(t, c.NoNetwork())
	primary, err := c.Primary(t.Context())
	expect.NoError(t, err)
	plan := patientPlan()
	plan.Duration = 6 * time.Second
	done, err := Run(t.Context(), Servers(c), parse(t, "isolate secondary at 1s for 3s", "pause "+primary.Name()+" when no primary"), plan, &recording{})
	if err != nil || len(done) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if !done[0].Proven || !done[0].Healed || !done[1].Skipped || !strings.Contains(done[1].Problem, "never came") {
		t.Errorf("%+v", done)
	}
	checkWhole(t, c)
}
