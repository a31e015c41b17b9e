package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"assay/cluster"
	"assay/cluster/disk"
)

// diskFailure is what a fault asks of the disks.
func diskFailure(f Fault, seed uint64) disk.Failure {
	failure := disk.Failure{Files: f.Files, Old: f.Reads == ReadsOld, Seed: seed}
	switch f.Action {
	case SyncError:
		failure.Kind = disk.SyncError
	case DiskFull:
		failure.Kind = disk.Full
	case ReadError:
		failure.Kind = disk.ReadError
	case BitFlip:
		failure.Kind = disk.BitFlip
	}
	return failure
}

// brokenDisks has the disks of nodes fail, until it is undone.
type brokenDisks struct {
	nodes   []*brokenDisk
	asked   disk.Failure
	acquire acquirer
}

// brokenDisk is a node with the failure of its disk.
type brokenDisk struct {
	*cluster.Node
	failing *disk.Failing // nil until it is brought about
	effect  disk.Effect   // in all, once it is undone
}

func failDisks(nodes []*cluster.Node, asked disk.Failure, acquire acquirer) *brokenDisks {
	b := &brokenDisks{asked: asked, acquire: acquire}
	for _, n := range nodes {
		b.nodes = append(b.nodes, &brokenDisk{Node: n})
	}
	return b
}

func (b *brokenDisks) inject(context.Context) error {
	return forEach(b.nodes, func(n *brokenDisk) (err error) {
		n.failing, err = n.FailDisk(b.asked)
		return err
	})
}

// verify is that the disk has refused something, or that the bit that it has inverted
// is read so. Where nobody has asked, the last look tries it itself; only an fsync must
// be the server's, since there is but one that fails.
func (b *brokenDisks) verify(_ context.Context, last bool) (observation, error) {
	return observeEach(b.nodes, func(n *brokenDisk) (observation, error) {
		if n.failing == nil {
			return observation{text: "its disk does not fail"}, nil
		}
		effect, err := n.failing.Effect()
		if err != nil {
			return observation{}, err
		}
		switch {
		case b.asked.Kind == disk.BitFlip:
			return n.inverted(effect)
		case effect.Times > 0:
			return observation{proven: true, text: describeEffect(b.asked.Kind, effect)}, nil
		case b.asked.Kind == disk.SyncError:
			return observation{text: "no file with unsynced writes was synced"}, nil
		case !last:
			return observation{text: "nothing has met it yet"}, nil
		case b.asked.Kind == disk.Full:
			return n.refusesFile()
		}
		return n.refusesReads(b.asked.Files)
	})
}

func describeEffect(kind disk.Kind, e disk.Effect) string {
	switch kind {
	case disk.SyncError:
		return fmt.Sprintf("the fsync of %s failed (%v)", e.File, syscall.EIO)
	case disk.Full:
		return fmt.Sprintf("%d operations were refused (%v), the last in %s", e.Times, syscall.ENOSPC, e.File)
	}
	return fmt.Sprintf("%d reads failed (%v), the last of %s", e.Times, syscall.EIO, e.File)
}

// inverted looks at the byte from outside. That the server has written there since is
// no sign against it.
func (n *brokenDisk) inverted(e disk.Effect) (observation, error) {
	f, err := os.Open(filepath.Join(n.DiskFolder(), e.File))
	if err != nil {
		return observation{}, err
	}
	defer f.Close()
	var one [1]byte
	if _, err := f.ReadAt(one[:], e.Offset); err != nil && err != io.EOF {
		return observation{}, err
	}
	text := fmt.Sprintf("byte %d of %s was %#02x and is %#02x", e.Offset, e.File, e.Was, e.Is)
	if one[0] != e.Is {
		text += fmt.Sprintf("; the server has made it %#02x since", one[0])
	}
	return observation{proven: true, text: text}, nil
}

// refusesFile tries to make a file.
func (n *brokenDisk) refusesFile() (observation, error) {
	f, err := os.CreateTemp(n.DiskFolder(), "assay-probe-")
	if err == nil {
		return observation{text: "a file could be made"}, errors.Join(f.Close(), os.Remove(f.Name()))
	}
	return observation{proven: errors.Is(err, syscall.ENOSPC), text: fmt.Sprintf("the server needed no space; making a file is refused (%v)", rootCause(err))}, nil
}

// refusesReads tries to read a file that is meant and is not empty.
func (n *brokenDisk) refusesReads(pattern string) (observation, error) {
	found := observation{text: "there is no file to be read that is meant"}
	root := n.DiskFolder()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // gone meanwhile, or no file
		}
		name, err := filepath.Rel(root, path)
		if err != nil || !disk.Match(pattern, name) {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return nil
		}
		defer f.Close()
		if _, err = f.Read(make([]byte, 1)); errors.Is(err, io.EOF) {
			return nil
		}
		found = observation{proven: errors.Is(err, syscall.EIO), text: fmt.Sprintf("the server read nothing from its disk; a read of %s by assay gave %v", name, rootCause(err))}
		return filepath.SkipAll
	})
	return found, err
}

func (b *brokenDisks) undo(context.Context) error {
	return forEach(b.nodes, func(n *brokenDisk) (err error) {
		if n.failing != nil {
			n.effect, err = n.failing.End()
		}
		return err
	})
}

// restore starts a server that has ended because of its disk.
func (b *brokenDisks) restore(ctx context.Context) (string, error) {
	return describeEach(b.nodes, func(n *brokenDisk) (string, error) {
		done := "its disk works again, "
		if b.asked.Kind == disk.BitFlip {
			done = "the server has written over the byte, "
			if n.effect.Undone {
				done = "the byte is what it was, "
			}
		}
		text, err := awaitReachable(ctx, n.Node, b.acquire)
		return done + text, err
	})
}

// checkFaultyDisks tells whether the nodes have disks that fail on demand.
func checkFaultyDisks(f Fault, c *cluster.Cluster) error {
	for _, n := range c.Nodes() {
		if !n.CanFail() {
			return &UnavailableError{Action: f.Action, Reason: n.Name() + " has no disk that fails on demand",
				Instead: "start the cluster with disk=" + cluster.DiskFaulty}
		}
	}
	return nil
}
