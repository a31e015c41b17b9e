// Package nodes has the servers that a run starts on this machine, or that several runs work on one
// after the other. What they do by themselves becomes events of the run's history; at its end they
// catch up, and their logs are kept.
//
// It must not know what a run does on them, nor what follows from what they did.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"assay/cluster"
	"assay/cluster/server"
	"assay/internal/procfs"
	"assay/internal/quantity"
	"assay/measure/servers"
	"assay/report"
	"assay/runner/record"
)

// Nodes are servers. Those of a run without servers of its own are nil, and do nothing.
type Nodes struct {
	*cluster.Cluster
	took time.Duration
	// mark writes what they do into the history of the run under way; nil while there is none.
	mark atomic.Pointer[Mark]
	// led is who took writes before the work, where another program leads the nodes.
	led string
	// EndedForGood says, once they were to catch up, why none of them starts again; empty if one
	// does.
	EndedForGood string
}

// Mark writes an event of package record into a history. It is called from several goroutines at once.
type Mark func(event, text string)

// Start starts the servers of a spec, whose programs are looked for in a folder first. Errors are
// those of cluster.Start.
func Start(ctx context.Context, spec cluster.Spec, programs string) (*Nodes, error) {
	n, began := &Nodes{}, time.Now()
	announce := func(event, text string) {
		if mark := n.mark.Load(); mark != nil {
			(*mark)(event, text)
		}
	}
	c, err := cluster.Start(ctx, spec, cluster.Options{
		Programs: programs,
		Announce: func(text string) { announce(record.EventCluster, text) },
		Died: func(node, how string) {
			text := fmt.Sprintf("%s ended by itself (%s)", node, how)
			if limit := spec.Limits.Memory; limit > 0 && cluster.RoleOf(node) == "" { // the limits are the nodes'
				text += "; it may use " + quantity.FormatBinary(limit) + " of memory, beyond which the kernel ends it"
			}
			announce(record.EventDied, text)
		},
	})
	if err != nil {
		return nil, err
	}
	n.Cluster, n.took = c, time.Since(began)
	return n, nil
}

// Report is what a result says of them.
func (n *Nodes) Report() *report.Cluster {
	spec := n.Spec()
	out := &report.Cluster{Spec: spec.String(), Network: cluster.NetworkOwn, StartSeconds: n.took.Seconds()}
	if why := n.NoNetwork(); why != nil {
		out.Network = "loopback: " + why.Error()
	}
	for _, x := range n.Nodes() {
		out.Nodes = append(out.Nodes, report.ClusterNode{
			Name: x.Name(), Address: x.Address(), Arbiter: x.Arbiter(),
			Memory: spec.Limits.Memory, CPU: spec.Limits.CPU, DiskWrite: spec.Limits.DiskWrite, Bandwidth: spec.Bandwidth,
		})
	}
	for _, x := range n.Servers() {
		if x.Role() != "" {
			out.Beside = append(out.Beside, report.BesideServer{Name: x.Name(), Role: x.Role(), Address: x.Address()})
		}
	}
	if p := n.Pooling(); p != nil {
		out.Pooler = &report.Pooler{Program: p.Program, Address: p.Address, Mode: p.Mode, Connections: p.Size}
	}
	if p := n.Proxying(); p != nil {
		out.Proxy = &report.Proxy{Program: p.Program, Address: p.Address, Check: p.Check}
	}
	return out
}

// Sources gives them, each time it is called, as something whose use of the machine is looked at.
func (n *Nodes) Sources() func() []servers.Source {
	looks, cpus := -1, float64(runtime.NumCPU())
	return func() (all []servers.Source) {
		looks++
		seen := procfs.Now()
		for _, x := range n.Servers() {
			all = append(all, source(x, seen, cpus, looks%filesEvery == 0))
		}
		return all
	}
}

// filesEvery is at which looks the files of nodes are looked at, which takes longer than the rest.
const filesEvery = 5

// source is a node, which may have processors of its own, with its processes
// among those that were seen, and its files or not.
func source(x *cluster.Node, seen procfs.Table, cpus float64, files bool) servers.Source {
	limits := x.Machine().Limits()
	of := servers.Node{Name: x.Name(), CPUs: cpus, Shared: true, OwnDisk: x.HasDisk(), MemoryLimit: limits.Memory, DiskWriteLimit: limits.DiskWrite}
	switch {
	case x.Role() == cluster.RolePooler: // one thread does its work
		of.CPUs = 1
	case limits.CPU > 0 && limits.CPU < cpus:
		of.CPUs, of.Shared = limits.CPU, false
	}
	return servers.Source{Node: of, Look: func() (servers.Usage, bool) {
		usage, known := servers.Look(processesOf(x, seen), x.Machine().Apart())
		if known && files && x.Role() == "" && !x.CanFail() { // a disk that stands still would be waited for
			usage.LookAtFiles(x.Folder())
		}
		return usage, known
	}}
}

