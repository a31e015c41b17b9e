package patroni

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"assay/cluster/etcd"
	"assay/cluster/server"
	"assay/cluster/streaming"
	"assay/cluster/streaming/streamingtest"
	"assay/internal/expect"
)

func startStores(t *testing.T, nodes int) *etcd.Cluster {
	t.Helper()
	return expect.Started(t, etcd.Start, etcd.Options{Layout: server.Layout{Nodes: nodes}})
}

func startSet(t *testing.T, stores *etcd.Cluster, o Options) *Set {
	t.Helper()
	o.TTL, o.LoopWait, o.RetryTimeout = 8*time.Second, 2*time.Second, 3*time.Second
	for _, n := range stores.Nodes() {
		o.Stores = append(o.Stores, n.Address())
	}
	return expect.Started(t, Start, o)
}

func TestPatroniGoesThroughItsLife(t *testing.T) {
	goThroughLife(t, Options{Placement: streaming.Placement{Nodes: 2}})
}

func TestManagedLifeOfSynchronousPatroni(t *testing.T) {
	goThroughLife(t, Options{Placement: streaming.Placement{Nodes: 3}, Synchronous: true})
}

func goThroughLife(t *testing.T, o Options) {
	t.Helper()
	o.Placement = streamingtest.Archived(t, o.Placement)
	s := startSet(t, startStores(t, 1), o)
	if primary, err := s.Primary(expect.Patiently(t)); err != nil || primary != 0 {
		t.Errorf("the first primary is node %d, %v", primary, err)
	}
	streamingtest.Run(t, s, true)
}

// TestManagedPatroniWithoutItsStore: no node takes writes, and the same one does once the store is
// back; with failsafe_mode it goes on.
func TestManagedPatroniWithoutItsStore(t *testing.T) {
	for name, failsafe := range map[string]bool{"plain": false, "failsafe": true} {
		t.Run(name, func(t *testing.T) {
			stores := startStores(t, 3)
			s := startSet(t, stores, Options{Placement: streaming.Placement{Nodes: 2}, Failsafe: failsafe})
			for _, n := range stores.Nodes()[1:] {
				expect.NoError(t, n.Kill())
			}
			if failsafe {
				time.Sleep(12 * time.Second) // longer than the key lasts
				if _, ok := s.Leader(expect.Patiently(t)); !ok {
					t.Error("nobody takes writes")
				}
			} else {
				expect.NoError(t, server.Until(expect.Patiently(t), 100*time.Millisecond, "the end of writes", func(ctx context.Context) error {
					if _, ok := s.Leader(ctx); ok {
						return errors.New("somebody takes writes")
					}
					return nil
				}))
			}
			expect.NoError(t, stores.Restart(expect.Patiently(t), 1), s.Settled(expect.Patiently(t)))
		})
	}
}

func TestPatroniThatCannotStart(t *testing.T) {
	stores := startStores(t, 1)
	s, err := Start(expect.Patiently(t), Options{Placement: streaming.Placement{Nodes: 1}, Stores: []string{stores.Node(0).Address()}, Settings: []string{"shared_buffers=nonsense"}})
	if err == nil || !strings.Contains(err.Error(), "shared_buffers") {
		t.Errorf("%v, %v", s, err)
	}
}

// TestConfiguration leaves to Patroni what the options leave open.
func TestConfiguration(t *testing.T) {
	if got := (Options{}).dynamic(nil); len(got) != 1 {
		t.Errorf("beside PostgreSQL's there are %v", got)
	}
	got := Options{Strict: true, MaximumLag: 5, TTL: 20 * time.Second}.dynamic(map[string]string{"work_mem": "16MB"})
	if got["synchronous_mode"] != true || got["synchronous_mode_strict"] != true || got["ttl"] != 20 || got["maximum_lag_on_failover"] != int64(5) || got["failsafe_mode"] != nil {
		t.Errorf("%v", got)
	}
}
