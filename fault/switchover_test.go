package fault

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/cluster"
	"assay/internal/expect"
)

// TestSwitchoverAndReplace: each product's own command makes another primary, and the old one
// follows; an emptied node, and first the primary, gets all data from the others. MongoDB is in
// TestEachFaultIsProvenAndHealed.
func TestSwitchoverAndReplace(t *testing.T) {
	for spec, faults := range map[string][]string{
		"patroni:2,ttl=8s,loop_wait=1s,retry_timeout=3s,proxy=haproxy": {"switchover", "replace primary"},
		"etcd:3":              {"switchover", "replace primary"},
		"redis:3,failover=1s": {"switchover", "replace primary"},
		"mariadb:3":           {"replace n2"},
	} {
		happensOn(t, spec, faults...)
	}
}

func TestManagedSwitchoverAndReplace(t *testing.T) {
	happensOn(t, "pg-auto-failover:2", "switchover", "replace secondary", "replace primary")
	happensOn(t, "patroni:3,synchronous_mode=strict", "switchover")
	happensOn(t, "repmgr:2,reconnect_attempts=3,reconnect_interval=1s", "replace secondary", "replace primary")
}

func TestOnMySQLSwitchoverAndReplace(t *testing.T) {
	happensOn(t, "mysql:3", "switchover", "replace secondary", "replace primary")
}

func happensOn(t *testing.T, spec string, faults ...string) {
	t.Helper()
	t.Run(spec, func(t *testing.T) {
		t.Parallel()
		c := startCluster(t, spec)
		for _, text := range faults {
			at := " at 0s for 1s"
			if text == "switchover" {
				at = " at 0s"
			}
			i, err := runOne(t, c, text+at)
			switch {
			case err != nil || !i.Proven || !i.Healed || i.Problem != "":
				t.Errorf("%s: %+v, %v", text, i, err)
			case text == "switchover" && (i.NewPrimary == "" || i.NewPrimary == i.Primary || !slices.Equal(i.Nodes, []string{i.Primary})):
				t.Errorf("another primary: %+v", i)
			case text != "switchover" && (!strings.Contains(i.Proof, "were removed") || !strings.Contains(i.Healing, "with all data again after")):
				t.Errorf("%s: %+v", text, i)
			}
			checkWhole(t, c)
		}
	})
}

// mustBeUnavailable: it is said why before anything starts.
func mustBeUnavailable(t *testing.T, c *cluster.Cluster, fault, want string) {
	t.Helper()
	var unavailable *UnavailableError
	if err := Validate(t.Context(), parse(t, fault+" at 1s"), Servers(c)); !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", fault, err, want)
	}
}

// TestAsynchronousReplicasAreNotReplaced. Other clusters that lack the means are in the tests that
// start them.
func TestAsynchronousReplicasAreNotReplaced(t *testing.T) {
	t.Parallel()
	mustBeUnavailable(t, startCluster(t, "mariadb:2,replication=async"), "replace n2", "gets no data from the others")
	expect.Text(t, "what its targets are", switchover().On(), "primary")
}

func TestManagedByRepmgrWithoutSwitchover(t *testing.T) {
	mustBeUnavailable(t, startCluster(t, "repmgr:2"), "switchover", "by ssh between the nodes")
}
