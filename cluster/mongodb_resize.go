package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/machine"
)

var _ resizable = (*MongoDB)(nil)

// withdrawBound is how long a member that could not be added, or was stopped
// half way, may take to be taken out again.
const withdrawBound = 30 * time.Second

// Fixed implements resizable: a set can always change.
func (m *MongoDB) Fixed() error { return nil }

// Grow starts one more data node on the machine and makes it a member of the set. It returns
// the node's number when it has copied the data and, unless there are seven
// voters already, votes and can be elected. After an error the set is as it was
// and the node is gone.
func (m *MongoDB) Grow(ctx context.Context, at *machine.Machine) (int, error) {
	place, err := placeNode([]*machine.Machine{at}, 0, m.options.Ports, mongodbPort)
	if err != nil {
		return 0, err
	}
	node, err := m.makeNode(place, false)
	if err != nil {
		return 0, err
	}
	node.removed.Store(true)
	node.mu.Lock()
	defer node.mu.Unlock()
	if err = m.start(ctx, node); err == nil {
		err = m.admit(ctx, node)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("add %s: %w", node.name(), err), m.withdraw(ctx, node), m.discard(node))
	}
	return node.number, err
}

// withdraw takes a member out whatever became of ctx.
func (m *MongoDB) withdraw(ctx context.Context, node *mongoNode) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawBound)
	defer cancel()
	if err := m.exclude(ctx, node); err != nil {
		return fmt.Errorf("take %s out again: %w", node.name(), err)
	}
	return nil
}

// Shrink takes member i out of the set and then stops it; its data stays. A
// primary steps down first. The last data node is refused.
func (m *MongoDB) Shrink(ctx context.Context, i int) error {
	node := m.node(i)
	node.mu.Lock()
	defer node.mu.Unlock()
	if err := m.exclude(ctx, node); err != nil {
		return fmt.Errorf("take %s out: %w", node.name(), err)
	}
	if process := node.process.Load(); process != nil {
		if err := process.Stop(ctx); err != nil && process.Running() {
			return err
		}
	}
	return nil
}

// Rejoin makes member i, which Shrink has taken out, a member again, with the
// data that it left with.
func (m *MongoDB) Rejoin(ctx context.Context, i int) error {
	node := m.node(i)
	node.mu.Lock()
	defer node.mu.Unlock()
	if !node.running() {
		if err := m.startAgain(ctx, node); err != nil {
			return fmt.Errorf("start %s: %w", node.name(), err)
		}
	}
	if err := m.admit(ctx, node); err != nil {
		return fmt.Errorf("add %s: %w", node.name(), err)
	}
	return nil
}

// Discard ends a node that has left and removes its data.
func (m *MongoDB) Discard(i int) error {
	node := m.node(i)
	node.mu.Lock()
	defer node.mu.Unlock()
	return m.discard(node)
}

func (m *MongoDB) discard(node *mongoNode) error {
	node.closed = true
	if process := node.process.Load(); process != nil {
		if err := process.Kill(); err != nil {
			return err
		}
	}
	return os.RemoveAll(node.dir)
}

// Membership implements resizable by the configuration that the primary says is
// in force, and what the member says of itself.
func (m *MongoDB) Membership(ctx context.Context, i int) (bool, string, error) {
	primary, err := m.WaitPrimary(ctx)
	if err != nil {
		return false, "", err
	}
	config, err := m.config(ctx, m.node(primary))
	if err != nil {
		return false, "", err
	}
	node := m.node(i)
	text := fmt.Sprintf("configuration %d of %s has %d members", config.Version, m.options.ReplicaSet, len(config.Members))
	if config.index(node) < 0 {
		return false, text + ", not " + node.hostPort(), nil
	}
	reply, err := node.hello(ctx)
	if err != nil {
		return false, text + ", among them " + node.hostPort() + ", which does not answer", nil
	}
	state := "neither primary nor secondary"
	switch {
	case reply.Primary:
		state = "primary"
	case reply.Secondary:
		state = "secondary"
	case reply.Arbiter:
		state = "arbiter"
	}
	return reply.inStep(), text + ", among them " + node.hostPort() + ", which says it is " + state, nil
}

// setConfig is the set's configuration; what is not named here is kept.
type setConfig struct {
	Version int64       `bson:"version"`
	Members []setMember `bson:"members"`
	Rest    bson.M      `bson:",inline"`
}

type setMember struct {
	ID       int     `bson:"_id"`
	Host     string  `bson:"host"`
	Votes    int     `bson:"votes"`
	Priority float64 `bson:"priority"`
	Arbiter  bool    `bson:"arbiterOnly"`
	Rest     bson.M  `bson:",inline"`
}

