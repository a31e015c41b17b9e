package fault

import (
	"slices"
	"testing"

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
