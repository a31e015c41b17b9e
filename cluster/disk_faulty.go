package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"assay/cluster/disk"
	"assay/cluster/machine"
)

func checkFaulty(kind string) error {
	var missing *disk.MissingError
	if err := disk.Missing(); errors.As(err, &missing) {
		return &machine.UnsupportedError{What: "disk=" + kind, Reason: missing.Reason + "; " + missing.Remedy}
	}
	return nil
}

type faultyDisk struct {
	*disk.Disk
	folder string

	mu   sync.Mutex
	loss disk.Loss // of the last cut
}

// openFaulty lets others pass through the folder without listing it: servers run as other users.
func openFaulty(folder string, o disk.Options) (*faultyDisk, error) {
	if err := os.MkdirAll(folder, 0o711); err != nil {
		return nil, err
	}
	d, err := disk.Open(folder, o)
	if err != nil {
		return nil, fmt.Errorf("make a disk in %s: %w", folder, err)
	}
	return &faultyDisk{Disk: d, folder: folder}, nil
}

func (d *faultyDisk) Cut(loss disk.Mode, seed uint64) error {
	lost, err := d.Disk.Cut(loss, seed)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loss = lost
	return err
}

func (d *faultyDisk) Refuses() error {
	f, err := os.Create(filepath.Join(d.Folder(), "refused"))
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (d *faultyDisk) Restore(context.Context) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loss.String(), d.Disk.Restore()
}

func (d *faultyDisk) Remove() error {
	if err := d.Close(); err != nil {
		return err
	}
	return os.RemoveAll(d.folder)
}

// OwnDisks reports whether the nodes' disks are assay's own, whose speed proves nothing.
func (s Spec) OwnDisks() bool { return s.Disk == DiskFaulty || s.Disk == DiskFaultyJournal }

// CanFail reports whether the node's disk fails on demand and chooses what a cut loses.
func (n *Node) CanFail() bool {
	_, can := n.disk().(*faultyDisk)
	return can
}

// FailDisk makes the node's disk fail; see disk.Disk.Fail. CanFail must be true.
func (n *Node) FailDisk(f disk.Failure) (*disk.Failing, error) {
	d, can := n.disk().(*faultyDisk)
	if !can {
		return nil, fmt.Errorf("%s has no disk that fails on demand (cluster option disk=%s)", n.Name(), DiskFaulty)
	}
	return d.Fail(f)
}

// DiskFolder is the disk's mount point; the paths of a disk.Effect are below it.
func (n *Node) DiskFolder() string { return n.disk().Folder() }
