//go:build !linux

package postgres

import "syscall"

// userTimeout is nil: only Linux has such a limit.
func userTimeout(int) func(network, address string, c syscall.RawConn) error { return nil }
