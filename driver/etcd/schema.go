package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

const (
	// hint is what the user can do about keys that are not ours.
	hint = "choose another prefix by a path in the address, such as etcd://HOST/NAME, or delete or move these keys yourself"
	// leaseID is what the lease's value calls the number of its etcd lease.
	leaseID = "etcd_lease"
)

// Change implements ordered.Database: work is done and committed again and again until it is
// certain that it was done. One of which nobody knows is done once more: what is late compares
// what it has read, as all does, and the later one has written that. Rows that are loaded late
// are the same rows, until FinishLoad has written the mark, which they compare.
func (d *database) Change(ctx context.Context, doing string, work func(t *transaction) error) error {
	return d.conn.insist(ctx, doing, func(ctx context.Context) error {
		t := d.conn.begin(ctx)
		if err := work(t); err != nil {
			return err
		}
		return t.commit()
	})
}

// Look implements ordered.Database.
func (d *database) Look(ctx context.Context, doing string, work func(t *transaction) error) error {
	return d.conn.insist(ctx, doing, func(ctx context.Context) error { return work(d.conn.reader(ctx)) })
}

// Ends implements ordered.Database: the time is that of an etcd lease, which the leader counts
// down by its monotonic clock (manual 3.4, "etcd API", "Lease API"). No key is attached to it,
// so that who had the lease is known when it has expired. One that no key names any more
// expires by itself.
func (d *database) Ends(t *transaction, ttl time.Duration) (id int64, err error) {
	// The time that is left is told in whole seconds, rounded down.
	seconds := int64((ttl+time.Second-1)/time.Second) + 1
	granted, _, err := call(t.ctx, pb.NewLeaseClient(t.grpc).LeaseGrant, &pb.LeaseGrantRequest{TTL: seconds})
	return granted.GetID(), err
}

// Left implements ordered.Database. Of an etcd lease that is gone the time is -1.
func (d *database) Left(t *transaction, id int64) (time.Duration, error) {
	left, _, err := call(t.ctx, pb.NewLeaseClient(t.grpc).LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: id})
	return time.Duration(max(left.GetTTL(), 0)) * time.Second, err
}

// Settle implements store.Administration: it writes the mark again as it is. Every commit of
// a session compares the revision at which the mark was written last when the session was
// opened; so one that is on its way still, in a member or in the raft log, is done before the
// mark is written, and is there for whoever reads after it, or refused. Without a mark all are
// refused. A session that is open still, of another process of the run, is refused once and
// opened again.
//
// That there is no space is said when the mark is written, or when the alarm is in the raft log:
// behind that, members refuse whatever writes (etcdserver/apply.go, applierV3Capped), so that
// there is nothing to wait for either.
func (d *database) Settle(ctx context.Context) error {
	err := d.Change(ctx, "settle", func(t *transaction) error {
		value, err := t.Get(d.Layout.Mark())()
		if err == nil && value != nil {
			t.Set(d.Layout.Mark(), value)
		}
		return err
	})
	if m := meaningOf(err); m != nil && m.class == classNoSpace {
		return nil
	}
	return err
}
