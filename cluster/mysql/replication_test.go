package mysql

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/cluster/binlog"
	"assay/cluster/server"
	"assay/internal/expect"
)

// quickGroup is a group that leaves a silent member out as soon as it can.
func quickGroup(t *testing.T) (*Cluster, *probe) {
	t.Helper()
	expel := time.Duration(0)
	m, err := Start(timeLimit(t), Options{Layout: server.Layout{Nodes: 3, LogDir: t.TempDir()}, CacheSize: 32 << 20, Expel: &expel, Announce: func(text string) { t.Log(text) }})
	return m, newProbe(t, m, err, 3)
}

func TestOnMySQLAGroupGoesThroughFaults(t *testing.T) {
	m, p := quickGroup(t)
	if n := strings.Count(m.Address(), ","); n != 2 || p.primary() != 0 {
		t.Errorf("address %s, primary %d", m.Address(), p.primary())
	}
	p.insert(1)
	p.mustHold("1")
	for i := range 3 {
		if got, want := p.value(i, "SELECT @@global.super_read_only"), fmt.Sprint(min(i, 1)); got != want {
			t.Errorf("node %d: super_read_only is %s, want %s", i, got, want)
		}
	}

	// A killed primary: the others elect one.
	expect.NoError(t, m.Node(0).Kill())
	p.insert(2)
	second := p.primary()
	if second == 0 {
		t.Error("the killed node takes writes")
	}
	p.mustHold("1,2")
	p.restart(0)
	p.mustHold("1,2")

	// A paused primary is left out, and comes back.
	expect.NoError(t, m.Node(second).Pause())
	p.insert(3)
	expect.NoError(t, m.Node(second).Resume())
	p.mustHold("1,2,3")

	// One that leaves in order.
	third := p.primary()
	expect.NoError(t, m.Node(third).Stop(timeLimit(t)))
	p.insert(4)
	p.mustHold("1,2,3,4")
	p.restart(third)
	p.mustHold("1,2,3,4")
}

func TestOnMySQLAGroupWithoutAMajority(t *testing.T) {
	m, p := quickGroup(t)
	p.insert(1)

	// Two of three are killed: what is left has no majority. When both are there again the
	// group is begun anew.
	lost := []int{0, 1}
	for _, i := range lost {
		expect.NoError(t, m.Node(i).Kill())
	}
	for _, i := range lost { // the first cannot get a majority yet
		p.restart(i)
	}
	p.insert(2)
	p.mustHold("1,2")

	// All of them are killed, one after the other, and start at the same time.
	for i := range 3 {
		expect.NoError(t, m.Node(i).Kill())
	}
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			if err := m.Restart(timeLimit(t), i); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	p.insert(3)
	p.mustHold("1,2,3")
}

func TestOnMySQLReplicasGoThroughFaults(t *testing.T) {
	for name, how := range map[string]Replication{"semisync": Semisync, "async": Asynchronous} {
		t.Run(name, func(t *testing.T) {
			s, err := StartSet(timeLimit(t), Options{Layout: server.Layout{Nodes: 3, LogDir: t.TempDir()}, CacheSize: 32 << 20, Replication: how})
			p := newProbe(t, s, err, 3)
			p.insert(1)
			p.mustHold("1")
			expect.NoError(t, s.Node(2).Kill())
			p.insert(2)
			p.restart(2)
			p.mustHold("1,2")
			expect.NoError(t, s.Node(0).Kill())
			p.restart(1)
			for i := 1; i < 3; i++ {
				if got := p.value(i, "SELECT @@global.super_read_only"); got != "1" {
					t.Errorf("node %d takes writes", i)
				}
			}
			p.restart(0)
			p.insert(3)
			p.mustHold("1,2,3")
			expect.NoError(t, s.Node(0).Pause())
			time.Sleep(binlog.Silence + time.Second)
			expect.NoError(t, s.Node(0).Resume())
			p.insert(4)
			p.mustHold("1,2,3,4")
		})
	}
}
