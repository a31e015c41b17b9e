package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"assay/cluster"
	"assay/cluster/disk"
	"assay/cluster/kubernetes"
)

func fsyncError() Action {
	// Reads return the new data on ext4 and XFS until the page is evicted, and the last synced
	// data on Btrfs.
	const written, synced = "new", "old"
	return Action{Name: "fsync-error", Targets: nodeTargets(), Lasts: true, FailsDisk: true, part: partDisk, state: "failing to sync",
		Value:  oneOf("READS", written, written, "reads cannot give %q", "new or old, which is what reads give after it", written, synced),
		Effect: "has one fsync fail, the next of a file with unsynced writes; these are never saved, and reads give them (new) or what was synced before (old). This fault and the next three take the cluster option disk=faulty by themselves",
		disk:   faultyDisk,
		check:  checkFaultyDisks,
		on: breaking(diskFailure{
			asked: func(f Fault) disk.Failure { return disk.Failure{Kind: disk.SyncError, Old: f.Value == synced} },
			struck: func(_ *brokenDisk, e disk.Effect) (observation, error) {
				return observation{proven: true, text: fmt.Sprintf("the fsync of %s failed (%v)", e.File, syscall.EIO)}, nil
			},
			// It must be the server's write, since only one fails.
			probe: func(*brokenDisk) (observation, error) {
				return observation{text: "no file with unsynced writes was synced"}, nil
			},
			mended: worksAgain,
		})}
}

func diskFull() Action {
	return Action{Name: "disk-full", Targets: nodeTargets(), Lasts: true, FailsDisk: true, part: partDisk, state: "full",
		Effect: "refuses what would take more space on the node's disk (ENOSPC)",
		disk:   faultyDisk,
		check:  checkFaultyDisks,
		on: breaking(diskFailure{
			asked: func(Fault) disk.Failure { return disk.Failure{Kind: disk.Full} },
			struck: func(_ *brokenDisk, e disk.Effect) (observation, error) {
				return observation{proven: true, text: fmt.Sprintf("%d operations were refused (%v), the last in %s", e.Times, syscall.ENOSPC, e.File)}, nil
			},
			probe:  refuseFile,
			mended: worksAgain,
		}),
		Pods: "refuses writes to the files of the pod's volume (ENOSPC, Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.IOChaos, spec: func(_ Fault, pod kubernetes.Pod) map[string]any {
			// An errno of Linux, whatever runs assay: errno(3).
			return onVolume(pod, map[string]any{"action": "fault", "errno": int64(28), "methods": []any{"write", "create", "mkdir", "mknod"}})
		}}}
}

func refuseFile(n *brokenDisk) (observation, error) {
	f, err := os.CreateTemp(n.DiskFolder(), "assay-probe-")
	if err == nil {
		return observation{text: "a file could be made"}, errors.Join(f.Close(), os.Remove(f.Name()))
	}
	return observation{proven: errors.Is(err, syscall.ENOSPC), text: fmt.Sprintf("the server needed no space; making a file is refused (%v)", rootCause(err))}, nil
}

func readError() Action {
	return Action{Name: "read-error", Value: files(), Targets: nodeTargets(), Lasts: true, FailsDisk: true, part: partDisk, state: "unreadable",
		Effect: "has reads of these files from the node's disk fail (EIO), by a pattern such as *.ibd or base/*/*",
		disk:   faultyDisk,
		check:  checkFaultyDisks,
		on: breaking(diskFailure{
			asked: func(f Fault) disk.Failure { return disk.Failure{Kind: disk.ReadError, Files: valueOf[string](f)} },
			struck: func(_ *brokenDisk, e disk.Effect) (observation, error) {
				return observation{proven: true, text: fmt.Sprintf("%d reads failed (%v), the last of %s", e.Times, syscall.EIO, e.File)}, nil
			},
			probe:  refuseRead,
			mended: worksAgain,
		}),
		Pods: "has reads of these files of the pod's volume fail (EIO, Chaos Mesh)",
		pods: podMeans{chaos: kubernetes.IOChaos, spec: func(f Fault, pod kubernetes.Pod) map[string]any {
			spec := onVolume(pod, map[string]any{"action": "fault", "errno": int64(5), "methods": []any{"read"}})
			if f.Value != nil {
				spec["path"] = path.Join(pod.Volumes[0].Path, valueOf[string](f))
			}
			return spec
		}}}
}

