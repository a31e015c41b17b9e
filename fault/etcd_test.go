package fault

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestEtcdHandsOverOnSlowDisks: it answers only when another leads, for which most disks must sync.
func TestEtcdHandsOverOnSlowDisks(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "etcd:3,disk=faulty")
	slow := "slow-fsync=700ms all at 0s for 15s"
	done, err := Run(t.Context(), Servers(c), parse(t, slow, "switchover at 2s"), patientPlan(), &recording{})
	if err != nil || len(done) != 2 || !done[1].Proven || done[1].NewPrimary == "" || done[1].NewPrimary == done[1].Primary {
		t.Errorf("%+v, %v", done, err)
	}
	checkWhole(t, c)
}

// TestLeaderOfEtcd: each way to lose the raft leader brings another, and it comes back. A shifted
// clock is refused.
func TestLeaderOfEtcd(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "etcd:3")
	var refused *UnavailableError
	if err := Validate(t.Context(), parse(t, "clock any"), Servers(c)); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "program of Go's") {
		t.Errorf("clock: %v", err)
	}
	faults := []string{"kill primary at 0s for 4s", "pause primary at 0s for 4s"}
	if c.NoNetwork() == nil {
		faults = append(faults, "isolate primary at 0s for 4s")
	}
	for _, text := range faults {
		i := happen(t, c, text)[0]
		if !i.Proven || !i.Healed {
			t.Fatalf("%s: %+v", text, i)
		}
		expect.NoError(t, c.Settled(t.Context()))
		if i.NewPrimary == "" || i.NewPrimary == i.Nodes[0] {
			t.Errorf("%s: %+v, want another leader", text, i)
		}
	}
	checkWhole(t, c)
}
