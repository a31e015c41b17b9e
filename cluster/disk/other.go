//go:build !linux

package disk

import "runtime"

// Missing returns a *MissingError: such disks are on Linux only.
func Missing() error {
	return &MissingError{Reason: "it needs Linux's FUSE, and this is " + runtime.GOOS, Remedy: "run assay on Linux as root"}
}

// Child reports whether this process was started to serve a disk.
func Child() bool { return false }

// Serve serves a disk; see there.
func Serve() int { return 1 }

// Disk cannot be had here.
type Disk struct{}

// Open returns a *MissingError.
func Open(string, Options) (*Disk, error) { return nil, Missing() }

// Folder is where the disk is mounted.
func (d *Disk) Folder() string { return "" }

// Sync has all that was written survive a cut.
func (d *Disk) Sync() error { return Missing() }

// Cut stops the disk.
func (d *Disk) Cut(Mode, uint64) (Loss, error) { return Loss{}, Missing() }

// Restore mounts what has survived.
func (d *Disk) Restore() error { return Missing() }

// Fail brings a failure about.
func (d *Disk) Fail(Failure) (*Failing, error) { return nil, Missing() }

// Close ends the disk.
func (d *Disk) Close() error { return nil }

// Failing is a failure in force.
type Failing struct{}

// Effect is what it has done so far.
func (f *Failing) Effect() (Effect, error) { return Effect{}, Missing() }

// End ends it.
func (f *Failing) End() (Effect, error) { return Effect{}, Missing() }
