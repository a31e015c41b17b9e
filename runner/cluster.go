package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"assay/check"
	"assay/cluster"
	"assay/cluster/server"
	"assay/fault"
	"assay/history"
	"assay/internal/quantity"
	"assay/report"
)

// folderLogs is the folder of the nodes' logs within a run's folder.
const folderLogs = "nodes"

// catchUpTimeout bounds the wait, after the last fault, until all nodes hold
// the same data again.
const catchUpTimeout = 2 * time.Minute

// provide starts the servers that the scenario asks for and sets the run's
// address. The returned function keeps their logs, ends them and removes their
// data.
func (r *run) provide(ctx context.Context) (stop func() error, err error) {
	if IsManifest(r.scenario.Cluster) {
		return r.apply(ctx)
	}
	if r.scenario.Kubernetes != "" {
		return r.attach(ctx)
	}
	if r.scenario.Cluster == "" {
		return func() error { return nil }, nil
	}
	spec, err := cluster.ParseSpec(r.scenario.Cluster)
	if err != nil {
		return nil, err
	}
	faults, err := r.scenario.faults()
	if err != nil {
		return nil, err
	}
	spec = fault.WithMeans(spec, faults)
	r.options.Progress.Stage("starting " + spec.String())
	began := time.Now()
	c, err := cluster.Start(ctx, spec, cluster.Options{
		Programs: r.options.Servers,
		Announce: func(text string) { r.announce(eventCluster, text) },
		Died: func(node, how string) {
			limit := spec.Limits.Memory
			if cluster.RoleOf(node) != "" { // the limits are the nodes'
				limit = 0
			}
			r.announce(eventDied, fmt.Sprintf("%s ended by itself (%s)%s", node, how, limitedTo(limit)))
		},
	})
	if err != nil {
		return nil, err
	}
	if err := r.refuseFaults(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r.cluster, r.address = c, c.Address()
	r.nodes = clusterOf(c, time.Since(began))
	return func() error { return errors.Join(r.keepLogs(c), c.Close()) }, nil
}

// refuseFaults says before anything is loaded which of the faults cannot be
// done to this cluster.
func (r *run) refuseFaults(ctx context.Context, c *cluster.Cluster) error {
	faults, err := r.scenario.faults()
	if err != nil || len(faults) == 0 {
		return err
	}
	return fault.Validate(ctx, faults, fault.Servers(c))
}

// keepLogs copies the nodes' logs into the run's folder, if there is one.
func (r *run) keepLogs(c *cluster.Cluster) error {
	if r.folder == "" || !exists(r.folder, FileScenario) {
		return nil
	}
	to := filepath.Join(r.folder, folderLogs)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("keep the nodes' logs: %w", err)
	}
	for _, n := range c.Servers() {
		if err := copyFile(filepath.Join(to, filepath.Base(n.Log())), n.Log()); err != nil {
			return fmt.Errorf("keep the nodes' logs: %w", err)
		}
	}
	return nil
}

func clusterOf(c *cluster.Cluster, took time.Duration) *report.Cluster {
	spec := c.Spec()
	out := &report.Cluster{Spec: spec.String(), Network: cluster.NetworkOwn, StartSeconds: took.Seconds()}
	if why := c.NoNetwork(); why != nil {
		out.Network = "loopback: " + why.Error()
	}
	for _, n := range c.Nodes() {
		out.Nodes = append(out.Nodes, report.ClusterNode{
			Name: n.Name(), Address: n.Address(), Arbiter: n.Arbiter(),
			Memory: spec.Limits.Memory, CPU: spec.Limits.CPU, DiskWrite: spec.Limits.DiskWrite, Bandwidth: spec.Bandwidth,
		})
	}
	for _, n := range c.Servers() {
		if n.Role() != "" {
			out.Beside = append(out.Beside, report.BesideServer{Name: n.Name(), Role: n.Role(), Address: n.Address()})
		}
	}
	if p := c.Pooling(); p != nil {
		out.Pooler = &report.Pooler{Program: p.Program, Address: p.Address, Mode: p.Mode, Connections: p.Size}
	}
	if p := c.Proxying(); p != nil {
		out.Proxy = &report.Proxy{Program: p.Program, Address: p.Address, Check: p.Check}
	}
	return out
}

// announce records what the cluster, or a server, does by itself, if there is a history. It
// is safe for concurrent use.
func (r *run) announce(event, text string) {
	if record := r.announcements.Load(); record != nil {
		(*record)(event, text)
	}
}

