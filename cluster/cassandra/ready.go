package cassandra

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/cluster/server"
	"assay/internal/wait"
)

// A read of this empty table with consistency ALL tells how many nodes the asked node believes
// alive, since all nodes are its replicas.
const probeKeyspace = "assay_cluster"

const schemaBound = time.Minute

func (c *Ring) makeProbe(ctx context.Context) error {
	for _, statement := range []string{
		fmt.Sprintf("CREATE KEYSPACE %s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': %d}", probeKeyspace, len(c.nodes)),
		fmt.Sprintf("CREATE TABLE %s.probe (id int PRIMARY KEY)", probeKeyspace),
	} {
		if _, err := queryWithin(ctx, c.nodes[0], schemaBound, gocql.One, statement); err != nil {
			return fmt.Errorf("%s: %w", c.nodes[0].Name, err)
		}
	}
	return nil
}

func (c *Ring) until(ctx context.Context, missing func(context.Context) error) error {
	return server.Until(ctx, 200*time.Millisecond, "the nodes of Cassandra", missing)
}

// Settled returns when every running node answers its clients and believes exactly the running
// nodes alive, and no node has hints for another (system_views.pending_hints): writes kept for
// nodes that were away. It cannot know of lost hints, nor of writes during an absence longer than
// max_hint_window. Only a repair, or reads with consistency ALL, make replicas equal then.
func (c *Ring) Settled(ctx context.Context) error {
	settled := func(ctx context.Context) error {
		if err := c.allSeen(ctx); err != nil {
			return err
		}
		return c.ofAll(ctx, c.withoutHints)
	}
	if err := c.until(ctx, settled); err != nil || len(c.nodes) == 1 {
		return err
	}
	if err := wait.Pause(ctx, hintsSeen); err != nil {
		return fmt.Errorf("wait until kept writes can be seen: %w", err)
	}
	return c.until(ctx, settled)
}

// hintsSeen is how long pending_hints may lag behind a node's kept writes. They are flushed each
// second (hints_flush_period, as we set it), and a file counts only once the dispatcher, which runs
// every ten seconds, has closed it (HintsDispatchTrigger of Cassandra's source).
const hintsSeen = 12 * time.Second

func (c *Ring) allSeen(ctx context.Context) error {
	running := 0
	for i := range c.nodes {
		if c.nodes[i].Running() {
			running++
		}
	}
	return c.ofAll(ctx, func(ctx context.Context, n *server.Node) error { return c.sees(ctx, n, running) })
}

func (c *Ring) ofAll(ctx context.Context, ask func(context.Context, *server.Node) error) error {
	answers, failures := server.AskAll(c.nodes, func(i int) (struct{}, error) { return struct{}{}, ask(ctx, c.nodes[i]) })
	if len(answers)+len(failures) == 0 {
		return server.NoneRuns(c.nodes)
	}
	var all []error
	for _, i := range slices.Sorted(maps.Keys(failures)) {
		all = append(all, fmt.Errorf("%s: %w", c.nodes[i].Name, failures[i]))
	}
	return errors.Join(all...)
}

// sees is nil if the node believes want nodes alive, itself included. If these are all nodes, they
// have also answered it.
func (c *Ring) sees(ctx context.Context, node *server.Node, want int) error {
	alive := len(c.nodes)
	_, err := query(ctx, node, gocql.All, "SELECT JSON id FROM "+probeKeyspace+".probe WHERE id = 0")
	refused := (*gocql.RequestErrUnavailable)(nil)
	switch {
	case errors.As(err, &refused):
		alive = refused.Alive
	case err != nil:
		return err
	}
	if alive != want {
		return fmt.Errorf("it believes %d nodes alive, and %d run", alive, want)
	}
	return nil
}

// Parameter asks node i for the value of a key of cassandra.yaml (system_views.settings).
func (c *Ring) Parameter(ctx context.Context, i int, name string) (string, error) {
	rows, err := query(ctx, c.nodes[i], gocql.One, "SELECT JSON value FROM system_views.settings WHERE name = '"+strings.ReplaceAll(name, "'", "''")+"'")
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", errors.New("it has no such setting")
	}
	var setting struct {
		Value string `json:"value"`
	}
	err = json.Unmarshal([]byte(rows[0]), &setting)
	return setting.Value, err
}

// withoutHints is nil if the node keeps no writes for running nodes.
func (c *Ring) withoutHints(ctx context.Context, node *server.Node) error {
	rows, err := query(ctx, node, gocql.One, "SELECT JSON address, status, files FROM system_views.pending_hints")
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
