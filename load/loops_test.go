package load

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"assay/history"
	"assay/internal/eventloop"
	"assay/internal/expect"
)

// caller is a client that has what it sends come back.
type caller struct {
	conn   net.Conn
	closed bool
}

func (c *caller) Attempt(ctx context.Context, seq uint64, attempt int) Answer {
	eventloop.Attach(ctx, c.conn)
	defer eventloop.Detach(c.conn)
	_, err := c.conn.Write([]byte{byte(seq)})
	got := make([]byte, 1)
	if err == nil {
		_, err = io.ReadFull(c.conn, got)
	}
	switch {
	case err != nil || got[0] != byte(seq):
		return Answer{Class: "other error"}
	case seq%7 == 3 && attempt == 1:
		return Answer{Outcome: history.Failed}
	case seq%11 == 3:
		return Answer{Outcome: history.Failed, Disconnected: true}
	}
	return Answer{Outcome: history.Committed, Rest: time.Duration(seq%2) * time.Millisecond}
}

func (c *caller) Close() { c.closed = c.conn.Close() == nil }

// TestClientsTakeTurns has clients wait for answers, pause and try again, with a loop and
// with a goroutine each.
func TestClientsTakeTurns(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer listener.Close()
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	for _, sequential := range []bool{true, false} {
		p := plan(func(p *Plan) { p.Clients, p.Ops, p.Retry, p.Sequential = 20, 600, RetryFailed, sequential })
		p.MaxAttempts, p.Timeout = 2, time.Minute
		var clients []Client
		for range p.Clients {
			conn, err := net.Dial("tcp", listener.Addr().String())
			expect.NoError(t, err)
			clients = append(clients, &caller{conn: eventloop.Wrap(conn)})
		}
		rec, start := &tape{}, time.Now()
		stats, err := Run(t.Context(), p, clients, rec, func() int64 { return int64(time.Since(start)) })
		expect.NoError(t, err)
		ended := uint64(0)
		for _, op := range rec.ops {
			if op.Last {
				ended++
			}
			if want := op.Seq%11 != 3 && (op.Seq%7 != 3 || op.Attempt == 2); (op.Outcome == history.Committed) != want || op.Outcome == history.Unknown {
				t.Errorf("sequential %v: %+v", sequential, op)
			}
		}
		for i, c := range clients {
			if !c.(*caller).closed {
				t.Errorf("client %d was not closed", i)
			}
		}
		if ended != p.Ops || stats.Hung != 0 || stats.Cut {
			t.Errorf("sequential %v: %d operations, %+v", sequential, ended, stats)
		}
	}
}
