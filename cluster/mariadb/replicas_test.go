package mariadb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/cluster/binlog"
	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

func TestReplicasGoThroughFaults(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]Replication{"semisync": Semisync, "async": Asynchronous} {
		t.Run(name, func(t *testing.T) {
			set := expect.Started(t, StartSet, Options{Layout: server.Layout{Nodes: 3, LogDir: t.TempDir()}, CacheSize: 32 << 20, Replication: how})
			if n := strings.Count(set.Address(), ","); n != 2 {
				t.Errorf("address %s", set.Address())
			}
			p := servertest.NewProbe(t, set, 3)
			p.ReplicasGoThroughFaults("read_only", binlog.Silence)
			for i := range 3 {
				expect.NoError(t, set.Node(i).Kill())
			}
			p.RestartAtOnce()
			p.Write(6)
			p.MustHold("1,2,3,4,5,6")
		})
	}
}

func TestReplicasThatCannotStartSayWhy(t *testing.T) {
	dir := folderOfTest("replicas")
	servertest.SaysWhy(expect.Patiently(t), t, dir, StartSet, map[string]servertest.Wrong[Options]{
		"setting": {Options: Options{Layout: server.Layout{Dir: dir, Nodes: 2}, Replication: Asynchronous, Settings: []string{"nonsense=1"}}, Says: "unknown variable 'nonsense=1'"},
		"galera":  {Options: Options{Layout: server.Layout{Dir: dir, Nodes: 2}}, Says: "Galera"},
	})
	// Making three databases takes longer.
	servertest.GivenUp(t, dir, 100*time.Millisecond, StartSet, Options{Layout: server.Layout{Dir: dir, Nodes: 3}, Replication: Asynchronous})
}

func TestReplicasLeaveNothing(t *testing.T) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-test-%d-left", os.Getpid()))
	s, err := StartSet(expect.Patiently(t), Options{Layout: server.Layout{Dir: dir, Nodes: 2}, Replication: Semisync})
	expect.NoError(t, err)
	servertest.Closed(t, s, []*server.Node{s.Node(0), s.Node(1)}, dir, "")
	for _, line := range servertest.CommandLines(t) {
		if strings.Contains(line, dir) {
			t.Errorf("still there: %s", line)
		}
	}
}
