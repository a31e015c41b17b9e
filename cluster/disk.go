package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"assay/cluster/disk"
	"assay/cluster/image"
	"assay/cluster/machine"
	"assay/cluster/server"
)

// The kinds of disks that nodes can have of their own, as a spec names them.
const (
	// DiskImage is a file system in an image on a loop device, ext4 unless Spec.FS says
	// XFS (cluster/image).
	DiskImage = "image"
	// DiskFaulty is a file system of assay's own, which loses all that was not synced
	// and fails as disks do (cluster/disk).
	DiskFaulty = "faulty"
	// DiskFaultyJournal is DiskFaulty, where a sync of any file has all names survive
	// that there are then, as on ext4 and XFS.
	DiskFaultyJournal = "faulty-journal"
)

// Disks are the kinds, as Spec.Disk has them.
func Disks() []string { return []string{DiskImage, DiskFaulty, DiskFaultyJournal} }

// nodeDisk keeps the files of one node, apart from all others, so that its power can be
// cut. Its methods are safe for concurrent use.
type nodeDisk interface {
	// Folder is where it is mounted; the node's files go below it.
	Folder() string
	// Sync has all that was written so far survive a cut: it is called when the
	// cluster serves and after each start of the node's server, for the files that
	// assay itself and the product's tools have written.
	Sync() error
	// Cut loses what has not reached the device, in one instant: from then on every
	// write is refused. The node's processes are stopped when it is called, and are
	// killed right after it. What is lost of what was not synced, a disk that can
	// choose draws from the seed.
	Cut(loss disk.Mode, seed uint64) error
	// Refuses tries to write between Cut and Restore and returns the error of it; nil
	// if the write passed.
	Refuses() error
	// Restore mounts what has survived, as at the next boot, once the node's processes
	// are gone; evidence says what was recovered, in words.
	Restore(ctx context.Context) (evidence string, err error)
	// Remove ends the disk for good, in whatever state it is, and removes its files.
	Remove() error
}

// Filesystems are those that a disk of the kind DiskImage can have, as Spec.FS has them.
func Filesystems() []string { return []string{image.Ext4, image.XFS} }

// CheckDisk says, before anything is started, what this machine lacks for nodes with
// disks of this kind, by a *machine.UnsupportedError; nothing for the empty kind. An empty
// file system is ext4.
func CheckDisk(ctx context.Context, kind, fs string) error {
	switch kind {
	case DiskImage:
		return image.Check(ctx, cmp.Or(fs, image.Ext4))
	case DiskFaulty, DiskFaultyJournal:
		return checkFaulty(kind)
	}
	return nil
}

func openDisk(ctx context.Context, kind, fs, folder string) (nodeDisk, error) {
	switch kind {
	case DiskImage:
		d, err := image.Open(ctx, folder, cmp.Or(fs, image.Ext4))
		return imageDisk{d}, err
	case DiskFaulty, DiskFaultyJournal:
		return openFaulty(folder, disk.Options{Journal: kind == DiskFaultyJournal})
	}
	return nil, fmt.Errorf("there is no disk of kind %q", kind)
}

// imageDisk is a node's disk of kind DiskImage. What a cut loses is up to the kernel.
type imageDisk struct{ *image.Disk }

func (d imageDisk) Cut(disk.Mode, uint64) error { return d.Disk.Cut() }

// addDisk gives a machine a disk of its own, if the spec asks for it.
func (c *Cluster) addDisk(ctx context.Context, at *machine.Machine) error {
	if c.spec.Disk == "" {
		return nil
	}
	d, err := openDisk(ctx, c.spec.Disk, c.spec.FS, filepath.Join(c.folder, "disks", at.Name()))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disks[at.Name()] = d
	at.Own(d.Folder())
	return nil
}

// addDisks gives each node's machine a disk of its own, if the spec asks for it.
func (c *Cluster) addDisks(ctx context.Context) error {
	nodes, _ := c.machinesByRole()
	for _, at := range nodes {
		if err := c.addDisk(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// disk is a node's, or nil if it has none of its own.
func (n *Node) disk() nodeDisk {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	return n.cluster.disks[n.Name()]
}

// syncDisks has what was written so far survive a cut of any node.
func (c *Cluster) syncDisks() error {
	var failed []error
	for _, d := range c.allDisks() {
		failed = append(failed, d.Sync())
	}
	return errors.Join(failed...)
}

func (c *Cluster) allDisks() (all []nodeDisk) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.disks {
		all = append(all, d)
	}
	return all
}

// removeDisks takes the disks away. What still uses one is killed: nothing that runs
// there is anybody else's.
func (c *Cluster) removeDisks() error {
	disks := c.allDisks()
	if len(disks) == 0 {
		return nil
	}
	failed := []error{server.KillHomed(context.Background(), filepath.Join(c.folder, "disks"))}
	for _, d := range disks {
		failed = append(failed, d.Remove())
	}
	return errors.Join(failed...)
}

// HasDisk reports whether the node has a disk of its own, whose power can be cut.
func (n *Node) HasDisk() bool { return n.disk() != nil }

// CutDisk cuts the power of the node's disk: what has not reached the device is lost,
// and nothing can be written any more. The node's processes should be paused, so that
// they acknowledge nothing meanwhile, and must be killed after it.
// What is lost is drawn from the seed, where the disk can choose (CanFail).
func (n *Node) CutDisk(loss disk.Mode, seed uint64) error { return n.disk().Cut(loss, seed) }

// DiskRefuses tries to write to a disk whose power is cut and returns the error of it;
// nil if the write passed.
func (n *Node) DiskRefuses() error { return n.disk().Refuses() }

// RestoreDisk mounts what has survived of a disk whose power was cut; evidence says
// what was recovered. The node's processes must be gone.
func (n *Node) RestoreDisk(ctx context.Context) (evidence string, err error) {
	return n.disk().Restore(ctx)
}
