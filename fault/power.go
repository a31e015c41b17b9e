package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/cluster"
	"assay/cluster/disk"
	"assay/cluster/server"
)

// powerCutter is an injector that cuts the power at one moment.
type powerCutter interface {
	// at is that moment; zero if it never came.
	at() time.Time
}

// powerCut stops the file systems of nodes in one instant and kills their servers;
// healing starts them from what was on the disks.
type powerCut struct {
	nodes []*darkNode
	loss  disk.Mode
	seed  uint64
	cut   time.Time
}

// darkNode is a node with what its disk was seen to do.
type darkNode struct {
	*cluster.Node
	before   []server.ProcessID
	cut      bool
	refusal  error // of a write after the cut
	evidence string
}

func cutPower(nodes []*cluster.Node, loss disk.Mode, seed uint64) *powerCut {
	p := &powerCut{loss: cmp.Or(loss, disk.Worst), seed: seed}
	for _, n := range nodes {
		p.nodes = append(p.nodes, &darkNode{Node: n})
	}
	return p
}

func (p *powerCut) at() time.Time { return p.cut }

// inject has all processes stand still first, so that there is one moment after which
// none of the nodes acknowledges anything; then the disks are cut, and then the
// processes killed.
func (p *powerCut) inject(context.Context) error {
	err := forEach(p.nodes, func(n *darkNode) (err error) {
		if n.before, err = n.Processes(); err != nil {
			return err
		}
		return n.Pause()
	})
	if err != nil {
		return err
	}
	p.cut = time.Now()
	err = forEach(p.nodes, func(n *darkNode) error {
		err := n.CutDisk(p.loss, p.seed)
		n.cut = err == nil
		return err
	})
	return errors.Join(err, forEach(p.nodes, func(n *darkNode) error {
		err := n.Kill()
		if n.cut {
			n.refusal = n.DiskRefuses()
		}
		return err
	}))
}

// verify is that a write was refused and that every process is gone.
func (p *powerCut) verify(context.Context, bool) (observation, error) {
	return observeEach(p.nodes, func(n *darkNode) (observation, error) {
		alive := slices.ContainsFunc(n.before, server.ProcessID.Alive)
		switch {
		case !n.cut:
			return observation{text: "its disk was not cut"}, nil
		case n.refusal == nil:
			return observation{text: "its disk still takes writes"}, nil
		case alive:
			return observation{text: "not all of its processes are gone"}, nil
		}
		return observation{proven: true, text: fmt.Sprintf("a write to its disk is refused (%v), its %d processes are gone", rootCause(n.refusal), len(n.before))}, nil
	})
}

// rootCause is the innermost of an error's causes, without the paths around it.
func rootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// undo mounts the disks again.
func (p *powerCut) undo(ctx context.Context) error {
	return forEach(p.nodes, func(n *darkNode) (err error) {
		if !n.cut {
			if n.Running() {
				return n.Resume()
			}
			return nil
		}
		n.evidence, err = n.RestoreDisk(ctx)
		return err
	})
}

func (p *powerCut) restore(ctx context.Context) (string, error) {
	return describeEach(p.nodes, func(n *darkNode) (string, error) {
		if n.Running() { // it was not cut
			return "it runs", nil
		}
		began := time.Now()
		text, err := startAgain(ctx, n.Node)
		return fmt.Sprintf("%s, %s, after a recovery of %d ms", n.evidence, text, time.Since(began).Milliseconds()), err
	})
}

// checkDisks tells whether the nodes have disks whose power can be cut.
func checkDisks(f Fault, c *cluster.Cluster) error {
	for _, n := range c.Nodes() {
		if !n.HasDisk() {
			return &UnavailableError{Action: f.Action, Reason: n.Name() + " has no disk of its own",
				Instead: "start the cluster with disk=" + cluster.DiskImage}
		}
		if f.Loss != "" && !n.CanFail() {
			return &UnavailableError{Action: f.Action, Reason: "the disk of " + n.Name() + " does not let one choose what is lost",
				Instead: "start the cluster with disk=" + cluster.DiskFaulty}
		}
	}
	return nil
}

// WithDisks gives the nodes disks of their own if a fault needs them and the spec does
// not say which.
func WithDisks(s cluster.Spec, faults []Fault) cluster.Spec {
	if s.Disk != "" {
		return s
	}
	for _, f := range faults {
		switch f.Action {
		case PowerCut:
			s.Disk = cmp.Or(s.Disk, cluster.DiskImage)
			if f.Loss != "" {
				s.Disk = cluster.DiskFaulty
			}
		case SyncError, DiskFull, ReadError, BitFlip:
			s.Disk = cluster.DiskFaulty
		}
	}
	return s
}