func (c setConfig) index(node *mongoNode) int {
	return slices.IndexFunc(c.Members, func(m setMember) bool { return m.ID == node.number })
}

func (c setConfig) voters() int {
	n := 0
	for _, m := range c.Members {
		n += m.Votes
	}
	return n
}

// config is the configuration that the member has; on the primary it is the
// set's.
func (m *MongoDB) config(ctx context.Context, of *mongoNode) (setConfig, error) {
	var reply struct {
		Config setConfig `bson:"config"`
	}
	err := of.run(ctx, answerBound, bson.D{{Key: "replSetGetConfig", Value: 1}}, &reply)
	return reply.Config, err
}

// admit makes a running node a member. A data node is first one without a vote,
// so that the majority does not hang on a node that has no data yet, and gets
// its vote once it is a secondary (MongoDB manual, "Add Members to a Replica
// Set"; at most seven members vote).
func (m *MongoDB) admit(ctx context.Context, node *mongoNode) error {
	err := m.reconfigure(ctx, func(c *setConfig) bool {
		if c.index(node) >= 0 {
			return false
		}
		member := setMember{ID: node.number, Host: node.hostPort()}
		if node.arbiter {
			member.Arbiter, member.Votes = true, 1
		}
		c.Members = append(c.Members, member)
		return true
	})
	if err != nil {
		return err
	}
	node.removed.Store(false)
	if err := node.await(ctx, helloReply.inStep); err != nil || node.arbiter {
		return err
	}
	return m.reconfigure(ctx, func(c *setConfig) bool {
		i := c.index(node)
		if i < 0 || c.Members[i].Votes > 0 || c.voters() >= maxVoters {
			return false
		}
		c.Members[i].Votes, c.Members[i].Priority = 1, 1
		return true
	})
}

// exclude takes a member out of the configuration, once it is not the primary.
func (m *MongoDB) exclude(ctx context.Context, node *mongoNode) error {
	err := m.reconfigure(ctx, func(c *setConfig) bool {
		i := c.index(node)
		if i < 0 {
			return false
		}
		c.Members = slices.Delete(c.Members, i, i+1)
		return true
	}, node)
	if err == nil {
		node.removed.Store(true)
	}
	return err
}

// The refusals of a configuration (MongoDB, error_codes.yml): no second try
// makes an invalid one right; one that does not go with the present one may be
// late by a version, which a few tries make right.
const (
	codeInvalidConfig      = 93  // InvalidReplicaSetConfig
	codeIncompatibleConfig = 103 // NewReplicaSetConfigurationIncompatible
	mostIncompatible       = 10
)

// reconfigure has the primary change the set's configuration, again until it is
// done: elections and other changes may come in between, and a change has to be
// taken by a majority before the next (MongoDB manual, "replSetReconfig"). edit
// returns false if nothing is to be done. A primary that is among leaving is
// asked to step down first.
func (m *MongoDB) reconfigure(ctx context.Context, edit func(*setConfig) bool, leaving ...*mongoNode) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	var last error
	incompatible := 0
	for {
		err := m.tryReconfigure(ctx, edit, leaving)
		if err == nil {
			return nil
		}
		var refused *mongoError
		if errors.As(err, &refused) && refused.code == codeIncompatibleConfig {
			incompatible++
		}
		if refused != nil && refused.code == codeInvalidConfig || incompatible >= mostIncompatible || errors.Is(err, errLastNode) {
			return err
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("reconfigure %s: %w: %w", m.options.ReplicaSet, ctx.Err(), last)
		case <-ticker.C:
		}
	}
}

var errLastNode = errors.New("it is the last node that holds data")

func (m *MongoDB) tryReconfigure(ctx context.Context, edit func(*setConfig) bool, leaving []*mongoNode) error {
	i, err := m.WaitPrimary(ctx)
	if err != nil {
		return err
	}
	primary := m.node(i)
	config, err := m.config(ctx, primary)
	if err != nil {
		return err
	}
	if !edit(&config) {
		return nil
	}
	if !slices.ContainsFunc(config.Members, func(m setMember) bool { return !m.Arbiter }) {
		return errLastNode
	}
	if slices.Contains(leaving, primary) {
		if err := m.StepDown(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%s has just stepped down", primary.name())
	}
	config.Version++
	return primary.run(ctx, initiateBound, bson.D{{Key: "replSetReconfig", Value: config},
		{Key: "maxTimeMS", Value: initiateBound.Milliseconds() / 2}}, nil)
}
