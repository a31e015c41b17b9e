package repmgr

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"assay/cluster/machine"
	"assay/cluster/server"
	"assay/cluster/streaming"
	"assay/cluster/streaming/streamingtest"
	"assay/internal/expect"
)

func startSet(t *testing.T, o Options) *Set {
	t.Helper()
	o.ReconnectAttempts, o.ReconnectInterval = 2, time.Second
	if o.Consensus { // a standby calls a primary visible that another has seen within four seconds
		o.ReconnectAttempts, o.ReconnectInterval = 4, 2*time.Second
	}
	return expect.Started(t, Start, o)
}

func TestRepmgrGoesThroughItsLife(t *testing.T) {
	streamingtest.Run(t, startSet(t, Options{Placement: streamingtest.Archived(t, streaming.Placement{Nodes: 2})}), false)
}

func TestManagedLifeOfSynchronousRepmgr(t *testing.T) {
	streamingtest.Run(t, startSet(t, Options{Placement: streamingtest.Archived(t, streaming.Placement{Nodes: 3}), Synchronous: true, Consensus: true}), false)
}

// TestManagedTwoPrimaries: a silent primary does not give way, and Settled says so. With fencing it
// has ended.
func TestManagedTwoPrimaries(t *testing.T) {
	for i, fencing := range []bool{false, true} {
		t.Run(fmt.Sprintf("fencing %v", fencing), func(t *testing.T) {
			machines, err := machine.Open(machine.Options{ID: fmt.Sprintf("%07x%d", os.Getpid(), i), Names: []string{"n1", "n2", "n3"}, Dir: t.TempDir()})
			expect.NoError(t, err)
			expect.AtEnd(t, machines.Close)
			s := startSet(t, Options{Placement: streaming.Placement{Machines: machines.All()}, Fencing: fencing})
			cut, err := machines.All()[0].Drop(machine.Rule{Direction: machine.Both, Share: 1})
			expect.NoError(t, err)
			streamingtest.OtherPrimary(t, s, 0)
			if fencing {
				expect.NoError(t, server.Until(expect.Patiently(t), time.Second, "the end of the old primary", func(context.Context) error {
					if s.Node(0).Running() {
						return errors.New("it runs")
					}
					return nil
				}))
				if p := s.Node(0).Process(); !p.Fenced() {
					t.Errorf("the end of the old primary is not taken for the fence's: %s", p.How())
				}
				expect.NoError(t, cut.Remove(), s.Restart(expect.Patiently(t), 0), s.Settled(expect.Patiently(t)))
				return
			}
			expect.NoError(t, cut.Remove())
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := s.Settled(ctx); !errors.Is(err, server.ErrOwnWrites) || !strings.Contains(err.Error(), "n1 takes writes of its own") {
				t.Errorf("settled: %v", err)
			}
			// The third may have the old primary's last writes and then follows neither.
			expect.NoError(t, s.Restart(expect.Patiently(t), 0))
		})
	}
}

func TestRepmgrThatCannotStart(t *testing.T) {
	s, err := Start(expect.Patiently(t), Options{Placement: streaming.Placement{Nodes: 2}, Settings: []string{"shared_buffers=nonsense"}})
	if err == nil || !strings.Contains(err.Error(), "shared_buffers") {
		t.Errorf("%v, %v", s, err)
	}
}
