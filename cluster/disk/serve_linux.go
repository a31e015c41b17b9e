package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// mount(8) shows fuse.fileSystemName. childName is os.Args[0] of a process that serves a disk.
const (
	fileSystemName = "assay"
	childName      = "assay-disk"
)

const (
	contentsFolder = "contents"
	mountFolder    = "mounted"
)

// Child reports whether this process was started to serve a disk. It must then only call Serve.
func Child() bool { return len(os.Args) == 2 && os.Args[0] == childName }

// Serve serves the disk in the folder that is the only argument until the parent closes the
// connection or ends. It returns the exit code.
func Serve() int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // its end is that of its starter
	if err := serve(os.Args[1], os.NewFile(controlFile, "control")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// controlFile is the connection to the parent: the first file behind the standard ones.
const controlFile = 3

func serve(folder string, socket *os.File) error {
	connection, err := net.FileConn(socket)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := socket.Close(); err != nil {
		return err
	}
	v, err := newVolume(filepath.Join(folder, contentsFolder))
	if err != nil {
		return err
	}
	c := &control{volume: v, folder: filepath.Join(folder, mountFolder)}
	c.answer(connection)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unmount()
}

type control struct {
	volume *volume
	folder string // where it is mounted

	mu     sync.Mutex
	server *fuse.Server // nil while it is not mounted
}

// Kinds of requests. net/rpc would be shorter, but it calls methods by name, for which the linker
// keeps all methods of the program.
const (
	doMount  = "mount"
	doSync   = "sync"
	doCut    = "cut"
	doFail   = "fail"
	doEffect = "effect"
	doMend   = "mend"
)

type request struct {
	Number  uint64
	Do      string
	Options Options
	Mode    Mode
	Seed    uint64
	// ID is the caller's number of a failure.
	ID      uint64
	Failure Failure
}

type answer struct {
	Number  uint64
	Loss    Loss
	Effect  Effect
	Problem string
}

// answer serves requests until the connection ends. They run at the same time, because one may
// have to wait for another: the kernel forgets no page that a stalled operation holds.
func (c *control) answer(connection net.Conn) {
	in, out := json.NewDecoder(connection), json.NewEncoder(connection)
	var working sync.WaitGroup
	defer working.Wait()
	var sending sync.Mutex
	for {
		var q request
		if in.Decode(&q) != nil {
			return
		}
		working.Go(func() {
			a := answer{Number: q.Number}
			if err := c.do(q, &a); err != nil {
				a.Problem = err.Error()
			}
			sending.Lock()
			defer sending.Unlock()
			_ = out.Encode(a) // who asked may be gone
		})
	}
}

func (c *control) do(q request, a *answer) (err error) {
	var stale []uint64
	switch q.Do {
	case doMount:
		return c.mount(q.Options)
	case doSync:
		return c.volume.syncAll()
	case doCut:
		a.Loss, err = c.volume.cut(q.Mode, q.Seed)
	case doEffect:
		a.Effect, err = c.volume.effect(q.ID)
	case doFail:
		stale, err = c.volume.fail(q.ID, q.Failure)
	case doMend:
		a.Effect, stale, err = c.volume.mend(q.ID)
	}
	return errors.Join(err, c.forget(stale))
}

func (c *control) mount(o Options) error {
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

// giveUp ends the process after a panic: a disk with wrong answers would convict the database.
func giveUp(defect any) fuse.Status {
	fmt.Fprintf(os.Stderr, "panic: %v\n%s\n", defect, debug.Stack())
	os.Exit(2)
	return fuse.EIO
}

// unmount ends the mount even if it is in use: its users get errors.
func (c *control) unmount() error {
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

// forget makes the kernel drop cached pages of files, so that the next read asks.
func (c *control) forget(inodes []uint64) error {
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
