package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"assay/driver/replicas"
	"assay/store"
)

// Replicas implements store.Replicated by the members behind the address's hosts. The raft leader
// is the primary.
func (d *database) Replicas(ctx context.Context) ([]store.Replica, map[string]error, error) {
	all, failures := d.statuses(ctx)
	members := make([]replicas.Member, len(all))
	for i, s := range all {
		members[i] = replicas.Member{Name: d.hosts[i], Err: failures[i]}
		if failures[i] == nil {
			members[i].Identity = identity(s.Header.MemberId)
		}
	}
	found, unreachable := replicas.Of(identity(leaderOf(all)), members)
	return found, unreachable, nil
}

func identity(member uint64) string { return strconv.FormatUint(member, 16) }

// CatchUp implements store.Replicated: the member must apply the current revision.
func (d *database) CatchUp(ctx context.Context, member store.Replica) error {
	var goal int64
	err := d.Look(ctx, "find the present revision", func(t *transaction) (err error) {
		goal, err = d.present(t)
		return err
	})
	if err != nil {
		return err
	}
	c, err := dial(ctx, d.options, []string{member.Name})
	if err != nil {
		return err
	}
	err = replicas.CatchUp(ctx, "wait until "+member.Name+" has caught up", func(ctx context.Context) (bool, error) {
		attempt, cancel := context.WithTimeout(ctx, statusBound)
		defer cancel()
		t := c.reader(attempt)
		t.member = true
		at, err := d.present(t)
		if err == nil && at < goal {
			err = fmt.Errorf("it is at revision %d, and not yet at %d", at, goal)
		}
		return false, err
	})
	return errors.Join(err, c.close())
}

func (d *database) present(t *transaction) (int64, error) {
	_, err := t.Get(d.Layout.Mark())()
	return t.revision, err
}

// ViewReplica implements store.Replicated by the member's serializable reads at one revision.
func (d *database) ViewReplica(ctx context.Context, member store.Replica, read func(store.Reader) error) error {
	c, err := dial(ctx, d.options, []string{member.Name})
	if err != nil {
		return err
	}
	t := c.reader(ctx)
	t.member = true
	return errors.Join(d.view(ctx, t, read), c.close())
}
