package server

import (
	"context"
	"runtime"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestPortsAreKept: a port without a listener, as after a kill, goes to no other program while it
// is referred to.
func TestPortsAreKept(t *testing.T) {
	ports := new(Ports)
	port, err := ports.Next()
	expect.NoError(t, err)
	if err := bindable(port); err != nil {
		t.Fatalf("somebody listens on it: %v", err)
	}
	if again, err := reserve(port); err == nil {
		t.Errorf("port %d is given out twice", port)
		expect.NoError(t, again.Close())
	}
	runtime.KeepAlive(ports)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	expect.NoError(t, Until(ctx, 10*time.Millisecond, "the port's release", func(context.Context) error {
		runtime.GC()
		free, err := reserve(port)
		if err == nil {
			err = free.Close()
		}
		return err
	}))
}
