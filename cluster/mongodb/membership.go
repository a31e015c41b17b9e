package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/machine"
	"assay/cluster/server"
)

const withdrawBound = 30 * time.Second

// Fixed is nil: the members of a set can always change.
func (m *ReplicaSet) Fixed() error { return nil }

// Grow starts a data node on the machine and makes it a member. It returns the node's number when
// it has copied the data and, unless there are seven voters, votes and can be elected. After an
// error the set is as before and the node is gone.
func (m *ReplicaSet) Grow(ctx context.Context, at *machine.Machine) (int, error) {
	node, err := m.makeNode(at)
	if err != nil {
		return 0, err
	}
	node.Left.Store(true)
	node.Changing.Lock()
	defer node.Changing.Unlock()
	if err = m.start(ctx, node); err == nil {
		err = m.admit(ctx, node)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("add %s: %w", node.Name, err), m.withdraw(ctx, node), node.Discard())
	}
	return node.Number, err
}

// withdraw excludes a member even if ctx has ended.
func (m *ReplicaSet) withdraw(ctx context.Context, node *server.Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawBound)
	defer cancel()
	if err := m.exclude(ctx, node); err != nil {
		return fmt.Errorf("take %s out again: %w", node.Name, err)
	}
	return nil
}

// Shrink excludes member i from the set and then stops it; its data stays. A primary steps down
// first. It refuses the last data node.
func (m *ReplicaSet) Shrink(ctx context.Context, i int) error {
	node := m.nodes.At(i)
	node.Changing.Lock()
	defer node.Changing.Unlock()
	if err := m.exclude(ctx, node); err != nil {
		return fmt.Errorf("take %s out: %w", node.Name, err)
	}
	return node.Halt(ctx)
}

// Rejoin makes member i a member again after Shrink, with its old data.
func (m *ReplicaSet) Rejoin(ctx context.Context, i int) error {
	node := m.nodes.At(i)
	node.Changing.Lock()
	defer node.Changing.Unlock()
	if !node.Running() {
		if err := m.start(ctx, node); err != nil {
			return fmt.Errorf("start %s: %w", node.Name, err)
		}
	}
	if err := m.admit(ctx, node); err != nil {
		return fmt.Errorf("add %s: %w", node.Name, err)
	}
	return nil
}

// Membership reports whether member i is in step, by the configuration in force at the primary and
// by the member's own report.
func (m *ReplicaSet) Membership(ctx context.Context, i int) (bool, string, error) {
	primary, err := m.Primary(ctx)
	if err != nil {
		return false, "", err
	}
	config, err := m.config(ctx, m.nodes.At(primary))
	if err != nil {
		return false, "", err
	}
	node := m.nodes.At(i)
	text := fmt.Sprintf("configuration %d of %s has %d members", config.Version, m.options.ReplicaSet, len(config.Members))
	if config.index(node) < 0 {
		return false, text + ", not " + node.Address(), nil
	}
	reply, err := hello(ctx, node)
	if err != nil {
		return false, text + ", among them " + node.Address() + ", which does not answer", nil
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
	return reply.inStep(), text + ", among them " + node.Address() + ", which says it is " + state, nil
}

// setConfig is the set's configuration. It keeps unknown fields.
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

func (c setConfig) index(node *server.Node) int {
	return slices.IndexFunc(c.Members, func(m setMember) bool { return m.ID == node.Number })
}

func (c setConfig) voters() int {
	n := 0
	for _, m := range c.Members {
		n += m.Votes
	}
	return n
}

// config is the member's copy of the configuration. The primary's copy is the set's.
func (m *ReplicaSet) config(ctx context.Context, of *server.Node) (setConfig, error) {
	var reply struct {
		Config setConfig `bson:"config"`
	}
	err := run(ctx, of, answerBound, bson.D{{Key: "replSetGetConfig", Value: 1}}, &reply)
	return reply.Config, err
}

// admit makes a running node a member. A data node has no vote until it is a secondary, so that no
// majority depends on a node without data (MongoDB manual, "Add Members to a Replica Set"). At most
// seven members vote.
func (m *ReplicaSet) admit(ctx context.Context, node *server.Node) error {
	err := m.reconfigure(ctx, func(c *setConfig) bool {
		if c.index(node) >= 0 {
			return false
		}
		member := setMember{ID: node.Number, Host: node.Address()}
		if m.isArbiter(node) {
			member.Arbiter, member.Votes = true, 1
		}
		c.Members = append(c.Members, member)
		return true
	})
	if err != nil {
		return err
	}
	node.Left.Store(false)
	if err := await(ctx, node, helloReply.inStep); err != nil || m.isArbiter(node) {
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

func (m *ReplicaSet) exclude(ctx context.Context, node *server.Node) error {
	err := m.reconfigure(ctx, func(c *setConfig) bool {
		i := c.index(node)
		if i < 0 {
			return false
		}
		c.Members = slices.Delete(c.Members, i, i+1)
		return true
	}, node)
	if err == nil {
		node.Left.Store(true)
	}
	return err
}

// Refusals of a configuration (MongoDB, error_codes.yml). An invalid one stays invalid. One that
// does not fit the present one may be a version late, which a few tries cure.
const (
	codeInvalidConfig      = 93  // InvalidReplicaSetConfig
	codeIncompatibleConfig = 103 // NewReplicaSetConfigurationIncompatible
	mostIncompatible       = 10
)

// reconfigure has the primary change the set's configuration. It tries again until this is done,
// because of elections and other changes, and because a majority must have a change before the next
// (MongoDB manual, "replSetReconfig"). edit returns false if there is nothing to do. A primary
// among leaving must step down first.
func (m *ReplicaSet) reconfigure(ctx context.Context, edit func(*setConfig) bool, leaving ...*server.Node) error {
	incompatible := 0
	return server.Until(ctx, 100*time.Millisecond, "a change of "+m.options.ReplicaSet, func(ctx context.Context) error {
		err := m.tryReconfigure(ctx, edit, leaving)
		var refused *commandError
		if errors.As(err, &refused) && refused.code == codeIncompatibleConfig {
			incompatible++
		}
		if refused != nil && refused.code == codeInvalidConfig || incompatible >= mostIncompatible || errors.Is(err, server.ErrLastNode) {
			return server.Permanent(err)
		}
		return err
	})
}

func (m *ReplicaSet) tryReconfigure(ctx context.Context, edit func(*setConfig) bool, leaving []*server.Node) error {
	i, err := m.Primary(ctx)
	if err != nil {
		return err
	}
	primary := m.nodes.At(i)
	config, err := m.config(ctx, primary)
	if err != nil {
		return err
	}
	if !edit(&config) {
		return nil
	}
	if !slices.ContainsFunc(config.Members, func(m setMember) bool { return !m.Arbiter }) {
		return server.ErrLastNode
	}
	if slices.Contains(leaving, primary) {
		if err := m.StepDown(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%s has just stepped down", primary.Name)
	}
	config.Version++
	return run(ctx, primary, initiateBound, bson.D{{Key: "replSetReconfig", Value: config},
		{Key: "maxTimeMS", Value: initiateBound.Milliseconds() / 2}}, nil)
}
