package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"assay/cluster"
	"assay/cluster/disk"
	"assay/cluster/server"
)

// powerCut stops the nodes' file systems in one instant and kills their servers. Healing starts
// them from what was on the disks.
func powerCut() Action {
	return Action{Name: "power-cut", Targets: nodeTargets(), Lasts: true, CutsPower: true, part: partProcess, state: "without power", silences: true, restarts: true,
		Value:  oneOf("LOSS", disk.Worst, "worst, with disk=faulty", "a power cut cannot lose %q", "worst, some or torn, on nodes with disk=faulty", disk.Modes()...),
		Effect: "stops the node's file system in one instant and kills its server; healing starts it from what was on its disk (cluster option disk=image, the default; or disk=faulty, which loses all that was not synced (worst), or what the seed chooses of it, by pages (some) or sectors (torn))",
		disk: func(f Fault) string {
			if f.Value != nil {
				return cluster.DiskFaulty
			}
			return cluster.DiskImage
		},
		check: checkDisks,
		on: func(t task) (injector, error) {
			p := &cutPower{loss: valueOf[disk.Mode](t.Fault), seed: t.seed}
			p.together = onEach(t.nodes, func(n *cluster.Node) oneNode {
				p.nodes = append(p.nodes, &darkNode{Node: n})
				return p.nodes[len(p.nodes)-1]
			})
			return p, nil
		}}
}

func checkDisks(f Fault, c *cluster.Cluster) error {
	for _, n := range c.Nodes() {
		if !n.HasDisk() {
			return &UnavailableError{Action: f.Action, Reason: n.Name() + " has no disk of its own",
				Instead: "start the cluster with disk=" + cluster.DiskImage}
		}
		if f.Value != nil && !n.CanFail() {
			return &UnavailableError{Action: f.Action, Reason: "the disk of " + n.Name() + " does not let one choose what is lost",
				Instead: "start the cluster with disk=" + cluster.DiskFaulty}
		}
	}
	return nil
}

type cutPower struct {
	together
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
	dark     bool  // a cut was begun, and its disk has not been restored since
	refusal  error // of a write after the cut
	evidence string
}

func (p *cutPower) tell(i *Injection) { i.CutAt = p.cut }

// inject first stops all processes, so that after one moment no node acknowledges anything. Then it
// cuts the disks, and then it kills the processes.
func (p *cutPower) inject(context.Context) error {
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
		n.dark = true // even if it fails: it may have cut the disk in part
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

func (n *darkNode) inject(context.Context) error { return nil }

// verify checks that a write was refused and that every process is gone.
func (n *darkNode) verify(context.Context, bool) (observation, error) {
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
}

func rootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// undo restores a disk after each cut that was begun. Nobody may use the disk then.
func (n *darkNode) undo(ctx context.Context) (err error) {
	switch {
	case !n.dark && n.Running():
		return n.Resume()
	case !n.dark:
		return nil
	}
	if err := n.Kill(); err != nil {
		return err
	}
	n.evidence, err = n.RestoreDisk(ctx)
	n.dark = err != nil
	return err
}

func (n *darkNode) restore(ctx context.Context) (string, error) {
	if n.Running() { // its power was not cut
		return "it runs", nil
	}
	began := time.Now()
	text, err := startAgain(ctx, n.Node)
	return fmt.Sprintf("%s, %s, after a recovery of %d ms", n.evidence, text, time.Since(began).Milliseconds()), err
}
