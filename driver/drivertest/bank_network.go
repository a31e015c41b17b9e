package drivertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"assay/workload"
	"assay/workload/bank"
)

// RunNetwork tests what a transfer is said to have ended as when the connection
// or the server breaks. It needs OpenVia, Server and CommitMarker, and takes
// Restart. Its subtests run one after the other on one schema.
func RunNetwork(t *testing.T, h Bank) {
	h.Open = func(t *testing.T) bank.Store {
		t.Helper()
		store, err := h.OpenVia(t, h.Server)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return store
	}
	for _, s := range []struct {
		name string
		run  func(n *network[bank.Store])
	}{
		{"CutBeforeSending", (*network[bank.Store]).testCutBeforeSending},
		{"CutBeforeCommit", func(n *network[bank.Store]) { n.testCutAtCommit(false) }},
		{"CutAfterCommit", func(n *network[bank.Store]) { n.testCutAtCommit(true) }},
		{"Frozen", func(n *network[bank.Store]) { n.testSilent((*Proxy).Freeze) }},
		{"AnswersSwallowed", func(n *network[bank.Store]) { n.testSilent((*Proxy).Swallow) }},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(bankNetwork(t, h, 1000, 1000)) })
	}
	t.Run("CutAtAnyTime", func(t *testing.T) { bankNetwork(t, h, 100_000, 100_000, 100_000, 100_000).testCutAtAnyTime() })
	t.Run("Unreachable", func(t *testing.T) { testUnreachable(t, h) })
	t.Run("ServerSaysNothing", func(t *testing.T) {
		proxy := NewProxy(t, h.Server)
		proxy.Freeze()
		mustNotReach(t, h, proxy.Addr())
	})
	if h.Restart != nil {
		t.Run("Restart", func(t *testing.T) { testRestart(t, h) })
	}
}

// bankNetwork has accounts of these balances.
func bankNetwork(t *testing.T, h Bank, balances ...int64) *network[bank.Store] {
	t.Helper()
	f := newBank(t, h)
	f.loaded(balances...)
	return newNetwork(f.fixture, network[bank.Store]{
		open: f.mover(int64(len(balances))),
		there: func(id any) bool {
			_, there := f.snapshot().Entry(id.(int64))
			return there
		},
		check: f.check,
	})
}

// mover is a client that transfers between accounts 1 to accounts.
type mover struct {
	*bankClient
	accounts int64
}

func (f *bankFixture) mover(accounts int64) func(store bank.Store, number int) writer {
	return func(store bank.Store, number int) writer { return mover{f.client(store, number), accounts} }
}

func (m mover) write(ctx context.Context) (id any, reply workload.Reply) {
	source, step := (int64(m.number)+int64(m.seq))%m.accounts, 1+int64(m.seq)%(m.accounts-1)
	tr := m.next(1+source, 1+(source+step)%m.accounts, 1+step)
	return tr.ID, m.do(ctx, tr).Reply
}

// testUnreachable uses a port that nobody listens on.
func testUnreachable(t *testing.T, h Bank) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	listener.Close()
	mustNotReach(t, h, addr)
}

// mustNotReach wants opening or the first use to end by the driver's own time
// limit: the context given lasts far longer.
func mustNotReach(t *testing.T, h Bank, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		store, err := h.OpenVia(t, addr)
		if err == nil {
			_, err = store.Find(ctx)
			if closing := store.Close(); closing != nil {
				err = fmt.Errorf("close: %w, after %w", closing, err)
			}
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		var unreachable *workload.UnreachableError
		if !errors.As(err, &unreachable) || ctx.Err() != nil {
			t.Errorf("first use: %v; want *workload.UnreachableError", err)
		}
	case <-ctx.Done():
		t.Error("opening and first use did not end by the driver's connect timeout")
	}
}

// testRestart kills the server while eight clients work.
func testRestart(t *testing.T, h Bank) {
	f := newBank(t, h)
	f.loaded(100_000, 100_000, 100_000, 100_000)
	movers := workers(f.openVia(h.Server), 8, f.mover(4))
	for range 2 {
		disturbed(f.ctx, t, movers, 40, func() { h.Restart(t) })
	}
	f.check()
}
