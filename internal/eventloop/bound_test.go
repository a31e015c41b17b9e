package eventloop

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
)

// TestBound has contexts end an exchange while it waits, between two of them and before, and
// exchanges after these go on as if nothing had been.
func TestBound(t *testing.T) {
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	b := NewBound(here)
	b.End() // of nothing
	exchange := func() {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		b.Begin(ctx)
		go func() { _, _ = there.Write([]byte{1}) }()
		if _, err := here.Read(make([]byte, 1)); err != nil || b.Err() != nil || !b.Begun() {
			t.Errorf("%v, %v, begun %v", err, b.Err(), b.Begun())
		}
		b.End()
		cancel() // too late
		if b.Begun() {
			t.Error("it goes on after its end")
		}
	}
	exchange()
	ctx, cancel := context.WithCancel(t.Context())
	b.Begin(ctx)
	waiting := make(chan error)
	go func() {
		_, err := here.Read(make([]byte, 1))
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, os.ErrDeadlineExceeded) || !errors.Is(b.Err(), context.Canceled) {
		t.Errorf("cancelled: %v, %v", err, b.Err())
	}
	b.End()
	exchange()
	b.Begin(ctx) // which is over
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a context that is over: %v", err)
	}
	b.End()
	exchange()
}
