package postgres

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// userTimeout bounds in milliseconds how long sent data may stay unacknowledged (tcp(7),
// TCP_USER_TIMEOUT).
func userTimeout(milliseconds int) func(network, address string, c syscall.RawConn) error {
	return func(network, _ string, c syscall.RawConn) error {
		if network == "unix" {
			return nil
		}
		var set error
		err := c.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, milliseconds)
		})
		if err != nil {
			return err
		}
		return set
	}
}
