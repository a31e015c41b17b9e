package disk

import (
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// fileSystemName is what mount(8) shows, with fuse. before it, and childName the
// name by which a program of assay's knows that it is to serve a disk.
const (
	fileSystemName = "assay"
	childName      = "assay-disk"
)

// The folders in a disk's own.
const (
	contentsFolder = "contents"
	mountFolder    = "mounted"
)

// Child reports whether this process was started to serve a disk; then it is to call
// Serve and nothing else.
func Child() bool { return len(os.Args) == 2 && os.Args[0] == childName }

// Serve serves the disk in the folder that is the only argument, until the process
// that started this one has closed its end of the connection or has ended, however
// that came. It returns the exit code.
func Serve() int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // its end is that of its starter
	if err := serve(os.Args[1], os.NewFile(controlFile, "control")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// controlFile is the number of the file by which a child is told what to do: the
// first behind the standard ones.
const controlFile = 3

func serve(folder string, control *os.File) error {
	connection, err := net.FileConn(control)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := control.Close(); err != nil {
		return err
	}
	v, err := newVolume(filepath.Join(folder, contentsFolder))
	if err != nil {
		return err
	}
	c := &Control{volume: v, folder: filepath.Join(folder, mountFolder)}
	server := rpc.NewServer()
	if err := server.Register(c); err != nil {
		return err
	}
	server.ServeConn(connection)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unmount()
}

// Control is what the process that started a disk's asks of it, by net/rpc.
type Control struct {
	volume *volume
	folder string // where it is mounted

	mu     sync.Mutex
	server *fuse.Server // nil while it is not mounted
}

// Nothing is what calls take or return that have nothing to say.
type Nothing struct{}

// CutArguments are the arguments of Cut, FailArguments the arguments of Fail.
type (
	CutArguments struct {
		Mode Mode
		Seed uint64
	}
	FailArguments struct {
		ID      uint64
		Failure Failure
	}
)

// Mount mounts the volume, instead of the mount that there was.
func (c *Control) Mount(o Options, _ *Nothing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.unmount(); err != nil {
		return err
	}
	c.volume.restore(o)
	server, err := fuse.NewServer(newMount(c.volume), c.folder, &fuse.MountOptions{
		AllowOther: true, Options: []string{"default_permissions"}, Name: fileSystemName, FsName: fileSystemName,
		DirectMountStrict: true, DisableXAttrs: true, DisableReadDirPlus: true,
		MaxWrite: 1 << 20, MaxBackground: 64, PanicHandler: giveUp,
	})
	if err != nil {
		return fmt.Errorf("mount %s: %w", c.folder, err)
	}
	go server.Serve()
	c.server = server
	return server.WaitMount()
}

// giveUp ends the process after a defect of its own: a disk that answers wrongly
// would have the database convicted.
func giveUp(defect any) fuse.Status {
	fmt.Fprintf(os.Stderr, "panic: %v\n%s\n", defect, debug.Stack())
	os.Exit(2)
	return fuse.EIO
}

// unmount ends the mount, in use or not: whoever has a file open on it gets errors.
func (c *Control) unmount() error {
	if c.server == nil {
		return nil
	}
	c.volume.letGo() // else their requests would not be answered
	err := unix.Unmount(c.folder, unix.MNT_FORCE|unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) { // somebody else has unmounted it
		return fmt.Errorf("unmount %s: %w", c.folder, err)
	}
	c.server.Wait() // until the last request was answered
	c.server = nil
	return nil
}

// Sync has everything survive a cut.
func (c *Control) Sync(Nothing, *Nothing) error { return c.volume.syncAll() }

// Cut stops the file system and takes back what was not synced.
func (c *Control) Cut(a CutArguments, loss *Loss) (err error) {
	*loss, err = c.volume.cut(a.Mode, a.Seed)
	return err
}

// Fail brings a failure about, under a number that the caller gives it.
func (c *Control) Fail(a FailArguments, _ *Nothing) error {
	stale, err := c.volume.fail(a.ID, a.Failure)
	if err != nil {
		return err
	}
	return c.forget(stale)
}

// Effect is what a failure has done so far.
func (c *Control) Effect(id uint64, effect *Effect) (err error) {
	*effect, err = c.volume.effect(id)
	return err
}

// Mend ends a failure.
func (c *Control) Mend(id uint64, effect *Effect) error {
	seen, stale, err := c.volume.mend(id)
	*effect = seen
	return errors.Join(err, c.forget(stale))
}

// forget has the kernel forget the pages of files, so that the next read asks.
func (c *Control) forget(inodes []uint64) error {
	c.mu.Lock()
	server := c.server
	c.mu.Unlock()
	if server == nil {
		return nil
	}
	for _, number := range inodes {
		s := server.InodeNotify(number, 0, 0)
		if s != fuse.OK && s != fuse.ENOENT { // the kernel does not know it
			return fmt.Errorf("have the kernel forget a file's pages: %w", syscall.Errno(s))
		}
	}
	return nil
}
