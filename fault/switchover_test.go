package fault

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestSwitchoverAndReplace: each product's own command makes another primary, and the old one
// follows; an emptied node gets all data from the others. MongoDB is in
// TestEachFaultIsProvenAndHealed.
func TestSwitchoverAndReplace(t *testing.T) {
	for spec, faults := range map[string][]string{
		"mongodb:3,election=2s": {"replace primary"},
		"patroni:2,ttl=8s,loop_wait=1s,retry_timeout=3s,proxy=haproxy": {"switchover", "replace secondary", "replace primary"},
		"etcd:3":              {"switchover", "replace secondary", "replace primary"},
		"redis:3,failover=1s": {"switchover", "replace secondary", "replace primary"},
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

// TestClustersThatCannotReplace say why before anything starts.
func TestClustersThatCannotReplace(t *testing.T) {
	for spec, want := range map[string]string{"postgres:2": "gets no data from the others", "mariadb:2,replication=async": "gets no data from the others", "redis-cluster:6": "by ids"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			var unavailable *UnavailableError
			err := Validate(t.Context(), parse(t, "replace n2 at 1s"), Servers(startCluster(t, spec)))
			if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestClustersThatCannotSwitchOver say why before anything starts.
func TestClustersThatCannotSwitchOver(t *testing.T) {
	for spec, want := range map[string]string{"postgres:2": "postgres has no command for it", "redis:1": "no other node", "mongodb:1": "no other node", "repmgr:2": "by ssh between the nodes"} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			var unavailable *UnavailableError
			err := Validate(t.Context(), parse(t, "switchover at 1s"), Servers(startCluster(t, spec)))
			if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
	expect.Text(t, "what its targets are", switchover().On(), "primary")
}
