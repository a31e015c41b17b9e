package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// namespaces is the folder in which ip-netns(8) mounts each named network namespace on a file.
const namespaces = "/run/netns"

// namespace is a named network namespace. Its methods are safe for concurrent use.
type namespace struct {
	name string

	mu   sync.Mutex
	file *os.File // nil after close
}

// makeNamespace's only interface is the loopback, up. An existing name is os.ErrExist.
func makeNamespace(name string) (*namespace, error) {
	n := &namespace{name: name}
	if err := os.MkdirAll(namespaces, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(namespaces, name)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	err = apart(func() error {
		return away(func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() error { return n.settle(path) })
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("network namespace %s: %w", name, err), n.close(), removeNamespace(name))
	}
	return n, nil
}

// settle must run inside the new namespace.
func (n *namespace) settle(path string) (err error) {
	if err := unix.Mount(currentNamespace, path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount it: %w", err)
	}
	if n.file, err = os.Open(currentNamespace); err != nil {
		return err
	}
	withoutIPv6("default")
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer links.Close()
	lo, err := links.LinkByName("lo")
	if err != nil {
		return err
	}
	return links.LinkSetUp(lo)
}

// withoutIPv6 disables IPv6 in the current namespace, whose own packets would be counted as
// dropped. A failure does no other harm.
func withoutIPv6(link string) {
	_ = os.WriteFile("/proc/sys/net/ipv6/conf/"+link+"/disable_ipv6", []byte("1"), 0)
}

// currentNamespace is the thread's; /proc/self would give the main thread's.
const currentNamespace = "/proc/thread-self/ns/net"

func (n *namespace) enter(do func() error) error {
	file, err := n.handle()
	if err != nil {
		return err
	}
	defer file.Close()
	return away(func() error { return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET) }, do)
}

// inside is enter on a goroutine of its own.
func (n *namespace) inside(do func() error) error {
	return apart(func() error { return n.enter(do) })
}

// away calls leave, which moves the thread to another namespace, then do, and moves the thread
// back.
//
// The goroutine is bound to its thread before it leaves. So no other goroutine runs in the wrong
// namespace, and no thread starts there, because Go's runtime starts none from a bound thread
// (runtime.newm). A thread that cannot return stays bound and ends with the goroutine.
func away(leave, do func() error) (err error) {
	return awayAndBack(leave, do, func(home *os.File) error {
		return unix.Setns(int(home.Fd()), unix.CLONE_NEWNET)
	})
}

func awayAndBack(leave, do func() error, back func(home *os.File) error) (err error) {
	runtime.LockOSThread()
	home, err := os.Open(currentNamespace)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer home.Close()
	if err := leave(); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	// Deferred, since do may end the goroutine.
	defer func() {
		if backErr := back(home); backErr != nil {
			err = errors.Join(err, fmt.Errorf("leave a network namespace: %w", backErr))
			return
		}
		runtime.UnlockOSThread()
	}()
	return do()
}

// apart calls do on a goroutine of its own, with which a thread that cannot return ends.
func apart(do func() error) error {
	result := make(chan error, 1)
	go func() { result <- do() }()
	return <-result
}

// handle returns a duplicate of the file, so that close need not wait for a call inside.
func (n *namespace) handle() (*os.File, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return nil, fmt.Errorf("network namespace %s: %w", n.name, os.ErrClosed)
	}
	fd, err := unix.FcntlInt(n.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("network namespace %s: %w", n.name, err)
	}
	return os.NewFile(uintptr(fd), n.name), nil
}

func (n *namespace) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return nil
	}
	err := n.file.Close()
	n.file = nil
	return err
}

// removeNamespace accepts a missing name. The namespace itself ends with its last process.
func removeNamespace(name string) error {
	path := filepath.Join(namespaces, name)
	// This fails, and os.Remove does not, if making the namespace was cut short.
	unmount := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	err := os.Remove(path)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if unmount != nil {
		unmount = fmt.Errorf("unmount %s: %w", path, unmount)
	}
	return errors.Join(unmount, err)
}