// Processes are those of all of them that run.
func (n *Nodes) Processes() (all []int) {
	if n == nil {
		return nil
	}
	seen := procfs.Now()
	for _, x := range n.Servers() {
		all = append(all, processesOf(x, seen)...)
	}
	return all
}

// processesOf are the processes of a node among those that were seen; none if it is down.
func processesOf(node *cluster.Node, seen procfs.Table) (all []int) {
	for _, p := range seen.Tree(node.PID()) {
		if !p.Ended() {
			all = append(all, p.PID)
		}
	}
	return all
}

// Logged is how much each of them has written into its log so far, in bytes by its name.
func (n *Nodes) Logged() map[string]int64 {
	all := map[string]int64{}
	for _, x := range n.Servers() {
		if is, err := os.Stat(x.Log()); err == nil {
			all[x.Name()] = is.Size()
		}
	}
	return all
}

// KeepLogs copies their logs into a folder, each from this many bytes on.
func (n *Nodes) KeepLogs(to string, from map[string]int64) error {
	err := os.MkdirAll(to, 0o755)
	for _, x := range n.Servers() {
		if err == nil {
			err = copyFrom(from[x.Name()], filepath.Join(to, filepath.Base(x.Log())), x.Log())
		}
	}
	if err != nil {
		return fmt.Errorf("keep the nodes' logs: %w", err)
	}
	return nil
}

// copyFrom copies a file that may be large, from a byte on.
func copyFrom(first int64, to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	if _, err := source.Seek(first, io.SeekStart); err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// Loaded tells them that a run's work is to begin on them: they notice who takes writes.
func (n *Nodes) Loaded(ctx context.Context) {
	if n != nil {
		n.led, n.EndedForGood = n.leaders(ctx), ""
	}
}

// Announce has what they do by themselves marked from now on, until the returned function is called.
func (n *Nodes) Announce(mark Mark) (stop func()) {
	if n == nil {
		return func() {}
	}
	n.mark.Store(&mark)
	return func() { n.mark.Store(nil) }
}

// catchUpTimeout bounds the wait, after the last fault, until all nodes hold
// the same data again.
const catchUpTimeout = 2 * time.Minute

// CatchUp starts the nodes that are down, waits until all nodes hold the same data, for two minutes at
// most, and marks how long that took, and who took writes before the work and who does now, if that is
// known: a promotion may have come without a fault, or after it was healed.
func (n *Nodes) CatchUp(ctx context.Context, mark Mark) {
	waiting, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	began := time.Now()
	err := n.Heal(waiting)
	text := fmt.Sprintf("all nodes held the same data after %.1f s", time.Since(began).Seconds())
	if err != nil {
		text = fmt.Sprintf("not all nodes held the same data after %v: %v", time.Since(began).Round(time.Second), err)
	}
	if errors.Is(err, server.ErrOwnWrites) {
		mark(record.EventTwoPrimaries, "")
	}
	mark(record.EventSettled, text)
	if after := n.leaders(ctx); n.led != "" && after != "" {
		mark(record.EventLeader, n.led)
		mark(record.EventLeader, after)
	}
}

// Heal starts the nodes that are down, and returns when all nodes hold the same data.
func (n *Nodes) Heal(ctx context.Context) error {
	err := n.startAgain(ctx)
	if n.EndedForGood == "" { // else nobody is there to be waited for
		err = errors.Join(err, n.Settled(ctx))
	}
	return err
}

// primaryBound is how long it may take to find out who takes writes.
const primaryBound = 10 * time.Second

// leaders are the nodes that take writes, by name with commas between: more than one where each has
// a part of the data. Empty where there is no such node, or if it is not known.
func (n *Nodes) leaders(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, primaryBound)
	defer cancel()
	all, err := n.Primaries(ctx)
	if err != nil {
		return ""
	}
	var names []string
	for _, x := range all {
		names = append(names, x.Name())
	}
	return strings.Join(names, ",")
}

// startAgain starts servers that are down. Where none that holds data comes up again, since
// each ends by itself, EndedForGood is what the log of the first gives for it.
func (n *Nodes) startAgain(ctx context.Context) error {
	var all []error
	holding, ended := 0, 0
	for _, x := range decidersFirst(n.Servers()) {
		holds := x.Role() == "" && !x.Arbiter()
		if holds {
			holding++
		}
		if x.Running() {
			continue
		}
		err := x.Start(ctx)
		all = append(all, err)
		if end := (*server.EndedError)(nil); holds && errors.As(err, &end) {
			ended++
			n.EndedForGood = cmp.Or(n.EndedForGood, fmt.Sprintf("%s does not start again; its log: %s", x.Name(), end.Reason))
		}
	}
	if ended < holding {
		n.EndedForGood = ""
	}
	return errors.Join(all...)
}

// decidersFirst are the servers in another order: without those that decide who is the primary, a
// node may not come back.
func decidersFirst(all []*cluster.Node) []*cluster.Node {
	var deciders, others []*cluster.Node
	for _, x := range all {
		if cluster.Decides(x.Role()) {
			deciders = append(deciders, x)
		} else {
			others = append(others, x)
		}
	}
	return append(deciders, others...)
}