func refuseRead(n *brokenDisk) (observation, error) {
	found := observation{text: "there is no file to be read that is meant"}
	root := n.DiskFolder()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // gone meanwhile, or no file
		}
		name, err := filepath.Rel(root, path)
		if err != nil || !disk.Match(n.failure.Files, name) {
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

func bitFlip() Action {
	return Action{Name: "bit-flip", Value: files(), Targets: nodeTargets(), Lasts: true, FailsDisk: true, part: partDisk, state: "corrupted",
		Effect: "inverts one bit of one of these files on the node's disk, chosen by the seed; healing inverts it again unless the server has written over it",
		disk:   faultyDisk,
		check:  checkFaultyDisks,
		on: breaking(diskFailure{
			asked:  func(f Fault) disk.Failure { return disk.Failure{Kind: disk.BitFlip, Files: valueOf[string](f)} },
			struck: seeInverted,
			probe: func(n *brokenDisk) (observation, error) {
				e, err := n.failing.Effect()
				return observation{text: inverted(e) + "; nobody has read it"}, err
			},
			mended: func(e disk.Effect) string {
				if e.Undone {
					return "the byte is what it was, "
				}
				return "the server has written over the byte, "
			},
		})}
}

// seeInverted looks from outside at the byte that was read. If the server has overwritten it since,
// that is no evidence against the fault.
func seeInverted(n *brokenDisk, e disk.Effect) (observation, error) {
	f, err := os.Open(filepath.Join(n.DiskFolder(), e.File))
	if err != nil {
		return observation{}, err
	}
	defer f.Close()
	var one [1]byte
	if _, err := f.ReadAt(one[:], e.Offset); err != nil && err != io.EOF {
		return observation{}, err
	}
	text := inverted(e)
	if one[0] != e.Is {
		text += fmt.Sprintf("; the server has made it %#02x since", one[0])
	}
	return observation{proven: true, text: text}, nil
}

func inverted(e disk.Effect) string {
	return fmt.Sprintf("byte %d of %s was %#02x and is %#02x", e.Offset, e.File, e.Was, e.Is)
}

type diskFailure struct {
	asked func(f Fault) disk.Failure
	// struck observes a failure that has struck. probe tries one that has not, at the last look.
	struck func(n *brokenDisk, e disk.Effect) (observation, error)
	probe  func(n *brokenDisk) (observation, error)
	// mended says what became of the disk.
	mended func(e disk.Effect) string
}

// brokenDisk is a node whose disk fails until undo.
type brokenDisk struct {
	*cluster.Node
	diskFailure
	failure disk.Failure
	acquire acquirer
	failing *disk.Failing // nil until it is brought about
	effect  disk.Effect   // in all, once it is undone
}

func breaking(how diskFailure) func(task) (injector, error) {
	return func(t task) (injector, error) {
		failure := how.asked(t.Fault)
		failure.Seed = t.seed
		return onEach(t.nodes, func(n *cluster.Node) oneNode {
			return &brokenDisk{Node: n, diskFailure: how, failure: failure, acquire: t.acquire}
		}), nil
	}
}

func checkFaultyDisks(f Fault, c *cluster.Cluster) error {
	for _, n := range c.Nodes() {
		if !n.CanFail() {
			return &UnavailableError{Action: f.Action, Reason: n.Name() + " has no disk that fails on demand",
				Instead: "start the cluster with disk=" + cluster.DiskFaulty}
		}
	}
	return nil
}

func faultyDisk(Fault) string { return cluster.DiskFaulty }

func (n *brokenDisk) inject(context.Context) (err error) {
	n.failing, err = n.FailDisk(n.failure)
	return err
}

func (n *brokenDisk) verify(_ context.Context, last bool) (observation, error) {
	if n.failing == nil {
		return observation{text: "its disk does not fail"}, nil
	}
	effect, err := n.failing.Effect()
	switch {
	case err != nil:
		return observation{}, err
	case effect.Times > 0:
		return n.struck(n, effect)
	case last:
		return n.probe(n)
	}
	return observation{text: "nothing has met it yet"}, nil
}

func (n *brokenDisk) undo(context.Context) (err error) {
	if n.failing == nil {
		return nil
	}
	if n.effect, err = n.failing.End(); err == nil {
		n.failing = nil
	}
	return err
}

// restore starts a server that ended because of its disk.
func (n *brokenDisk) restore(ctx context.Context) (string, error) {
	text, err := awaitReachable(ctx, n.Node, n.acquire)
	return n.mended(n.effect) + text, err
}

func worksAgain(disk.Effect) string { return "its disk works again, " }
