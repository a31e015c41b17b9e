package mariadb

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"assay/cluster/server"
	"assay/cluster/servertest"
	"assay/internal/expect"
)

func TestGaleraGoesThroughFaults(t *testing.T) {
	t.Parallel()
	m := expect.Started(t, Start, shortly(Options{Layout: server.Layout{Nodes: 3}}))
	if n := strings.Count(m.Address(), ","); n != 2 {
		t.Errorf("address %s", m.Address())
	}
	if _, err := m.Primary(expect.Patiently(t)); !errors.As(err, new(*server.NoPrimaryError)) {
		t.Errorf("Primary: %v", err)
	}
	p := servertest.NewProbe(t, m, 3)
	for i := range m.Nodes() {
		p.Insert(i, 1+i)
	}
	p.MustHold("1,2,3")
	for _, name := range []string{"evs.suspect_timeout = PT2S", "evs.inactive_timeout = PT4S", "evs.install_timeout = PT4S"} {
		expect.Text(t, "the options", p.Value(0, "SELECT @@wsrep_provider_options"), name)
	}

	// A killed node gets what it missed from the others.
	expect.NoError(t, m.Node(0).Kill())
	p.Insert(1, 4)
	p.MustHold("1,2,3,4")
	p.MustRestart(0)
	p.Insert(0, 5)
	p.MustHold("1,2,3,4,5")

	// A paused node is excluded, and comes back by itself.
	expect.NoError(t, m.Node(2).Pause())
	p.Insert(0, 6)
	expect.NoError(t, m.Node(2).Resume())
	p.MustHold("1,2,3,4,5,6")

	expect.NoError(t, m.Node(1).Stop(expect.Patiently(t)))
	p.Insert(2, 7)
	p.MustHold("1,2,3,4,5,6,7")
	p.MustRestart(1)
	p.MustHold("1,2,3,4,5,6,7")

	for i := range 2 {
		expect.NoError(t, m.Node(i).Kill())
		if i == 0 {
			p.Insert(2, 8)
			p.Insert(1, 9)
		}
	}
	expect.NoError(t, m.Node(2).Kill())
	for i := range m.Nodes() {
		p.MustRestart(i)
	}
	p.MustHold("1,2,3,4,5,6,7,8,9")
	mustLeaveNothing(t, m)
}

// TestGaleraStartsAllAtOnce kills all nodes, one of which lacks data, and starts them at the same
// time.
func TestGaleraStartsAllAtOnce(t *testing.T) {
	t.Parallel()
	m := expect.Started(t, Start, shortly(Options{Layout: server.Layout{Nodes: 3}, CacheSize: 32 << 20}))
	p := servertest.NewProbe(t, m, 3)
	expect.NoError(t, m.Node(0).Kill())
	p.Insert(2, 1)
	expect.NoError(t, errors.Join(m.Node(1).Kill(), m.Node(2).Kill()))
	p.RestartAtOnce()
	p.MustHold("1")
	mustLeaveNothing(t, m)
}

// TestGaleraCloseDuringACopy closes while scripts and rsync copy everything to a node.
func TestGaleraCloseDuringACopy(t *testing.T) {
	m := expect.Started(t, Start, shortly(Options{Layout: server.Layout{Nodes: 2}}))
	expect.NoError(t, m.Node(1).Stop(expect.Patiently(t)))
	expect.NoError(t, m.nodes.At(1).forget())
	ended := make(chan error, 1)
	go func() { ended <- m.Restart(context.Background(), 1) }()
	copying := func(context.Context) error {
		for _, line := range servertest.CommandLines(t) {
			if strings.Contains(line, "rsync") && strings.Contains(line, m.options.Dir) {
				return nil
			}
		}
		return errors.New("there is no rsync")
	}
	expect.NoError(t, server.Until(expect.Patiently(t), 5*time.Millisecond, "a copy", copying))
	mustLeaveNothing(t, m)
	if err := <-ended; err == nil {
		t.Error("the node was started all the same")
	}
}

// TestGaleraWaitsForNodesThatAFaultHolds: a node that comes back first waits for one with more
// recent data, and starts it never. A node that nobody needs is not waited for.
func TestGaleraWaitsForNodesThatAFaultHolds(t *testing.T) {
	t.Parallel()
	m := expect.Started(t, Start, shortly(Options{Layout: server.Layout{Nodes: 3}, CacheSize: 32 << 20}))
	p := servertest.NewProbe(t, m, 3)
	expect.NoError(t, m.Node(0).Kill())
	p.Insert(1, 1)
	expect.NoError(t, m.Settled(expect.Patiently(t)), m.Node(1).Kill(), m.Node(2).Kill())
	m.Node(1).Held.Store(true)
	m.Node(2).Held.Store(true)
	if err := m.Restart(expect.Within(t, 10*time.Second), 0); err == nil || m.Node(1).Running() || m.Node(2).Running() {
		t.Errorf("n2 runs: %v, n3: %v; %v", m.Node(1).Running(), m.Node(2).Running(), err)
	}
	m.Node(0).Held.Store(true)
	m.Node(1).Held.Store(false)
	p.MustRestart(1) // which has all that n3 has
	if m.Node(0).Running() || m.Node(2).Running() {
		t.Errorf("n1 runs: %v, n3: %v", m.Node(0).Running(), m.Node(2).Running())
	}
	p.MustRestart(0)
	p.MustRestart(2)
	p.MustHold("1")
	mustLeaveNothing(t, m)
}
