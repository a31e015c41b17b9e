// Package nodes has the servers that a run, or several runs in turn, use on this machine. It
// records in the run's history what the servers do by themselves, has them catch up at the end,
// and keeps their logs.
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
	"assay/store"
)

// Nodes are servers. Nil stands for a run without servers of its own, and does nothing.
type Nodes struct {
	*cluster.Cluster
	took time.Duration
	// mark writes into the history of the current run; nil without one.
	mark atomic.Pointer[Mark]
	// led is who took writes before the work, if another program leads the nodes.
	led string
	// EndedForGood says, after CatchUp, why no node starts again; empty if one does.
	EndedForGood string
}

// Mark writes an event of package record into a history. Several goroutines call it.
type Mark func(event, text string)

// Start starts the servers of a spec. The folder programs is searched first. Errors are
// cluster.Start's.
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

// Report describes the nodes for a result.
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

// Sources returns a function that lists the nodes as sources of package servers.
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

// filesEvery is the number of looks for one at the nodes' files, which is slow.
const filesEvery = 5

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

// Processes are the ids of all running processes of the nodes.
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

func processesOf(node *cluster.Node, seen procfs.Table) (all []int) {
	for _, p := range seen.Tree(node.PID()) {
		if !p.Ended() {
			all = append(all, p.PID)
		}
	}
	return all
}

// Logged is the present size of each log, in bytes by node name.
func (n *Nodes) Logged() map[string]int64 {
	all := map[string]int64{}
	for _, x := range n.Servers() {
		if is, err := os.Stat(x.Log()); err == nil {
			all[x.Name()] = is.Size()
		}
	}
	return all
}

// KeepLogs copies the logs into a folder, each from its offset in from on.
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

// Loaded notes who takes writes before the work begins.
func (n *Nodes) Loaded(ctx context.Context) {
	if n != nil {
		n.led, n.EndedForGood = n.leaders(ctx), ""
	}
}

// Failover are the settings of who leads the nodes, if another program does, on which it depends what
// a failover or a primary alone may lose.
func (n *Nodes) Failover() (all []store.Setting) {
	if n == nil || n.LedBy() == "" {
		return nil
	}
	all = append(all, store.Setting{Name: store.SettingLedBy, Value: n.LedBy()})
	if version := n.ManagerVersion(); version != "" {
		all = append(all, store.Setting{Name: store.SettingManagerVersion, Value: version})
	}
	for _, bound := range []string{"maximum_lag_on_failover", "ttl", "synchronous_mode"} {
		if asked := n.Spec().Options[bound]; asked != "" {
			all = append(all, store.Setting{Name: bound, Value: asked})
		}
	}
	return all
}

// Announce has what the nodes do by themselves marked until stop is called.
func (n *Nodes) Announce(mark Mark) (stop func()) {
	if n == nil {
		return func() {}
	}
	n.mark.Store(&mark)
	return func() { n.mark.Store(nil) }
}

const catchUpTimeout = 2 * time.Minute

// CatchUp starts nodes that are down, and waits up to two minutes until all hold the same data.
// It marks how long that took and, if known, who took writes before the work and who does
// after: a promotion may come without a fault or after it was healed.
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

// Heal starts nodes that are down, and returns when all hold the same data.
func (n *Nodes) Heal(ctx context.Context) error {
	err := n.startAgain(ctx)
	if n.EndedForGood == "" { // otherwise there is no node to wait for
		err = errors.Join(err, n.Settled(ctx))
	}
	return err
}

const primaryBound = 10 * time.Second

// leaders are the names of the nodes that take writes, with commas. Shards have several. Empty
// if there is none or it is unknown.
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

// startAgain starts servers that are down. If every node with data ends by itself, EndedForGood
// is the reason in the first one's log. A node that the machine may have ended still has its data.
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
		if end := (*server.EndedError)(nil); holds && errors.As(err, &end) && !end.ByMachine {
			ended++
			n.EndedForGood = cmp.Or(n.EndedForGood, fmt.Sprintf("%s does not start again; its log: %s", x.Name(), end.Reason))
		}
	}
	if ended < holding {
		n.EndedForGood = ""
	}
	return errors.Join(all...)
}

// decidersFirst orders the servers that decide who is the primary first: without them, a node
// may not come back.
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
