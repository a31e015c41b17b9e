//go:build !linux

package eventloop

import (
	"context"
	"errors"
	"net"
)

// Loop is for Linux.
type Loop struct{}

// New fails.
func New() (*Loop, error) { return nil, errors.ErrUnsupported }

// Go is not called.
func (*Loop) Go(context.Context, func(context.Context)) {}

// Release is not called.
func (*Loop) Release() {}

// Leave does nothing.
func Leave(context.Context) {}

// Wrap returns the connection unchanged.
func Wrap(of net.Conn) net.Conn { return of }

// Attach does nothing.
func Attach(context.Context, net.Conn) {}

// Write writes.
func Write(_ context.Context, to net.Conn, p []byte) (int, error) { return to.Write(p) }

// Detach does nothing.
func Detach(net.Conn) {}

func setLone(net.Conn, bool) {}
