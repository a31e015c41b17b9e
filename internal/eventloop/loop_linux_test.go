package eventloop

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"assay/internal/expect"
)

// echo is a server that gives each connection to serve.
func echo(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

// all sends back what comes.
func all(of net.Conn) { _, _ = io.Copy(of, of) }

func dial(t *testing.T, address string) *conn {
	t.Helper()
	raw, err := net.Dial("tcp", address)
	expect.NoError(t, err)
	c := Wrap(raw).(*conn)
	t.Cleanup(func() { _ = c.Close() }) // some tests close it
	return c
}

// exchange sends a number and wants it back.
func exchange(ctx context.Context, c *conn, n uint64) error {
	Attach(ctx, c)
	defer Detach(c)
	sent := binary.BigEndian.AppendUint64(nil, n)
	if _, err := c.Write(sent); err != nil {
		return err
	}
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return errors.New("something else came back")
	}
	return nil
}

func exchanges(t *testing.T, ctx context.Context, c *conn, times uint64) {
	for n := range times {
		if err := exchange(ctx, c, n); err != nil {
			t.Errorf("exchange %d: %v", n, err)
			return
		}
	}
}

// work has the callers work in one loop, and waits until it has ended.
func work(t *testing.T, callers ...func(ctx context.Context)) {
	t.Helper()
	l, err := New()
	expect.NoError(t, err)
	var ended atomic.Int32
	for _, f := range callers {
		l.Go(t.Context(), func(ctx context.Context) {
			f(ctx)
			ended.Add(1)
		})
	}
	l.Release()
	<-l.ended
	if int(ended.Load()) != len(callers) {
		t.Errorf("%d of %d callers have ended", ended.Load(), len(callers))
	}
}

// others are callers that make exchanges until the returned group is done.
func others(t *testing.T, address string, n int, times uint64) (callers []func(context.Context), done *sync.WaitGroup) {
	t.Helper()
	done = new(sync.WaitGroup)
	for range n {
		c := dial(t, address)
		done.Add(1)
		callers = append(callers, func(ctx context.Context) {
			defer done.Done()
			exchanges(t, ctx, c, times)
		})
	}
	return callers, done
}

func TestCallersTakeTurns(t *testing.T) {
	address := echo(t, all)
	callers, done := others(t, address, 32, 200)
	mixed := dial(t, address) // also outside of the loop
	exchanges(t, t.Context(), mixed, 3)
	callers = append(callers, func(ctx context.Context) {
		for range 20 {
			exchanges(t, ctx, mixed, 3)
			if mixed.fd < 0 {
				t.Error("the connection is not in the loop")
			}
			exchanges(t, context.Background(), mixed, 3)
			if mixed.fd >= 0 {
				t.Error("the connection is still in the loop")
			}
		}
	})
	work(t, callers...)
	done.Wait()
	exchanges(t, t.Context(), mixed, 3)
	for range 2 { // in another loop
		work(t, func(ctx context.Context) { exchanges(t, ctx, mixed, 3) })
	}
	work(t)
}

// TestSilence has a server that says nothing until the others are done, and the caller's
// patience ends: by a deadline that is set meanwhile, by one that was over before, by closing.
func TestSilence(t *testing.T) {
	silent := echo(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	for name, c := range map[string]struct {
		end  func(*conn) error
		want error
	}{
		"deadline": {func(c *conn) error { return c.SetDeadline(time.Unix(1, 0)) }, os.ErrDeadlineExceeded},
		"closed":   {(*conn).Close, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			hangs := dial(t, silent)
			callers, done := others(t, echo(t, all), 8, 100)
			go func() {
				done.Wait()
				if err := c.end(hangs); err != nil {
					t.Error(err)
				}
			}()
			work(t, append(callers, func(ctx context.Context) {
				if err := exchange(ctx, hangs, 1); !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				if err := exchange(ctx, hangs, 1); !errors.Is(err, c.want) {
					t.Errorf("and again: %v, want %v", err, c.want)
				}
			})...)
		})
	}
}

