package eventloop

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
)

// TestExchange has contexts end an exchange while it waits, between two of them and before, and
// exchanges after these go on as if nothing had been.
func TestExchange(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	x := NewExchange(here)
	x.End() // of nothing
	exchange := func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		x.Begin(ctx, true)
		go func() { _, _ = there.Write([]byte{1}) }()
		if _, err := here.Read(make([]byte, 1)); err != nil || x.Err() != nil || !x.Begun() {
			t.Errorf("%v, %v, begun %v", err, x.Err(), x.Begun())
		}
		x.End()
		cancel() // too late
		if x.Begun() {
			t.Error("it goes on after its end")
		}
	}
	exchange()
	ctx, cancel := context.WithCancel(t.Context())
	x.Begin(ctx, true)
	waiting := make(chan error)
	go func() {
		_, err := here.Read(make([]byte, 1))
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(x.Err(), context.Canceled) {
		t.Errorf("cancelled: %v, %v", err, x.Err())
	}
	x.End()
	exchange()
	x.Begin(ctx, true) // which is over
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a context that is over: %v", err)
	}
	x.End()
	exchange()
}
