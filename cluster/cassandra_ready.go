package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// The probe is a table of which every node holds everything, so that a read
// with consistency ALL tells how many nodes the one that is asked believes
// alive. It stays empty.
const probeKeyspace = "assay_cluster"

// schemaBound is how long a change of the schema may take.
const schemaBound = time.Minute

// makeProbe makes the probe through the first node.
func (c *Cassandra) makeProbe(ctx context.Context) error {
	for _, statement := range []string{
		fmt.Sprintf("CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}", probeKeyspace, len(c.nodes)),
		fmt.Sprintf("CREATE TABLE %s.probe (id int PRIMARY KEY)", probeKeyspace),
	} {
		if _, err := c.nodes[0].queryWithin(ctx, schemaBound, consistencyOne, statement); err != nil {
			return fmt.Errorf("%s: %w", c.nodes[0].name(), err)
		}
	}
	return nil
}

// await asks a node until it is well. One that ends is told at once.
func (n *cassandraNode) await(ctx context.Context, well func(context.Context) error) error {
	process := n.process.Load()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := well(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-process.Exited():
			return reasoned(process)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (%w); its log ends with:\n%s", n.name(), ctx.Err(), err, process.Tail(10))
		case <-ticker.C:
		}
	}
}

// reasoned describes an end that nobody asked for. A node that gives up logs
// the reason and then pages of traces; so what it calls an error is repeated,
// with the causes.
func reasoned(process *Process) error {
	var reasons []string
	for line := range strings.Lines(process.Tail(400)) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, " ERROR ") || strings.HasPrefix(line, "Caused by:") ||
			strings.HasPrefix(line, "Exception ") || strings.HasPrefix(line, "Error:") || strings.HasPrefix(line, "Error occurred") {
			reasons = append(reasons, line)
		}
	}
	if len(reasons) == 0 {
		return process.Ended()
	}
	const most = 8
	return fmt.Errorf("%w\nerrors in it:\n%s", process.Ended(), strings.Join(reasons[max(len(reasons)-most, 0):], "\n"))
}

// until returns when nothing is missing any more.
func (c *Cassandra) until(ctx context.Context, missing func(context.Context) error) error {
	return until(ctx, 200*time.Millisecond, "the nodes of Cassandra", missing)
}

// Settled returns when every node that runs answers its clients and believes
// all nodes alive that run, and no others, and when none has hints on its disk
// for one of them (system_views.pending_hints): writes that it keeps for nodes
// that were away. Hints that are lost, or are not made since a node was away for
// longer than max_hint_window, are not missed: only a repair, or reading with
// consistency ALL, makes replicas equal.
func (c *Cassandra) Settled(ctx context.Context) error {
	settled := func(ctx context.Context) error {
		if err := c.allSeen(ctx); err != nil {
			return err
		}
		return c.ofAll(ctx, c.withoutHints)
	}
	if err := c.until(ctx, settled); err != nil || len(c.nodes) == 1 {
		return err
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait until kept writes can be seen: %w", ctx.Err())
	case <-time.After(hintsSeen):
	}
	return c.until(ctx, settled)
}

// hintsSeen is how long it may take until pending_hints shows the writes that a
// node keeps: they are flushed each second (hints_flush_period, as we set it),
// and the file is only counted when the dispatcher, which comes by every ten
// seconds, has closed it (HintsDispatchTrigger of Cassandra's source).
const hintsSeen = 12 * time.Second

// allSeen is nil if all nodes that run see one another alive.
func (c *Cassandra) allSeen(ctx context.Context) error {
	running := 0
	for i := range c.nodes {
		if c.process(i).Running() {
			running++
		}
	}
	return c.ofAll(ctx, func(ctx context.Context, n *cassandraNode) error { return c.sees(ctx, n, running) })
}

// ofAll asks all nodes that run at the same time.
func (c *Cassandra) ofAll(ctx context.Context, ask func(context.Context, *cassandraNode) error) error {
	failures := make([]error, len(c.nodes))
	asked := false
	var all sync.WaitGroup
	for i, node := range c.nodes {
		if !c.process(i).Running() {
			continue
		}
		asked = true
		all.Go(func() {
			if err := ask(ctx, node); err != nil {
				failures[i] = fmt.Errorf("%s: %w", node.name(), err)
			}
		})
	}
	all.Wait()
	if !asked {
		return errors.New("no node runs")
	}
	return errors.Join(failures...)
}

// sees is nil if the node believes that so many nodes are alive, itself
// included. If that is all of them, they have all answered it as well.
func (c *Cassandra) sees(ctx context.Context, node *cassandraNode, want int) error {
	alive := len(c.nodes)
	_, err := node.query(ctx, consistencyAll, "SELECT JSON id FROM "+probeKeyspace+".probe WHERE id = 0")
	refused := (*cqlError)(nil)
	switch {
	case errors.As(err, &refused) && refused.code == codeUnavailable:
		alive = refused.alive
	case err != nil:
		return err
	}
	if alive != want {
		return fmt.Errorf("it believes %d nodes alive, and %d run", alive, want)
	}
	return nil
}

// withoutHints is nil if the node keeps no writes for nodes that are up.
func (c *Cassandra) withoutHints(ctx context.Context, node *cassandraNode) error {
	rows, err := node.query(ctx, consistencyOne, "SELECT JSON address, status, files FROM system_views.pending_hints")
	if err != nil {
		return err
	}
	for _, row := range rows {
		var hint struct {
			Address string `json:"address"`
			Status  string `json:"status"`
			Files   int    `json:"files"`
		}
		if err := json.Unmarshal([]byte(row), &hint); err != nil {
			return err
		}
		if hint.Files > 0 && hint.Status == "UP" {
			return fmt.Errorf("it keeps %d files of writes for %s", hint.Files, hint.Address)
		}
	}
	return nil
}
