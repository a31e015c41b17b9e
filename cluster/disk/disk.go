// Package disk is a file system for one node that keeps synced and unsynced state apart. A cut
// loses what POSIX allows to be lost: all writes since the last fsync of their file, and all names
// made, moved or removed since the last fsync of their directory; or a part of that, chosen by a
// seed. It also makes a disk fail: an fsync, a read, the space, a bit.
//
// It is mounted by FUSE and served by a child process, because a process can wait for ever for a
// file that it serves itself (a fork in Go holds all threads until the child has entered its
// folder). The contents of files are in a folder below. Names, attributes and the changed pages are
// in the child's memory, about 32 bytes for each megabyte of files and 500 for each name. Nothing
// survives the child.
//
// Package cluster/image cuts the power of a real ext4 instead. This package loses all that a file
// system may lose, which ext4 seldom does, chooses by a seed, and fails or slows down on demand.
// But its recovery is a model's, and its speed proves nothing.
//
// It must not know any database product, cluster, fault or other package of assay.
package disk

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// Options says how a disk behaves.
type Options struct {
	// Journal makes all names durable whenever a file or folder with changes is synced, as file
	// systems with an ordered journal do (ext4, XFS). Without it only a sync of its folder makes a
	// name durable, which is all that POSIX promises.
	Journal bool
}

// Mode says what a cut loses.
type Mode string

const (
	// Worst loses everything unsynced.
	Worst Mode = "worst"
	// Some loses each unsynced page of 4096 bytes, name and attribute at random, as after a kernel
	// has written some of them.
	Some Mode = "some"
	// Torn is Some, but a page may also be written up to a sector of 512 bytes, or from one on.
	Torn Mode = "torn"
)

// Modes lists all modes in the order for display.
func Modes() []Mode { return []Mode{Worst, Some, Torn} }

// Loss is what a cut took away.
type Loss struct {
	// Files lost content, Bytes in all, in whole pages.
	Files int
	Bytes int64
	// Names are the directory entries that went back to their synced state.
	Names int
}

func (l Loss) String() string {
	return fmt.Sprintf("%d bytes in %d files and %d names that were not synced are lost", l.Bytes, l.Files, l.Names)
}

// Kind is a way for a disk to fail.
type Kind string

const (
	// SyncError makes one fsync of a file with unsynced writes fail with EIO. These writes never
	// reach the disk, and the next fsync succeeds, because the kernel takes the pages for clean.
	SyncError Kind = "fsync-error"
	// Full refuses with ENOSPC what needs more space.
	Full Kind = "disk-full"
	// ReadError makes reads fail with EIO.
	ReadError Kind = "read-error"
	// BitFlip inverts one bit of one file.
	BitFlip Kind = "bit-flip"
	// Delay adds Failure.Wait to each operation that may reach a device: reads outside the page
	// cache, writes, syncs, and changes of names and sizes.
	Delay Kind = "io-delay"
	// SlowSync adds Failure.Wait to each sync of a file or folder.
	SlowSync Kind = "slow-fsync"
	// Stall holds the operations of Delay until it ends or the disk is cut.
	Stall Kind = "disk-stall"
)

// Failure is a failure to bring about.
type Failure struct {
	Kind Kind
	// Files is a pattern for Match; empty means all files.
	Files string
	// Old makes reads after a failed fsync return the synced bytes, as on Btrfs. Otherwise they
	// return the written bytes, as on ext4 and XFS until the page is evicted.
	Old bool
	// Seed chooses the file and the bit of BitFlip.
	Seed uint64
	// Wait is for Delay and SlowSync.
	Wait time.Duration
}

// Effect is what a failure has done so far.
type Effect struct {
	// Times counts struck operations from their beginning, for BitFlip the reads of the byte.
	Times int64
	// File is the path of the last struck file, from the disk's root on.
	File string
	// Offset is the byte that a BitFlip changed, with its old and new value.
	Offset  int64
	Was, Is byte
	// Held is the longest wait so far. A thread that must die or stop is let go early.
	Held time.Duration
	// Undone is true if the end of a BitFlip took it back: the server had not written there.
	Undone bool
}

// Match compares a file's path from the disk's root on with a pattern of path.Match. The pattern is
// compared with the path's last names, as many as it has itself: *.ibd with the last, base/*/* with
// the last three. An empty pattern matches every file.
func Match(pattern, file string) bool {
	if pattern == "" {
		return true
	}
	names := strings.Split(file, "/")
	last := strings.Count(pattern, "/") + 1
	if last > len(names) {
		return false
	}
	matched, err := path.Match(pattern, strings.Join(names[len(names)-last:], "/"))
	return err == nil && matched
}

// CheckPattern returns an error for a malformed pattern.
func CheckPattern(pattern string) error {
	_, err := path.Match(pattern, "")
	return err
}

// MissingError says why this system cannot have such a file system.
type MissingError struct {
	// Reason says what is missing, Remedy how to get it.
	Reason, Remedy string
}

func (e *MissingError) Error() string {
	return "a disk that keeps apart what is not synced cannot be had: " + e.Reason + "; " + e.Remedy
}

// ErrDown is the error of operations on a disk between Cut and Restore.
var ErrDown = errors.New("the disk was cut and has not been restored")
