package fault

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestSwitchover: each product has another primary by its own command, which is told, and the old
// one follows it.
func TestSwitchover(t *testing.T) {
	switchOver(t, "etcd:3", "redis:3,failover=1s", "patroni:2,ttl=8s,loop_wait=1s,retry_timeout=3s,proxy=haproxy")
}

func TestManagedSwitchover(t *testing.T) {
	switchOver(t, "pg-auto-failover:2", "patroni:3,synchronous_mode=strict")
}

func TestOnMySQLSwitchover(t *testing.T) { switchOver(t, "mysql:3") }

func switchOver(t *testing.T, specs ...string) {
	t.Helper()
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, spec)
			i, err := runOne(t, c, "switchover at 0s")
			if err != nil || !i.Proven || !i.Healed || i.Problem != "" || i.NewPrimary == "" || i.NewPrimary == i.Primary || !slices.Equal(i.Nodes, []string{i.Primary}) {
				t.Errorf("%+v, %v", i, err)
			}
			checkWhole(t, c)
		})
	}
}

// TestClustersThatCannotSwitchOver say why before anything starts to be tried.
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
