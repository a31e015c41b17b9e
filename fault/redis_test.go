package fault

import (
	"slices"
	"testing"

	"assay/internal/expect"
)

// TestPrimariesOfRedisCluster: one of three that have slots is silent, also where it is not the one with the slot
// of assay's mark, and its replica takes its place.
func TestPrimariesOfRedisCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "redis-cluster:6,appendfsync=everysec,failover=2s")
	all, err := c.Primaries(t.Context())
	expect.NoError(t, err)
	before := names(all)
	for _, name := range before[1:] {
		done, err := Run(t.Context(), Servers(c), parse(t, "pause "+name+" at 0s for 8s"), Plan{}, &recording{})
		if err != nil || len(done) != 1 || !done[0].Proven || !done[0].Healed {
			t.Fatalf("%s: %+v, %v", name, done, err)
		}
		if i := done[0]; i.Primary != name || i.NewPrimary == "" || slices.Contains(before, i.NewPrimary) {
			t.Errorf("%s: %+v, want its replica in its place", name, i)
		}
		expect.NoError(t, c.Settled(t.Context()))
	}
	checkWhole(t, c)
}
