//go:build !linux

package disk

import "runtime"

// Missing returns a *MissingError: only Linux has such disks.
func Missing() error {
	return &MissingError{Reason: "it needs Linux's FUSE, and this is " + runtime.GOOS, Remedy: "run assay on Linux as root"}
}

// Child is always false.
func Child() bool { return false }

// Serve always fails.
func Serve() int { return 1 }

// Disk exists on Linux only.
type Disk struct{}

// Open returns a *MissingError.
func Open(string, Options) (*Disk, error) { return nil, Missing() }

// Folder is always empty.
func (d *Disk) Folder() string { return "" }

// Sync returns a *MissingError.
func (d *Disk) Sync() error { return Missing() }

// Cut returns a *MissingError.
func (d *Disk) Cut(Mode, uint64) (Loss, error) { return Loss{}, Missing() }

// Restore returns a *MissingError.
func (d *Disk) Restore() error { return Missing() }

// Fail returns a *MissingError.
func (d *Disk) Fail(Failure) (*Failing, error) { return nil, Missing() }

// Close does nothing.
func (d *Disk) Close() error { return nil }

// Failing exists on Linux only.
type Failing struct{}

// Effect returns a *MissingError.
func (f *Failing) Effect() (Effect, error) { return Effect{}, Missing() }

// End returns a *MissingError.
func (f *Failing) End() (Effect, error) { return Effect{}, Missing() }
