//go:build !linux

package postgres

import "syscall"

// userTimeout is nil: only Linux has TCP_USER_TIMEOUT.
func userTimeout(int) func(network, address string, c syscall.RawConn) error { return nil }
