package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"assay/cluster/server"
	"assay/internal/resp"
)

const answerBound = time.Second

// ask sends a command, and returns the texts of the answer, of lists in their order and of numbers, too.
func (c *Cluster) ask(ctx context.Context, node *server.Node, command string) (all []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	conn, err := c.dial(ctx, node.Address())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if _, err := conn.Write(resp.Append(nil, strings.Fields(command)...)); err != nil {
		return nil, err
	}
	answer, err := resp.Read(bufio.NewReader(conn))
	if err == nil {
		all, err = texts(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", node.Name, command, err)
	}
	return all, nil
}

func (c *Cluster) dial(ctx context.Context, address string) (net.Conn, error) {
	if c.encryption == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	return (&tls.Dialer{Config: c.encryption}).DialContext(ctx, "tcp", address)
}

func texts(answer any) (all []string, err error) {
	switch answer := answer.(type) {
	case nil:
		return nil, errors.New("it answers nothing")
	case resp.Error:
		return nil, answer
	case []any:
		for _, one := range answer {
			more, err := texts(one)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		return all, nil
	}
	return []string{fmt.Sprint(answer)}, nil
}

func (c *Cluster) info(ctx context.Context, node *server.Node, section string) (map[string]string, error) {
	text, err := c.ask(ctx, node, "INFO "+section)
	if err != nil {
		return nil, err
	}
	told := map[string]string{}
	for line := range strings.Lines(strings.Join(text, "")) {
		if key, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			told[key] = value
		}
	}
	return told, nil
}

func (c *Cluster) loaded(ctx context.Context, node *server.Node) error {
	told, err := c.info(ctx, node, "persistence")
	if err == nil && told["loading"] != "0" {
		err = errors.New("it loads its data")
	}
	return err
}

func (c *Cluster) linked(ctx context.Context, node *server.Node) error {
	told, err := c.info(ctx, node, "replication")
	if err == nil && (told["role"] != "slave" || told["master_link_status"] != "up") {
		err = fmt.Errorf("its role is %s and its link to the primary %q", told["role"], told["master_link_status"])
	}
	return err
}

// watched is in the manual, "High availability with Redis Sentinel", "Asking Sentinel about the
// state of a master".
func (c *Cluster) watched(ctx context.Context, sentinel *server.Node) (map[string]string, error) {
	parts, err := c.ask(ctx, sentinel, "SENTINEL MASTER "+Service)
	told := map[string]string{}
	for i := 0; i+1 < len(parts); i += 2 {
		told[parts[i]] = parts[i+1]
	}
	return told, err
}

func (c *Cluster) informed(ctx context.Context, sentinel *server.Node) error {
	told, err := c.watched(ctx, sentinel)
	if err != nil {
		return err
	}
	if told["flags"] != "master" || told["num-slaves"] != strconv.Itoa(len(c.nodes)-1) || told["num-other-sentinels"] != strconv.Itoa(len(c.sentinels)-1) {
		return fmt.Errorf("it knows of %s replicas and %s other Sentinels, and the state of the primary is %s", told["num-slaves"], told["num-other-sentinels"], told["flags"])
	}
	return nil
}

var errFailingOver = errors.New("a Sentinel fails over")

// primaryBySentinels is the primary according to most Sentinels. While a Sentinel fails over there
// is none: it goes on with that even after the old primary is back. One that is silent, as on a
// machine that is cut off, is not waited for if most of them agree.
func (c *Cluster) primaryBySentinels(ctx context.Context) (int, error) {
	answers, _ := server.AskMost(ctx, c.sentinels,
		func(ctx context.Context, i int) (map[string]string, error) { return c.watched(ctx, c.sentinels[i]) },
		func(answers map[int]map[string]string, _ map[int]error) bool {
			_, err := c.namedByMost(answers)
			return err == nil
		})
	return c.namedByMost(answers)
}

func (c *Cluster) namedByMost(answers map[int]map[string]string) (int, error) {
	named := map[string]int{}
	for _, told := range answers {
		if strings.Contains(told["flags"], "failover_in_progress") {
			return 0, errFailingOver
		}
		named[net.JoinHostPort(told["ip"], told["port"])]++
	}
	for number, node := range c.nodes {
		if named[node.Address()] > len(c.sentinels)/2 {
			return number, nil
		}
	}
	return 0, fmt.Errorf("the Sentinels name %v, and most of them none of the servers", named)
}

const lookEvery = 50 * time.Millisecond

// Primary waits until most Sentinels name a primary that agrees.
func (c *Cluster) Primary(ctx context.Context) (number int, err error) {
	err = server.Until(ctx, lookEvery, "a primary of Redis", func(ctx context.Context) (err error) {
		number, err = c.primary(ctx)
		return err
	})
	return number, err
}

func (c *Cluster) primary(ctx context.Context) (number int, err error) {
	switch {
	case c.options.Sharded:
		if number, err = c.owner(ctx); err != nil {
			return 0, err
		}
	case len(c.sentinels) > 0:
		if number, err = c.primaryBySentinels(ctx); err != nil {
			return 0, err
		}
	}
	return number, c.leads(ctx, number)
}

// leads is nil if the server takes itself for a primary and has loaded its data.
func (c *Cluster) leads(ctx context.Context, number int) error {
	told, err := c.info(ctx, c.nodes[number], "everything")
	if err == nil && (told["role"] != "master" || told["loading"] != "0") {
		err = fmt.Errorf("%s says that it is a %s", c.nodes[number].Name, told["role"])
	}
	return err
}

// Settled returns when there is a primary, and every other running server is its replica, or one of
// the primary of another shard, and has all that its primary had at the first look.
func (c *Cluster) Settled(ctx context.Context) error {
	if c.options.Sharded {
		goals := map[int]int64{}
		return server.Until(ctx, lookEvery, "the servers of Redis Cluster", func(ctx context.Context) error { return c.apart(ctx, goals) })
	}
	goal := int64(-1)
	return server.Until(ctx, lookEvery, "the servers of Redis", func(ctx context.Context) error { return c.behind(ctx, &goal) })
}

func (c *Cluster) behind(ctx context.Context, goal *int64) error {
	number, err := c.primary(ctx)
	if err != nil {
		return err
	}
	primary := c.nodes[number]
	if err := c.aim(ctx, primary, goal); err != nil {
		return err
	}
	var late []error
	for i, node := range c.nodes {
		if i == number || !node.Running() {
			continue
		}
		if err := c.inStep(ctx, node, primary, *goal); err != nil {
			late = append(late, fmt.Errorf("%s: %w", node.Name, err))
		}
	}
	return errors.Join(late...)
}

func (c *Cluster) aim(ctx context.Context, primary *server.Node, goal *int64) error {
	if *goal >= 0 {
		return nil
	}
	told, err := c.info(ctx, primary, "replication")
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt(told["master_repl_offset"], 10, 64)
	if err == nil {
		*goal = offset
	}
	return err
}

func (c *Cluster) inStep(ctx context.Context, node, primary *server.Node, goal int64) error {
	told, err := c.info(ctx, node, "replication")
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt(told["slave_repl_offset"], 10, 64)
	switch {
	case told["role"] != "slave", net.JoinHostPort(told["master_host"], told["master_port"]) != primary.Address():
		return errors.New("it is no replica of the primary")
	case told["master_link_status"] != "up":
		return errors.New("it has no connection to the primary")
	case err != nil:
		return err
	case offset < goal:
		return errors.New("it lags behind")
	}
	return nil
}

// CheckReplace is nil with replicas: a replica without data gets a full copy ("Redis replication").
func (c *Cluster) CheckReplace() error {
	if c.options.Sharded {
		return errors.New("the servers of a Redis Cluster know each other by ids that are among their data")
	}
	return c.CheckSwitchOver()
}

// Forget has the next Restart of server i, which has ended and is empty, start it as a new machine.
// Started as the primary that it may have been, it would have the replicas copy its emptiness ("Redis
// replication", "Safety of replication when master has persistence turned off"). The node's Changing
// must be held.
func (c *Cluster) Forget(_ context.Context, i int) error {
	c.empty[i] = true
	return nil
}

// joinOthers makes an emptied server the replica of a primary, which it waits for. It does nothing to
// other servers.
func (c *Cluster) joinOthers(ctx context.Context, i int) error {
	if !c.empty[i] {
		return nil
	}
	node := c.nodes[i]
	return node.Until(ctx, lookEvery, "a primary that "+node.Name+" could copy", func(ctx context.Context) error {
		primary, err := c.primary(ctx)
		switch {
		case err != nil:
			return err
		case primary == i:
			return errors.New("the Sentinels have chosen none in its place yet")
		}
		if err := c.configureReplica(i, primary); err != nil {
			return server.Permanent(err)
		}
		return nil
	})
}

// Data is the folder of server i's data.
func (c *Cluster) Data(i int) string { return data(c.nodes[i]) }

// CheckSwitchOver says why no Sentinel can fail over; nil if one can.
func (c *Cluster) CheckSwitchOver() error {
	if len(c.sentinels) == 0 {
		return errors.New("no Sentinel watches these servers")
	}
	return nil
}

// SwitchOver makes a Sentinel fail over without the others' agreement (manual, "High availability
// with Redis Sentinel", "SENTINEL FAILOVER"): the first that answers, since others may be cut off.
func (c *Cluster) SwitchOver(ctx context.Context, _ int) error {
	var silent []error
	for _, sentinel := range c.sentinels {
		_, err := c.watched(ctx, sentinel)
		if err == nil {
			_, err = c.ask(ctx, sentinel, "SENTINEL FAILOVER "+Service)
			return err
		}
		silent = append(silent, err)
	}
	return errors.Join(silent...)
}
