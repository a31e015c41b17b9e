package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"assay/cluster/server"
)

// Tag is the hash tag of assay's mark and lease and of all rows that transactions change, so that
// they share one slot (manual, "Redis cluster specification", "Hash tags"). The server with this
// slot is called the primary here.
const Tag = "assay"

const slots = 16384

func (c *Cluster) shardLines(bus int) []string {
	lines := []string{"cluster-enabled yes", "cluster-config-file nodes.conf", "cluster-port " + strconv.Itoa(bus)}
	if down := c.options.DownAfter; down > 0 {
		lines = append(lines, "cluster-node-timeout "+strconv.FormatInt(down.Milliseconds(), 10))
	}
	return lines
}

// join does what redis-cli --cluster create does.
func (c *Cluster) join(ctx context.Context) error {
	primaries := len(c.nodes) / 2
	for i, node := range c.nodes {
		commands := []string{fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1)}
		if i < primaries {
			commands = append(commands, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*slots/primaries, (i+1)*slots/primaries-1))
		}
		if i > 0 {
			commands = append(commands, fmt.Sprintf("CLUSTER MEET %s %d %d", c.nodes[0].Host, c.nodes[0].Port, c.buses[0]))
		}
		for _, command := range commands {
			if _, err := c.ask(ctx, node, command); err != nil {
				return err
			}
		}
	}
	for i, node := range c.nodes {
		if err := node.Await(ctx, func(ctx context.Context) error { return c.acquainted(ctx, node) }); err != nil {
			return err
		}
		if i < primaries {
			continue
		}
		id, err := c.ask(ctx, c.nodes[i-primaries], "CLUSTER MYID")
		if err == nil {
			_, err = c.ask(ctx, node, "CLUSTER REPLICATE "+strings.Join(id, ""))
		}
		if err != nil {
			return err
		}
	}
	for i, node := range c.nodes {
		if err := node.Await(ctx, func(ctx context.Context) error { return c.takesPart(ctx, i) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) acquainted(ctx context.Context, node *server.Node) error {
	v, err := c.look(ctx, node, 0)
	if err == nil && v.linked != len(c.nodes) {
		err = fmt.Errorf("it has a connection to %d of %d servers", v.linked, len(c.nodes))
	}
	return err
}

type view struct {
	// works is true if the server believes that all slots are served.
	works bool
	// owner is the address of the server that has had the slot of Tag since epoch.
	owner string
	epoch int64
	// linked counts the connected servers, itself included.
	linked int
	// owners are the addresses of servers with slots, heard is the latest epoch that it knows.
	owners map[string]bool
	heard  int64
}

// look asks a server (manual, "CLUSTER NODES", "CLUSTER INFO"). A line of CLUSTER NODES is: id,
// host:port@bus, flags, primary, two times, epoch, state of the connection, slots.
func (c *Cluster) look(ctx context.Context, node *server.Node, slot int) (v view, err error) {
	state, err := c.ask(ctx, node, "CLUSTER INFO")
	if err != nil {
		return v, err
	}
	v.works = strings.Contains(strings.Join(state, ""), "cluster_state:ok")
	for line := range strings.Lines(strings.Join(state, "")) {
		if text, is := strings.CutPrefix(strings.TrimSpace(line), "cluster_current_epoch:"); is {
			if v.heard, err = strconv.ParseInt(text, 10, 64); err != nil {
				return v, err
			}
		}
	}
	v.owners = map[string]bool{}
	text, err := c.ask(ctx, node, "CLUSTER NODES")
	for line := range strings.Lines(strings.Join(text, "")) {
		fields := strings.Fields(line)
		if len(fields) < 8 {
			continue
		}
		if fields[7] == "connected" && !strings.Contains(fields[2], "handshake") {
			v.linked++
		}
		address, _, _ := strings.Cut(fields[1], "@")
		v.owners[address] = v.owners[address] || len(fields) > 8
		for _, part := range fields[8:] {
			if holds(part, slot) {
				v.owner = address
				v.epoch, err = strconv.ParseInt(fields[6], 10, 64)
			}
		}
	}
	return v, err
}

// holds reports whether a slot is in a part of CLUSTER NODES: N or FIRST-LAST.
func holds(part string, slot int) bool {
	first, last, several := strings.Cut(part, "-")
	if !several {
		last = first
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	return err == nil && err2 == nil && from <= slot && slot <= to
}

func (c *Cluster) slot(ctx context.Context, node *server.Node) (int, error) {
	answer, err := c.ask(ctx, node, "CLUSTER KEYSLOT "+Tag)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.Join(answer, ""))
}

// views leaves a view empty if the server does not answer or does not believe all slots served. It
// does not wait for silent servers if most of all answer and one knows the slot's owner.
func (c *Cluster) views(ctx context.Context) (views []view, failures []error) {
	fill := func(answers map[int]view, failed map[int]error) {
		views, failures = make([]view, len(c.nodes)), nil
		for i, v := range answers {
			if v.works {
				views[i] = v
			}
		}
		for _, i := range slices.Sorted(maps.Keys(failed)) {
			failures = append(failures, failed[i])
		}
	}
	fill(server.AskMost(ctx, c.nodes, func(ctx context.Context, i int) (v view, err error) {
		slot, err := c.slot(ctx, c.nodes[i])
		if err == nil {
			v, err = c.look(ctx, c.nodes[i], slot)
		}
		return v, err
	}, func(answers map[int]view, failed map[int]error) bool {
		fill(answers, failed)
		_, err := c.ownerBy(views, failures)
		return err == nil && len(answers) > len(c.nodes)/2
	}))
	return views, failures
}

func (c *Cluster) owner(ctx context.Context) (int, error) { return c.ownerBy(c.views(ctx)) }

// ownerBy is the owner of Tag's slot in the newest view.
func (c *Cluster) ownerBy(views []view, failures []error) (int, error) {
	newest := slices.MaxFunc(views, func(a, b view) int { return cmp.Compare(a.epoch, b.epoch) })
	for i, node := range c.nodes {
		if node.Address() == newest.owner {
			return i, nil
		}
	}
	return 0, errors.Join(append(failures, errors.New("no server takes all slots to be served"))...)
}

// Primaries waits for a primary and returns it first, then all others that have slots.
func (c *Cluster) Primaries(ctx context.Context) (all []int, err error) {
	if !c.options.Sharded {
		first, err := c.Primary(ctx)
		return []int{first}, err
	}
	err = server.Until(ctx, lookEvery, "a primary of Redis", func(ctx context.Context) (err error) {
		all, err = c.primaries(ctx)
		return err
	})
	return all, err
}

// primaries believes the server that knows the latest epoch. A server that has ended, or is silent,
// keeps its slots until another takes them.
func (c *Cluster) primaries(ctx context.Context) (all []int, err error) {
	views, failures := c.views(ctx)
	first, err := c.ownerBy(views, failures)
	if err != nil {
		return nil, err
	}
	latest := slices.MaxFunc(views, func(a, b view) int { return cmp.Compare(a.heard, b.heard) })
	leading, failed := server.AskAll(c.nodes, func(i int) (owns bool, err error) { // one that is slow leads its shard all the same
		if i != first && !latest.owners[c.nodes[i].Address()] {
			return false, nil
		}
		return true, c.leads(ctx, i)
	})
	if !leading[first] {
		return nil, cmp.Or(failed[first], fmt.Errorf("%s is down", c.nodes[first].Name))
	}
	all = []int{first}
	for i := range c.nodes {
		if i != first && leading[i] {
			all = append(all, i)
		}
	}
	return all, nil
}

// takesPart is nil if server i believes all slots served and knows Tag's owner. A replica must also
// be connected to its primary.
func (c *Cluster) takesPart(ctx context.Context, i int) error {
	number, err := c.owner(ctx)
	if err != nil {
		return err
	}
	node := c.nodes[i]
	slot, err := c.slot(ctx, node)
	if err != nil {
		return err
	}
	v, err := c.look(ctx, node, slot)
	switch {
	case err != nil:
		return err
	case !v.works:
		return errors.New("it takes not all slots to be served")
	case v.owner != c.nodes[number].Address():
		return fmt.Errorf("it says that %s has the slot, and others %s", v.owner, c.nodes[number].Address())
	}
	told, err := c.info(ctx, node, "replication")
	if err == nil && told["role"] == "slave" && told["master_link_status"] != "up" {
		err = errors.New("it has no connection to its primary")
	}
	return err
}

// apart names the servers without their part, and the replicas behind the goals of their primaries.
// It sets the goal of a primary that it sees for the first time.
func (c *Cluster) apart(ctx context.Context, goals map[int]int64) error {
	primaries, err := c.primaries(ctx)
	if err != nil {
		return err
	}
	for _, i := range primaries {
		goal, has := goals[i]
		if !has {
			goal = -1
		}
		if err := c.aim(ctx, c.nodes[i], &goal); err != nil {
			return err
		}
		goals[i] = goal
	}
	var late []error
	for i, node := range c.nodes {
		if !node.Running() {
			continue
		}
		err := c.takesPart(ctx, i)
		if err == nil && !slices.Contains(primaries, i) {
			err = c.follows(ctx, node, primaries, goals)
		}
		if err != nil {
			late = append(late, fmt.Errorf("%s: %w", node.Name, err))
		}
	}
	return errors.Join(late...)
}

// follows is nil if the server is a replica of one of these primaries, and in step.
func (c *Cluster) follows(ctx context.Context, node *server.Node, primaries []int, goals map[int]int64) error {
	told, err := c.info(ctx, node, "replication")
	if err != nil {
		return err
	}
	for _, i := range primaries {
		if primary := c.nodes[i]; net.JoinHostPort(told["master_host"], told["master_port"]) == primary.Address() {
			return c.inStep(ctx, node, primary, goals[i])
		}
	}
	return errors.New("it has no slots, and is no replica of a server with slots")
}