// limitedTo says what may have ended a server, if its memory is limited.
func limitedTo(memory int64) string {
	if memory == 0 {
		return ""
	}
	return "; it may use " + quantity.FormatBinary(memory) + " of memory, beyond which the kernel ends it"
}

// recordAnnouncements has announcements written into the history from now on, until the
// returned function is called.
func (r *run) recordAnnouncements(file *history.Writer, now func() int64) (stop func()) {
	record := func(event, text string) {
		_ = file.Mark(history.Event{At: now(), Name: event, Detail: text}) // a failure stays with the writer
	}
	r.announcements.Store(&record)
	return func() { r.announcements.Store(nil) }
}

// catchUp starts the nodes that are down, waits until all nodes hold the same data, and notes
// how long that took.
func (r *run) catchUp(ctx context.Context, file *history.Writer, now func() int64) {
	if r.cluster == nil {
		return
	}
	r.options.Progress.Stage("waiting until all nodes hold the same data")
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	began := time.Now()
	var text string
	err := r.startAgain(ctx)
	if r.endedForGood == "" { // else nobody is there to be waited for
		err = errors.Join(err, r.cluster.Settled(ctx))
	}
	if err != nil {
		text = fmt.Sprintf("not all nodes held the same data after %v: %v", time.Since(began).Round(time.Second), err)
		if errors.Is(err, server.ErrOwnWrites) {
			_ = file.Mark(history.Event{At: now(), Name: eventTwoPrimaries})
		}
	} else {
		text = fmt.Sprintf("all nodes held the same data after %.1f s", time.Since(began).Seconds())
	}
	_ = file.Mark(history.Event{At: now(), Name: eventSettled, Detail: text}) // a failure stays with the writer
}

// twoPrimaries is the check of a run that left two primaries, and nothing of any other. That what was
// acknowledged is there says little: one of the two is given up, and with it what only that has.
func twoPrimaries(r *report.Result) []check.Result {
	if r.Cluster == nil || !r.Cluster.TwoPrimaries {
		return nil
	}
	return []check.Result{{Name: checkPrimary, Verdict: check.Unknown, Detail: "two nodes take writes (" + r.Cluster.Settled +
		"); what was read back is one of them, whoever connects may reach the other, and what only one has is lost when the other is kept"}}
}

// checkPrimary is the check of clusters in which a node was left that takes writes beside the primary.
const checkPrimary = "primary"

// primaryBound is how long it may take to find out who takes writes.
const primaryBound = 10 * time.Second

// leaders are the nodes that take writes, by name with commas between: more than one where each has
// a part of the data. Empty where there is no such node, or if it is not known.
func (r *run) leaders(ctx context.Context) string {
	if r.cluster == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, primaryBound)
	defer cancel()
	all, err := r.cluster.Primaries(ctx)
	if err != nil {
		return ""
	}
	var names []string
	for _, n := range all {
		names = append(names, n.Name())
	}
	return strings.Join(names, ",")
}

// recordLeaders notes who took writes before the work and who does now, if that is known: a
// promotion may have come without a fault, or after it was healed.
func (r *run) recordLeaders(ctx context.Context, file *history.Writer, now func() int64) {
	after := r.leaders(ctx)
	if r.led == "" || after == "" {
		return
	}
	for _, name := range []string{r.led, after} {
		_ = file.Mark(history.Event{At: now(), Name: eventLeader, Detail: name}) // a failure stays with the writer
	}
}

// decidersFirst are the servers in another order: without those that decide who is the primary, a
// node may not come back.
func decidersFirst(all []*cluster.Node) []*cluster.Node {
	var deciders, others []*cluster.Node
	for _, n := range all {
		if cluster.Decides(n.Role()) {
			deciders = append(deciders, n)
		} else {
			others = append(others, n)
		}
	}
	return append(deciders, others...)
}

// restartable is a workload that wants its servers restarted between rounds.
type restartable interface {
	RestartWith(restart func(ctx context.Context, meanwhile func() error) error)
}

// offerRestart lets the workload restart the server, if there is one and it is
// the run's own. A cluster of several would elect or lose its quorum.
func (r *run) offerRestart() {
	w, wants := r.store.Work.(restartable)
	if !wants || r.cluster == nil || len(r.cluster.Nodes()) != 1 {
		return
	}
	node := r.cluster.Nodes()[0]
	w.RestartWith(func(ctx context.Context, meanwhile func() error) error {
		if err := node.Stop(ctx); err != nil {
			return err
		}
		if err := errors.Join(meanwhile(), node.Start(ctx)); err != nil {
			return err
		}
		return r.cluster.Settled(ctx)
	})
}
