package mongodb

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
	"golang.org/x/sys/unix"

	"assay/internal/expect"
)

// TestSocketsOfOnePort has connections to two servers come from one port, as Linux gives it to
// connections whose other ends differ: each has its own socket.
func TestSocketsOfOnePort(t *testing.T) {
	var servers [2]string
	for i := range servers {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		expect.NoError(t, err)
		expect.AtEnd(t, listener.Close)
		servers[i] = listener.Addr().String()
	}
	dialer := &net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) })
		if failed != nil {
			return failed
		}
		return err
	}}
	s := newSockets(dialer)
	var local string
	for connected := false; !connected; {
		dialer.LocalAddr = nil
		first, err := s.DialContext(t.Context(), "tcp", servers[0])
		expect.NoError(t, err)
		dialer.LocalAddr, local = first.LocalAddr(), first.LocalAddr().String()
		second, err := s.DialContext(t.Context(), "tcp", servers[1])
		if errors.Is(err, syscall.EADDRINUSE) { // somebody else has the port, too
			expect.NoError(t, first.Close())
			continue
		}
		expect.NoError(t, err)
		expect.AtEnd(t, first.Close)
		expect.AtEnd(t, second.Close)
		connected = true
	}
	for _, server := range servers {
		if got := s.name(server, ends{server, local}); got == nil || got.RemoteAddr().String() != server {
			t.Errorf("the connection to %s has another socket, or none", server)
		}
	}
	if got := s.of(new(topology.Connection)); got != nil {
		t.Error("a connection that is closed has a socket")
	}
}
