package wiretest

import (
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"assay/internal/expect"
)

// Silent is an address whose packets are dropped, as an isolated machine's are: the queue of those who
// want to connect is full, and nobody accepts them. It ends with the test.
func Silent(t *testing.T) string {
	t.Helper()
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	expect.NoError(t, err)
	expect.AtEnd(t, func() error { return syscall.Close(listener) })
	expect.NoError(t, syscall.Bind(listener, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(listener, 0))
	bound, err := syscall.Getsockname(listener)
	expect.NoError(t, err)
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(bound.(*syscall.SockaddrInet4).Port))
	failed := 0
	for range 100 {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		switch {
		case err == nil:
			failed = 0
			expect.AtEnd(t, conn.Close)
		case failed == 1: // one alone may have come late on a busy machine
			return address
		default:
			failed++
		}
	}
	t.Fatal("a queue without room takes a hundred connections")
	return ""
}
