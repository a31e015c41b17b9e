package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"assay/cluster/server"
)

const (
	// size is the file system's capacity in bytes. The image is sparse.
	size = 16 << 30
	// inodeEvery is the bytes per inode: few enough inodes to make the file system quickly, and far
	// more than a database has files.
	inodeEvery = 64 << 10
	// journalSize is in MiB.
	journalSize = 32
	// unmountBound is how long killed processes may keep the file system busy.
	unmountBound = 15 * time.Second
)

// Disk is the file system of one node. Its methods are safe for concurrent use.
type Disk struct {
	folder string
	name   string // of the kind of file system
	kind   filesystem

	mu      sync.Mutex
	mounted bool
	cut     bool
}

// Check returns a *machine.UnsupportedError if something is missing here for an image of this file
// system. Whether the kernel supports it and its shutdown, only Open can tell.
func Check(_ context.Context, name string) error {
	if os.Geteuid() != 0 {
		return unsupported("only root may mount file systems; run assay as root")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return unsupported("this system has no loop devices (%v)", err)
	}
	kind, err := filesystemOf(name)
	if err == nil {
		_, err = kind.program.Find("")
	}
	if err != nil {
		return unsupported("%v", err)
	}
	return nil
}

// try cuts the power of an empty disk and restores it.
func (d *Disk) try(ctx context.Context) error {
	if err := d.Cut(); err != nil {
		return err
	}
	if d.Refuses() == nil {
		return errors.New("a file system without power still takes writes")
	}
	_, err := d.Restore(ctx)
	return err
}

// Open makes the named file system in a folder of its own, and mounts it there. It cuts the power
// once, to find out before anything starts whether the kernel supports that and the file system. If
// not, the error is a *machine.UnsupportedError.
func Open(ctx context.Context, folder, name string) (*Disk, error) {
	kind, err := filesystemOf(name)
	if err != nil {
		return nil, err
	}
	d := &Disk{folder: folder, name: name, kind: kind}
	if err = d.make(ctx); err == nil {
		err = d.try(ctx)
	}
	if err != nil {
		return nil, unsupported("%v", errors.Join(err, d.unmount(ctx)))
	}
	return d, nil
}

func (d *Disk) make(ctx context.Context) error {
	program, err := d.kind.program.Find("")
	if err != nil {
		return err
	}
	for _, dir := range []string{d.folder, d.Folder()} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(d.image(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Truncate(size), file.Close()); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, program, append(slices.Clone(d.kind.args), d.image())...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(string(out)))
	}
	if err := d.mount(); err != nil {
		return err
	}
	// Programs refuse to make their files in a folder that is not empty.
	if err := os.Remove(filepath.Join(d.Folder(), "lost+found")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return d.Sync()
}

// Folder is the mount point.
func (d *Disk) Folder() string { return filepath.Join(d.folder, "files") }

func (d *Disk) image() string { return filepath.Join(d.folder, "image") }

// mount puts the image on a loop device, which ends with the mount, and mounts it. It writes
// something, so that even an immediate cut leaves a journal to replay.
func (d *Disk) mount() error {
	device, path, err := attach(d.image())
	if err != nil {
		return err
	}
	defer device.Close() // from then on the mount alone holds it
	if err := unix.Mount(path, d.Folder(), d.name, 0, d.kind.options); err != nil {
		return fmt.Errorf("mount %s as %s: %w", path, d.name, err)
	}
	d.mounted = true
	return errors.Join(os.Chmod(d.Folder(), 0o711), d.Sync())
}

// attach returns a loop device for the file, and its path. It ends with its last user.
func attach(image string) (device *os.File, path string, err error) {
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, "", err
	}
	defer control.Close()
	const tries = 50
	for range tries {
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, "", fmt.Errorf("get a loop device: %w", err)
		}
		path = fmt.Sprintf("/dev/loop%d", number)
		if device, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
			return nil, "", err
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		if err = unix.IoctlLoopConfigure(int(device.Fd()), &config); err == nil {
			return device, path, nil
		}
		device.Close()
		if !errors.Is(err, unix.EBUSY) { // somebody else has taken it meanwhile
			return nil, "", fmt.Errorf("put %s on %s: %w", image, path, err)
		}
	}
	return nil, "", fmt.Errorf("put %s on a loop device: each was taken by somebody else", image)
}

// Sync makes all earlier writes durable.
func (d *Disk) Sync() error {
	folder, err := os.Open(d.Folder())
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := unix.Syncfs(int(folder.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", d.Folder(), err)
	}
	return nil
}

// The request that shuts a file system down, and the flag that makes it write nothing more, not
// even its journal (Linux, fs/ext4/ext4.h: EXT4_IOC_SHUTDOWN and EXT4_GOING_FLAGS_NOLOGFLUSH).
const (
	requestShutdown = 0x8004587d
	withoutFlush    = 2
)

// Cut loses in one instant what has not reached the device. Later writes fail.
func (d *Disk) Cut() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	folder, err := os.Open(d.Folder())
	if err != nil {
		return fmt.Errorf("cut the power of %s: %w", d.Folder(), err)
	}
	defer folder.Close()
	if err := unix.IoctlSetPointerInt(int(folder.Fd()), requestShutdown, withoutFlush); err != nil {
		return fmt.Errorf("cut the power of %s: %w", d.Folder(), err)
	}
	d.cut = true
	return nil
}

// Refuses tries to write and returns the error; nil if the write passed.
func (d *Disk) Refuses() error {
	path := filepath.Join(d.Folder(), ".assay-write")
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = file.WriteString("written after the cut\n")
	return errors.Join(err, file.Sync(), file.Close())
}

// unmount requires that the file system's processes are gone.
func (d *Disk) unmount(ctx context.Context) error {
	if !d.mounted {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, unmountBound)
	defer cancel()
	err := server.Until(ctx, 5*time.Millisecond, "the end of those who use "+d.Folder(), func(context.Context) error {
		err := unix.Unmount(d.Folder(), unix.UMOUNT_NOFOLLOW)
		if err != nil && !errors.Is(err, unix.EBUSY) {
			return server.Permanent(err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("unmount %s: %w", d.Folder(), err)
	}
	d.mounted = false
	return nil
}

// Restore mounts what survived, as the next boot would. The disk's processes must be gone. If there
// was no journal to replay after Cut it returns an error, because the file system was then not cut
// off. After an error it can be called again.
func (d *Disk) Restore(ctx context.Context) (evidence string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.unmount(ctx); err != nil {
		return "", err
	}
	replay, err := d.needsRecovery()
	if err != nil {
		return "", fmt.Errorf("restore %s: %w", d.Folder(), err)
	}
	began := time.Now()
	if err := d.mount(); err != nil {
		return "", fmt.Errorf("restore %s: %w", d.Folder(), err)
	}
	if d.cut && !replay { // nor is it so at a further try
		return "", fmt.Errorf("restore %s: its journal was not marked for recovery, so it was not cut off", d.Folder())
	}
	if d.cut = false; !replay {
		return "mounted again without a cut", nil
	}
	return fmt.Sprintf("journal replayed when it was mounted, in %d ms", time.Since(began).Milliseconds()), nil
}

func (d *Disk) needsRecovery() (bool, error) {
	file, err := os.Open(d.image())
	if err != nil {
		return false, err
	}
	defer file.Close()
	return d.kind.needsRecovery(file)
}

// Remove ends the disk in any state and removes its files. Its processes must be gone.
func (d *Disk) Remove() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.unmount(context.Background()); err != nil {
		return err
	}
	return os.RemoveAll(d.folder)
}
