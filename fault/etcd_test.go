package fault

import (
	"errors"
	"strings"
	"testing"
)

// TestLeaderOfEtcd: the raft leader is lost in each way, another takes its place, and it
// comes back. What only has the library of a shifted clock loaded is refused.
func TestLeaderOfEtcd(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "etcd:3")
	var refused *UnavailableError
	if err := Validate(t.Context(), parse(t, "clock any"), Servers(c)); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "program of Go's") {
		t.Errorf("clock: %v", err)
	}
	faults := []string{"kill primary at 0s for 4s", "stop primary at 0s for 4s", "pause primary at 0s for 4s"}
	if c.NoNetwork() == nil {
		faults = append(faults, "isolate primary at 0s for 4s", "partition one at 0s for 4s")
	}
	for _, text := range faults {
		done, err := Run(t.Context(), Servers(c), parse(t, text), Plan{}, &recording{})
		if err != nil || len(done) != 1 || !done[0].Proven || !done[0].Healed {
			t.Fatalf("%s: %+v, %v", text, done, err)
		}
		if err := c.Settled(t.Context()); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if strings.Contains(text, "primary") && (done[0].NewPrimary == "" || len(done[0].Nodes) == 1 && done[0].NewPrimary == done[0].Nodes[0]) {
			t.Errorf("%s: %+v, want another leader", text, done[0])
		}
	}
	checkWhole(t, c)
}
