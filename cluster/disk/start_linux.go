package disk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const device = "/dev/fuse"

// Missing returns a *MissingError if this system cannot have such a disk.
func Missing() error { return missing(os.Geteuid(), device) }

func missing(user int, device string) error {
	if user != 0 {
		return &MissingError{Reason: "only root may mount file systems", Remedy: "run assay as root"}
	}
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return &MissingError{Reason: err.Error(), Remedy: "load the kernel's module fuse (modprobe fuse), and give a container the device " + device}
	}
	return f.Close()
}

// Disk is a mounted file system. Its methods are safe for concurrent use.
type Disk struct {
	folder  string
	options Options
	child   *exec.Cmd
	said    bytes.Buffer  // by the child, on standard error
	last    atomic.Uint64 // number given to a failure
	ending  sync.Once
	ended   error

	connection net.Conn // to the child
	mu         sync.Mutex
	asked      uint64
	waiting    map[uint64]chan answer // by the number of their request; nil once the child has ended
}

// callBound limits the child's answer. A cut may copy gigabytes of unsynced data back.
const callBound = 5 * time.Minute

// Open makes an empty disk in an existing folder of its own, and starts the process that serves it.
// That is this program again, so the program must call Child before anything else. If the system
// cannot have such a disk the error is a *MissingError.
func Open(folder string, o Options) (*Disk, error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	d := &Disk{folder: folder, options: o}
	if err := os.MkdirAll(d.Folder(), 0o755); err != nil {
		return nil, err
	}
	if err := d.start(); err != nil {
		return nil, fmt.Errorf("start the process that serves a disk: %w", err)
	}
	if err := d.Restore(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// start starts the child outside our process group, so that an interrupt typed at the terminal does
// not end it before the disk's users. Its HOME tells which cluster it belongs to.
func (d *Disk) start() error {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	own, other := os.NewFile(uintptr(ends[0]), "disk"), os.NewFile(uintptr(ends[1]), "disk")
	defer own.Close()
	defer other.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	d.child = &exec.Cmd{
		Path: self, Args: []string{childName, d.folder}, Dir: "/", Env: []string{"HOME=" + d.folder},
		Stderr: &d.said, ExtraFiles: []*os.File{other}, SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}
	connection, err := net.FileConn(own)
	if err != nil {
		return err
	}
	if err := d.child.Start(); err != nil {
		return errors.Join(err, connection.Close())
	}
	d.connection, d.waiting = connection, map[uint64]chan answer{}
	go d.listen()
	return nil
}

func (d *Disk) listen() {
	in := json.NewDecoder(d.connection)
	for {
		var a answer
		err := in.Decode(&a)
		d.mu.Lock()
		if err != nil {
			for _, came := range d.waiting {
				close(came)
			}
			d.waiting = nil
			d.mu.Unlock()
			return
		}
		d.waiting[a.Number] <- a
		delete(d.waiting, a.Number)
		d.mu.Unlock()
	}
}

// send returns the channel of the answer, which is closed if the child has ended.
func (d *Disk) send(q request) chan answer {
	d.mu.Lock()
	defer d.mu.Unlock()
	came := make(chan answer, 1)
	d.asked++
	q.Number = d.asked
	if d.waiting == nil || json.NewEncoder(d.connection).Encode(q) != nil {
		close(came)
		return came
	}
	d.waiting[q.Number] = came
	return came
}

func (d *Disk) call(q request) (answer, error) {
	bound := time.NewTimer(callBound)
	defer bound.Stop()
	select {
	case a, there := <-d.send(q):
		switch {
		case !there:
			return a, fmt.Errorf("the process that serves the disk %s has ended", d.folder)
		case a.Problem != "":
			return a, errors.New(a.Problem)
		}
		return a, nil
	case <-bound.C:
		return answer{}, fmt.Errorf("the process that serves the disk %s has not answered for %v", d.folder, callBound)
	}
}

// Folder is the mount point. It belongs to us and all may enter it.
func (d *Disk) Folder() string { return filepath.Join(d.folder, mountFolder) }

// Sync makes all earlier writes durable, also writes to mapped files.
func (d *Disk) Sync() error {
	root, err := os.Open(d.Folder())
	if err != nil {
		return err
	}
	defer root.Close()
	if err := unix.Syncfs(int(root.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", d.Folder(), err)
	}
	_, err = d.call(request{Do: doSync})
	return err
}

// Cut stops the disk in one instant and loses unsynced changes by mode and seed. Until Restore
// everything on it fails with EIO.
func (d *Disk) Cut(mode Mode, seed uint64) (Loss, error) {
	a, err := d.call(request{Do: doCut, Mode: mode, Seed: seed})
	return a.Loss, err
}

// Restore mounts what survived a cut. Files opened before the cut return errors for good.
func (d *Disk) Restore() error {
	_, err := d.call(request{Do: doMount, Options: d.options})
	return err
}

// Fail brings a failure about until its End. It chooses the file of a BitFlip at once; without a
// non-empty matching file it returns an error.
func (d *Disk) Fail(f Failure) (*Failing, error) {
	failing := &Failing{disk: d, id: d.last.Add(1)}
	if _, err := d.call(request{Do: doFail, ID: failing.id, Failure: f}); err != nil {
		return nil, err
	}
	return failing, nil
}

// Failing is a failure in force.
type Failing struct {
	disk *Disk
	id   uint64
}

// Effect is what the failure has done so far.
func (f *Failing) Effect() (Effect, error) {
	a, err := f.disk.call(request{Do: doEffect, ID: f.id})
	return a.Effect, err
}

// End ends the failure and returns its whole effect.
func (f *Failing) End() (Effect, error) {
	a, err := f.disk.call(request{Do: doMend, ID: f.id})
	return a.Effect, err
}

// Close unmounts the disk, even if it is in use, and ends its process; a killed process is no
// error. It leaves the folder. Further calls return the first call's result.
func (d *Disk) Close() error {
	d.ending.Do(func() {
		_ = d.connection.Close() // whereupon the child unmounts and ends
		ended := make(chan error, 1)
		go func() { ended <- d.child.Wait() }()
		bound := time.NewTimer(closeBound)
		defer bound.Stop()
		select {
		case err := <-ended:
			if d.child.ProcessState.ExitCode() > 0 { // it was not killed
				d.ended = err
			}
		case <-bound.C:
			d.ended = errors.Join(fmt.Errorf("it has not ended for %v", closeBound), d.child.Process.Kill())
			<-ended
		}
		// EINVAL: the child has unmounted it.
		if err := unix.Unmount(d.Folder(), unix.MNT_FORCE|unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			d.ended = errors.Join(d.ended, err)
		}
		if d.ended != nil {
			d.ended = fmt.Errorf("close the disk %s: %w; its process wrote: %s", d.folder, d.ended, d.said.String())
		}
	})
	return d.ended
}

const closeBound = 30 * time.Second