// TestDeadlineIsTakenBack: the connection can be used again.
func TestDeadlineIsTakenBack(t *testing.T) {
	c := dial(t, echo(t, all))
	work(t, func(ctx context.Context) {
		exchanges(t, ctx, c, 1)
		expect.NoError(t, c.SetDeadline(time.Unix(1, 0)))
		if err := exchange(ctx, c, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		expect.NoError(t, c.SetDeadline(time.Time{}))
		exchanges(t, ctx, c, 1)
		expect.NoError(t, c.SetDeadline(time.Unix(1, 0))) // it holds outside too
		if err := exchange(context.Background(), c, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestServerEnds: in order, and not.
func TestServerEnds(t *testing.T) {
	for name, c := range map[string]struct {
		linger int
		want   error
	}{"closed": {-1, io.EOF}, "reset": {0, syscall.ECONNRESET}} {
		t.Run(name, func(t *testing.T) {
			address := echo(t, func(conn net.Conn) {
				got := make([]byte, 8)
				_, _ = io.ReadFull(conn, got)
				_, _ = conn.Write(got)
				_, _ = io.ReadFull(conn, got)
				_ = conn.(*net.TCPConn).SetLinger(c.linger)
			})
			callers, _ := others(t, echo(t, all), 4, 100)
			ends := dial(t, address)
			work(t, append(callers, func(ctx context.Context) {
				exchanges(t, ctx, ends, 1)
				if err := exchange(ctx, ends, 1); !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})...)
		})
	}
}

// TestCallerThatBlocks waits for the others within the loop, and outside of it.
func TestCallerThatBlocks(t *testing.T) {
	for name, before := range map[string]func(context.Context){"in the loop": func(context.Context) {}, "after leaving": Leave} {
		t.Run(name, func(t *testing.T) {
			address := echo(t, all)
			blocks, blocked := dial(t, address), make(chan struct{})
			callers, done := others(t, address, 4, 50)
			for i, f := range callers {
				callers[i] = func(ctx context.Context) {
					Leave(ctx)
					<-blocked
					f(ctx)
				}
			}
			work(t, append(callers, func(ctx context.Context) {
				for range 3 {
					exchanges(t, ctx, blocks, 5)
				}
				before(ctx)
				close(blocked)
				done.Wait()
				exchanges(t, ctx, blocks, 5)
			})...)
		})
	}
}

// TestServerThatDoesNotRead: what does not fit into the socket's buffer is sent when it does,
// and the others go on.
func TestServerThatDoesNotRead(t *testing.T) {
	const size = 64 << 20
	read, came := make(chan struct{}), make(chan int64, 1)
	address := echo(t, func(conn net.Conn) {
		<-read
		n, _ := io.Copy(io.Discard, io.LimitReader(conn, size))
		came <- n
		_, _ = conn.Write([]byte("x"))
	})
	callers, done := others(t, echo(t, all), 4, 100)
	go func() {
		done.Wait()
		close(read)
	}()
	c := dial(t, address)
	work(t, append(callers, func(ctx context.Context) {
		Attach(ctx, c)
		defer Detach(c)
		n, err := c.Write(make([]byte, size))
		if err != nil || n != size {
			t.Errorf("%d bytes were written, %v", n, err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	})...)
	if n := <-came; n != size {
		t.Errorf("%d bytes came", n)
	}
}

// TestTwoCallersOfAConnection has one read what the other writes, which is more than fits into the
// socket's buffer.
func TestTwoCallersOfAConnection(t *testing.T) {
	sent := bytes.Repeat([]byte("what is sent comes back"), 1<<20)
	callers, _ := others(t, echo(t, all), 4, 100)
	c, attached := dial(t, echo(t, all)), make(chan struct{})
	work(t, append(callers, func(ctx context.Context) {
		Attach(ctx, c)
		close(attached)
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("something else came back: %v", err)
		}
	}, func(ctx context.Context) {
		Leave(ctx)
		<-attached
		for rest := sent; len(rest) > 0; {
			n, err := Write(ctx, c, rest[:min(len(rest), 300_000)])
			if rest = rest[n:]; err != nil {
				t.Errorf("after %d bytes: %v", len(sent)-len(rest), err)
				return
			}
		}
	})...)
}

// TestNobodyReads has a server send while nobody waits for it.
func TestNobodyReads(t *testing.T) {
	more, sent := make(chan struct{}), make(chan struct{})
	address := echo(t, func(conn net.Conn) {
		got := make([]byte, 8)
		_, _ = io.ReadFull(conn, got)
		_, _ = conn.Write(got)
		<-more
		_, _ = conn.Write(bytes.Repeat([]byte("x"), 5))
		close(sent)
		_, _ = io.Copy(conn, conn)
	})
	callers, done := others(t, echo(t, all), 4, 100)
	c := dial(t, address)
	for i, f := range callers {
		callers[i] = func(ctx context.Context) {
			Leave(ctx)
			<-sent
			f(ctx)
		}
	}
	work(t, append(callers, func(ctx context.Context) {
		exchanges(t, ctx, c, 1)
		Leave(ctx)
		close(more)
		done.Wait()
		Attach(ctx, c)
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "xxxxx" {
			t.Errorf("%q, %v", got, err)
		}
		Detach(c)
		exchanges(t, ctx, c, 3)
	})...)
}

// TestLateArrival has a loop told of a connection that another loop has by now: that one's task stays
// where it is.
func TestLateArrival(t *testing.T) {
	before, now := new(Loop), new(Loop)
	waits := &task{loop: now}
	c := &conn{loop: now, waiting: waits}
	if before.stir(c); len(before.ready) > 0 || c.waiting != waits {
		t.Errorf("the loop before has %d tasks", len(before.ready))
	}
	if now.stir(c); len(now.ready) != 1 || c.waiting != nil {
		t.Errorf("the connection's loop has %d tasks", len(now.ready))
	}
}

// TestNothingIsLeftOpen counts the descriptors of this process.
func TestNothingIsLeftOpen(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		expect.NoError(t, err)
		return len(entries)
	}
	address := echo(t, all)
	exchanges(t, t.Context(), dial(t, address), 1)
	before := count()
	for range 3 {
		c := dial(t, address)
		work(t, func(ctx context.Context) {
			exchanges(t, ctx, c, 2)
			exchanges(t, context.Background(), c, 1)
			exchanges(t, ctx, c, 1)
			expect.NoError(t, c.Close())
		})
	}
	for count() > before && t.Context().Err() == nil { // the server closes its side
		time.Sleep(time.Millisecond)
	}
}

// TestLookAtTheSocket has libraries see, as they do before they use a connection again, whether
// the server has closed one that a loop has.
func TestLookAtTheSocket(t *testing.T) {
	once := func(of net.Conn) { _, _ = io.CopyN(of, of, 8) } // and hangs up
	c := dial(t, echo(t, once))
	look := func() (n int, seen, err error) {
		raw, err := c.SyscallConn()
		if err != nil {
			return 0, nil, err
		}
		err = raw.Read(func(fd uintptr) bool {
			n, _, seen = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			return true
		})
		return n, seen, err
	}
	work(t, func(ctx context.Context) {
		if _, seen, err := look(); !errors.Is(seen, syscall.EAGAIN) || err != nil {
			t.Errorf("before it is in the loop: %v, %v; want nothing to be there", seen, err)
		}
		exchanges(t, ctx, c, 1)
		if c.fd < 0 {
			t.Error("it is not in the loop")
		}
		Leave(ctx)
		for {
			n, seen, err := look()
			if err != nil || n != 0 || seen != nil && !errors.Is(seen, syscall.EAGAIN) {
				t.Errorf("in the loop: %d bytes, %v, %v", n, seen, err)
				return
			}
			if seen == nil {
				break // the end
			}
			time.Sleep(time.Millisecond)
		}
		raw, err := c.SyscallConn()
		if err != nil {
			t.Error(err)
			return
		}
		for name, call := range map[string]func(func(uintptr) bool) error{"read": raw.Read, "write": raw.Write} {
			if err := call(func(uintptr) bool { return false }); !errors.Is(err, syscall.EAGAIN) {
				t.Errorf("%s, to be called again: %v, want EAGAIN", name, err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := raw.Control(func(uintptr) { t.Error("called") }); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		if _, _, err := look(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// TestAlone has an only caller wait outside of any loop: for what comes soon, for what comes late,
// and until its context has ended, after which its connection can be used again.
func TestAlone(t *testing.T) {
	pause := make(chan struct{}, 2)
	c := dial(t, echo(t, func(of net.Conn) {
		got := make([]byte, 8)
		for {
			if _, err := io.ReadFull(of, got); err != nil {
				return
			}
			<-pause
			_, _ = of.Write(got)
		}
	}))
	x := NewExchange(c)
	x.Alone = func() bool { return true }
	got := make([]byte, 8)
	work := func(ctx context.Context) error {
		x.Begin(ctx, true)
		defer x.End()
		if _, err := c.Write(got); err != nil {
			return err
		}
		_, err := io.ReadFull(c, got)
		return err
	}
	pause <- struct{}{}
	expect.NoError(t, work(t.Context()))
	time.AfterFunc(5*socketWaitMillis*time.Millisecond, func() { pause <- struct{}{} })
	expect.NoError(t, work(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*socketWaitMillis*time.Millisecond, cancel)
	if err := work(ctx); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	pause <- struct{}{}
	_, err := io.ReadFull(c, got)
	expect.NoError(t, err)
	if c.lone {
		t.Error("it is still alone after the exchange")
	}
}

// TestReadInTheBackground has a goroutine of its own read while an exchange outside of the loop
// begins and ends, as pgx does once a large write takes long: the exchange touches nothing that
// the goroutine uses.
func TestReadInTheBackground(t *testing.T) {
	c := dial(t, echo(t, all))
	x := NewExchange(c)
	x.Alone = func() bool { return true }
	came := make(chan error)
	go func() {
		_, err := io.ReadFull(c, make([]byte, 1))
		came <- err
	}()
	x.Begin(t.Context(), false)
	x.End()
	_, err := c.Write([]byte{1})
	expect.NoError(t, err)
	expect.NoError(t, <-came)
}
