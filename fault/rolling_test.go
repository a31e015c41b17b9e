package fault

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/cluster"
	"assay/internal/expect"
)

func runOne(t *testing.T, c *cluster.Cluster, text string) (Injection, error) {
	t.Helper()
	faults := parse(t, text)
	expect.NoError(t, Validate(t.Context(), faults, Servers(c)))
	done, err := Run(t.Context(), Servers(c), faults, patientPlan(), &recording{})
	if len(done) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	t.Logf("%+v", done[0])
	return done[0], err
}

func wantParameter(t *testing.T, c *cluster.Cluster, name, want string) {
	t.Helper()
	for _, n := range c.Nodes() {
		if got, err := n.Parameter(t.Context(), name); err != nil || got != want {
			t.Errorf("%s says that %s is %q, %v; want %q", n.Name(), name, got, err, want)
		}
	}
}

// TestRollingRestart of a primary and its standbys under writes: the primary is last and stays
// primary, and the parameter changes.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "postgres:3,set.work_mem=4MB")
	keepWriting(t, c)
	before := map[string]int{}
	for _, n := range c.Nodes() {
		before[n.Name()] = n.PID()
	}
	i, err := runOne(t, c, "rolling-restart set.work_mem=5MB at 0s")
	if err != nil || !i.Proven || !i.Healed || i.Problem != "" || !slices.Equal(i.Nodes, []string{"n1", "n2", "n3"}) {
		t.Fatalf("%+v, %v", i, err)
	}
	turns := strings.Split(i.Proof, "; ")
	if len(turns) != 3 || !strings.HasPrefix(turns[2], i.Primary+": ") || strings.Count(i.Proof, "work_mem is 5MB and was 4MB") != 3 {
		t.Errorf("the primary %s is not the last: %s", i.Primary, i.Proof)
	}
	if !i.PrimaryStayed || i.NewPrimary != "" {
		t.Errorf("%+v", i)
	}
	for _, n := range c.Nodes() {
		if n.PID() == before[n.Name()] {
			t.Errorf("%s is the same process", n.Name())
		}
	}
	wantParameter(t, c, "work_mem", "5MB")
	checkWhole(t, c)
	t.Run("a value that is refused", func(t *testing.T) {
		i, err := runOne(t, c, "rolling-restart set.work_mem=lots at 0s")
		if err == nil || i.Proven || !i.Healed || !strings.Contains(i.Problem, `invalid value for parameter "work_mem"`) || !strings.Contains(i.Proof, "1 of 3 nodes had their turn") {
			t.Errorf("%+v, %v", i, err)
		}
		wantParameter(t, c, "work_mem", "5MB")
		checkWhole(t, c)
	})
	t.Run("a value that changes nothing", func(t *testing.T) {
		i, err := runOne(t, c, "rolling-restart set.work_mem=5120kB at 0s")
		if err != nil || i.Proven || !i.Healed || !strings.Contains(i.Proof, "work_mem is 5MB and was 5MB") {
			t.Errorf("%+v, %v", i, err)
		}
		checkWhole(t, c)
	})
}

// TestRollingRestartOfAReplicaSet: the primary hands over before it is stopped.
func TestRollingRestartOfAReplicaSet(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "mongodb:2+arbiter,election=2s,shutdown=100ms")
	i, err := runOne(t, c, "rolling-restart set.storage.wiredTiger.collectionConfig.blockCompressor=zstd at 0s")
	if err != nil || !i.Proven || !i.Healed || i.Problem != "" || i.NewPrimary == "" || i.NewPrimary == i.Primary || i.PrimaryStayed {
		t.Fatalf("%+v, %v", i, err)
	}
	if turns := strings.Split(i.Proof, "; "); len(turns) != 3 || !strings.HasPrefix(turns[2], i.Primary+": ") {
		t.Errorf("the primary %s is not the last: %s", i.Primary, i.Proof)
	}
	wantParameter(t, c, "storage.wiredTiger.collectionConfig.blockCompressor", "zstd")
	checkWhole(t, c)
}

// TestParametersOfOtherServersChange, where there is no primary.
func TestParametersOfOtherServersChange(t *testing.T) {
	for spec, about := range map[string][3]string{
		"mariadb:2":               {"set.max-connections=150", "max_connections", "150"},
		"cassandra:1,heap=512MiB": {"set.concurrent_writes=17", "concurrent_writes", "17"},
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, spec)
			i, err := runOne(t, c, "rolling-restart "+about[0]+" at 0s")
			if err != nil || !i.Proven || !i.Healed || i.Problem != "" {
				t.Fatalf("%+v, %v", i, err)
			}
			wantParameter(t, c, about[1], about[2])
			if !strings.HasPrefix(spec, "mariadb") {
				return
			}
			i, err = runOne(t, c, "rolling-restart set.max-connections=1 at 0s")
			if err == nil || i.Proven || !i.Healed || !strings.Contains(i.Problem, "adjusted to 10") {
				t.Errorf("%+v, %v", i, err)
			}
			wantParameter(t, c, about[1], about[2])
		})
	}
}

// TestRollingUpgrade replaces each node's programs, and refuses a version with other files.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "postgres:1,version=12.2")
	i, err := runOne(t, c, "rolling-upgrade=12.22 at 0s")
	expect.NoError(t, err)
	if !i.Proven || !i.Healed || !strings.Contains(i.Proof, "12.22") {
		t.Errorf("%+v", i)
	}
	for text, want := range map[string]string{"rolling-upgrade=15.4": "takes the same files: 12.22", "rolling-upgrade=12.2": "takes the same files: 12.22"} {
		if err := Validate(t.Context(), parse(t, text), Servers(c)); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
