// Package disk is a file system of our own under a node, which keeps what has not
// been synced apart from what has. A cut loses what POSIX allows to be lost: all
// writes since the last fsync of their file, and all names that were made, moved or
// removed since the last fsync of their directory; or a part of that, chosen by a
// seed. It also makes a disk fail: an fsync, a read, the space, a bit.
//
// It is mounted by FUSE and served by a child process, since a process that waits
// for a file of a file system that it serves itself can wait for ever (a fork of
// Go's holds all of its threads until the child has entered its folder). The
// contents of files are in a folder below; names, attributes and which pages have
// changed since the last sync are in that process's memory, about 32 bytes for each
// megabyte of files and 500 for each name. Nothing survives that process.
//
// It stands beside cluster/image, which cuts the power of a real ext4, since neither does
// the other's work. This one loses all that a file system may lose, which ext4 seldom does,
// chooses by a seed, and fails or slows down on demand; what is recovered is a model's, and its speed says
// nothing.
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
	// Journal has every sync of a file or folder that has something to write make all
	// names durable that there are then, as file systems do that keep an ordered
	// journal, such as ext4 and XFS. Else a name is durable by a sync of its folder
	// alone, which is what POSIX promises.
	Journal bool
}

// Mode is what a cut loses.
type Mode string

// The modes.
const (
	// Worst loses everything that was not synced.
	Worst Mode = "worst"
	// Some loses each unsynced page of 4096 bytes, each name and each attribute by
	// its own chance, as a kernel does that has written some of them already.
	Some Mode = "some"
	// Torn is Some, where a page may also be written in part, up to a sector of 512
	// bytes or from one on.
	Torn Mode = "torn"
)

// Modes are all modes, in the order of lists.
func Modes() []Mode { return []Mode{Worst, Some, Torn} }

// Loss is what a cut took away.
type Loss struct {
	// Files are how many lost content, Bytes how much of it, in whole pages.
	Files int
	Bytes int64
	// Names are how many entries of directories went back to what they were.
	Names int
}

func (l Loss) String() string {
	return fmt.Sprintf("%d bytes in %d files and %d names that were not synced are lost", l.Bytes, l.Files, l.Names)
}

// Kind is a way for a disk to fail.
type Kind string

// The kinds.
const (
	// SyncError has one fsync of a file with unsynced writes fail with EIO. What it
	// was to write never reaches the disk, and the next fsync succeeds, since the
	// kernel takes the pages for clean.
	SyncError Kind = "fsync-error"
	// Full refuses with ENOSPC what would take more space.
	Full Kind = "disk-full"
	// ReadError has reads fail with EIO.
	ReadError Kind = "read-error"
	// BitFlip inverts one bit of one file.
	BitFlip Kind = "bit-flip"
	// Delay has each operation that may have to reach a device take longer by Failure.Wait:
	// reads of what the kernel does not have in its memory, writes, syncs, and changes of
	// names and sizes.
	Delay Kind = "io-delay"
	// SlowSync has each sync of a file or folder take longer by Failure.Wait.
	SlowSync Kind = "slow-fsync"
	// Stall has the operations that Delay means wait until it ends, or the disk is cut.
	Stall Kind = "disk-stall"
)

// Failure is a disk's failure, as it is asked for.
type Failure struct {
	Kind Kind
	// Files is which files are meant, as Match takes it; empty means all.
	Files string
	// Old has reads after a failed fsync give what was synced last, as on Btrfs; else
	// they give what was written, as on ext4 and XFS until the page is evicted.
	Old bool
	// Seed chooses the file and the bit of BitFlip.
	Seed uint64
	// Wait is of Delay and SlowSync.
	Wait time.Duration
}

// Effect is what a failure has done so far.
type Effect struct {
	// Times is how often it struck, of BitFlip by a read of the byte; an operation that is kept waiting counts from its beginning.
	Times int64
	// File is the path of the file that it struck last, from the disk's root on.
	File string
	// Of BitFlip, Offset is the byte, which was Was and has become Is.
	Offset  int64
	Was, Is byte
	// Held is the longest that an operation was kept waiting so far, of Delay, SlowSync and Stall.
	// One whose thread is to be killed or stopped is let go before its time.
	Held time.Duration
	// Undone is true of a BitFlip that has ended and was taken back; it is not if the
	// server has written there since.
	Undone bool
}

// Match reports whether a file, by its path from the disk's root on, is meant by a
// pattern of path.Match, which is compared with as many of its last names as it has
// itself: *.ibd with the last, base/*/* with the last three. An empty pattern means
// every file.
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

// CheckPattern returns an error for what Match can never match.
func CheckPattern(pattern string) error {
	_, err := path.Match(pattern, "")
	return err
}

// MissingError says why such a file system cannot be had here.
type MissingError struct {
	// Reason is what is missing, Remedy how to get it.
	Reason, Remedy string
}

func (e *MissingError) Error() string {
	return "a disk that keeps apart what is not synced cannot be had: " + e.Reason + "; " + e.Remedy
}

// ErrDown is what operations on a disk return that has been cut and not restored.
var ErrDown = errors.New("the disk was cut and has not been restored")
