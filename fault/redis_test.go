package fault

import (
	"errors"
	"slices"
	"testing"

	"assay/internal/expect"
)

// TestPrimariesOfRedisCluster: a primary other than the one with the mark's slot is silent, and its
// replica replaces it.
func TestPrimariesOfRedisCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "redis-cluster:6,appendfsync=everysec,failover=2s")
	mustBeUnavailable(t, c, "replace n2", "by ids")
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

// TestASilentSentinelIsNoEndOfThePrimary: the others answer for it. How long it is waited for is in
// package server.
func TestASilentSentinelIsNoEndOfThePrimary(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "redis:3")
	expect.NoError(t, c.NoNetwork())
	before, err := c.Primary(t.Context())
	expect.NoError(t, err)
	asked := make(chan error, 1)
	kept := &recording{onInjected: func(Injection) {
		now, err := c.Primary(t.Context())
		if err == nil && now != before {
			err = errors.New("it is " + now.Name() + " in place of " + before.Name())
		}
		asked <- err
	}}
	done, err := Run(t.Context(), Servers(c), parse(t, "isolate secondary at 0s for 1s"), patientPlan(), kept)
	if err != nil || len(done) != 1 || !done[0].Proven || !done[0].Healed {
		t.Fatalf("%+v, %v", done, err)
	}
	expect.NoError(t, <-asked)
	checkWhole(t, c)
}
