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

// Kinds of disks that nodes can have of their own (Spec.Disk).
const (
	// DiskImage is a file system in an image on a loop device, ext4 unless Spec.FS says XFS.
	DiskImage = "image"
	// DiskFaulty is assay's own file system. It loses all unsynced writes and fails on demand.
	DiskFaulty = "faulty"
	// DiskFaultyJournal is DiskFaulty, but a sync of any file makes all names durable (ext4, XFS).
	DiskFaultyJournal = "faulty-journal"
)

// Disks lists the values of Spec.Disk.
func Disks() []string { return []string{DiskImage, DiskFaulty, DiskFaultyJournal} }

// nodeDisk is one node's own disk. Its methods are safe for concurrent use.
type nodeDisk interface {
	Folder() string
	// Sync makes earlier writes durable, also those of assay and the product's tools.
	Sync() error
	// Cut loses in one instant what has not reached the device, and refuses every later write.
	// The node's processes are stopped before it and killed right after it. A disk that can
	// choose among unsynced writes draws the lost ones from the seed.
	Cut(loss disk.Mode, seed uint64) error
	// Refuses returns the error of a write between Cut and Restore; nil if it passed.
	Refuses() error
	// Restore mounts what survived, once the node's processes are gone.
	Restore(ctx context.Context) (evidence string, err error)
	Remove() error
}

// Filesystems lists the values of Spec.FS for DiskImage.
func Filesystems() []string { return []string{image.Ext4, image.XFS} }

// CheckDisk returns a *machine.UnsupportedError if this machine lacks something for disks of
// this kind. An empty kind needs nothing; an empty fs means ext4.
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

// imageDisk is a disk of kind DiskImage. The kernel decides what a cut loses.
type imageDisk struct{ *image.Disk }

func (d imageDisk) Cut(disk.Mode, uint64) error { return d.Disk.Cut() }

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

func (c *Cluster) addDisks(ctx context.Context) error {
	nodes, _ := c.machinesByRole()
	for _, at := range nodes {
		if err := c.addDisk(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// disk is nil if the node has no disk of its own.
func (n *Node) disk() nodeDisk {
	n.cluster.mu.Lock()
	defer n.cluster.mu.Unlock()
	return n.cluster.disks[n.Name()]
}

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

// removeDisks kills every process that still uses a disk: only the cluster's own run there.
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

// HasDisk reports whether the node has a disk of its own.
func (n *Node) HasDisk() bool { return n.disk() != nil }

// CutDisk cuts the power of the node's disk: what has not reached the device is lost and later
// writes fail. Pause the node's processes before, so that they acknowledge nothing meanwhile,
// and kill them after. If the disk can choose (CanFail), the seed decides what is lost.
func (n *Node) CutDisk(loss disk.Mode, seed uint64) error { return n.disk().Cut(loss, seed) }

// DiskRefuses returns the error of a write to a disk without power; nil if it passed.
func (n *Node) DiskRefuses() error { return n.disk().Refuses() }

// RestoreDisk mounts what survived a cut. The node's processes must be gone.
func (n *Node) RestoreDisk(ctx context.Context) (evidence string, err error) {
	return n.disk().Restore(ctx)
}
