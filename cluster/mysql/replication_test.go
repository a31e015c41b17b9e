package mysql

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/cluster/binlog"
	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

// quickGroup expels silent members as soon as it can.
func quickGroup(t *testing.T) (*Cluster, *servertest.Probe) {
	t.Helper()
	expel := time.Duration(0)
	m := expect.Started(t, Start, Options{Layout: server.Layout{Nodes: 3, LogDir: t.TempDir()}, CacheSize: 32 << 20, Expel: &expel, Announce: func(text string) { t.Log(text) }})
	return m, servertest.NewProbe(t, m, 3)
}

func TestOnMySQLAGroupGoesThroughFaults(t *testing.T) {
	m, p := quickGroup(t)
	if n := strings.Count(m.Address(), ","); n != 2 || servertest.Leader(t, m) != 0 {
		t.Errorf("address %s, primary %d", m.Address(), servertest.Leader(t, m))
	}
	p.Write(1)
	p.MustHold("1")
	for i := range 3 {
		if got, want := p.Value(i, "SELECT @@global.super_read_only"), fmt.Sprint(min(i, 1)); got != want {
			t.Errorf("node %d: super_read_only is %s, want %s", i, got, want)
		}
	}

	expect.NoError(t, m.Node(0).Kill())
	p.Write(2)
	second := servertest.Leader(t, m)
	if second == 0 {
		t.Error("the killed node takes writes")
	}
	p.MustHold("1,2")
	p.MustRestart(0)
	p.MustHold("1,2")

	expect.NoError(t, m.Node(second).Pause())
	p.Write(3)
	expect.NoError(t, m.Node(second).Resume())
	p.MustHold("1,2,3")

	third := servertest.Leader(t, m)
	expect.NoError(t, m.Node(third).Stop(expect.Patiently(t)))
	p.Write(4)
	p.MustHold("1,2,3,4")
	p.MustRestart(third)
	p.MustHold("1,2,3,4")
}

func TestOnMySQLAGroupWithoutAMajority(t *testing.T) {
	m, p := quickGroup(t)
	p.Write(1)

	// Two of three are killed, so there is no majority. When both are back the group begins anew.
	lost := []int{0, 1}
	for _, i := range lost {
		expect.NoError(t, m.Node(i).Kill())
	}
	for _, i := range lost { // the first cannot get a majority yet
		p.MustRestart(i)
	}
	p.Write(2)
	p.MustHold("1,2")

	// All are killed, one after the other, and start at the same time.
	for i := range 3 {
		expect.NoError(t, m.Node(i).Kill())
	}
	p.RestartAtOnce()
	p.Write(3)
	p.MustHold("1,2,3")
}

func TestOnMySQLReplicasGoThroughFaults(t *testing.T) {
	for name, how := range map[string]Replication{"semisync": Semisync, "async": Asynchronous} {
		t.Run(name, func(t *testing.T) {
			s := expect.Started(t, StartSet, Options{Layout: server.Layout{Nodes: 3, LogDir: t.TempDir()}, CacheSize: 32 << 20, Replication: how})
			servertest.NewProbe(t, s, 3).ReplicasGoThroughFaults("super_read_only", binlog.Silence)
		})
	}
}
