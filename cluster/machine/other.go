//go:build !linux

package machine

import (
	"errors"
	"io"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"
)

// Only Linux has network namespaces and cgroups.

type (
	network   struct{}
	namespace struct{}
	group     struct{}
	relay     struct{ packets atomic.Int64 }
)

// CanDelay always returns an *UnsupportedError.
func CanDelay() error { return refuse(ownDelay) }

func (*namespace) delay(string, Rule, time.Duration) (*relay, error) {
	return nil, errors.ErrUnsupported
}

func (*relay) end() error { return nil }

func refuse(what string) error {
	return &UnsupportedError{What: what, Reason: "only Linux has it, and this is " + runtime.GOOS}
}

func openNetwork(string) (*network, error) { return nil, refuse("a network of its own for each node") }

func (*network) client() netip.Addr { return loopback() }
func (*network) close() error       { return nil }

func (*network) add(string, int64) (*namespace, netip.Addr, error) {
	return nil, netip.Addr{}, errors.ErrUnsupported
}

func (*network) prove([]*Machine) error { return errors.ErrUnsupported }

func (*namespace) enter(func() error) error      { return errors.ErrUnsupported }
func (*namespace) drop(string, Rule) error       { return errors.ErrUnsupported }
func (*namespace) dropped(string) (int64, error) { return 0, errors.ErrUnsupported }
func (*namespace) undrop(string) error           { return errors.ErrUnsupported }

func newGroup(Options, string) (*group, error) {
	return nil, refuse("a limit of memory, processor or disk")
}

func (*group) apply(Limits, Limits) error { return errors.ErrUnsupported }
func (*group) adopt(int) error            { return errors.ErrUnsupported }
func (*group) remove() error              { return nil }

func leftovers(map[string]bool) error { return nil }
func removeNetwork(string) error      { return nil }
func removeGroups(string) error       { return nil }

// UnmountBelow does nothing: only on Linux nodes have disks of their own.
func UnmountBelow(string) error { return nil }

// Own does nothing: this system keeps no leftovers.
func Own(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// InUse is always false.
func InUse(string) (bool, error) { return false, nil }
