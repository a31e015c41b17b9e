//go:build !linux

package postgres

import "net"

// socketWait is for Linux; elsewhere Go's poller waits.
type socketWait struct{}

func newSocketWait(net.Conn) *socketWait { return nil }

func (*socketWait) wait() {}
