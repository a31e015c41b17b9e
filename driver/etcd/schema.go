package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

const (
	hint = "choose another prefix by a path in the address, such as etcd://HOST/NAME, or delete or move these keys yourself"
	// leaseID names the etcd lease in the lease's value.
	leaseID = "etcd_lease"
)

// Change implements ordered.Database. It repeats work and commit until one certainly succeeded. A
// late unknown commit does no harm: it compares what it has read, which the later one has written.
// Late loaded rows are the same rows, and are refused after FinishLoad has written the mark.
func (d *database) Change(ctx context.Context, doing string, work func(t *transaction) error) error {
	return d.conn.insist(ctx, doing, func(ctx context.Context) error {
		t := d.conn.begin(ctx)
		if err := work(t); err != nil {
			return err
		}
		return t.commit()
	})
}

func (d *database) Look(ctx context.Context, doing string, work func(t *transaction) error) error {
	return d.conn.insist(ctx, doing, func(ctx context.Context) error { return work(d.conn.reader(ctx)) })
}

// Ends implements ordered.Database by an etcd lease, which the leader counts down by its monotonic
// clock (manual 3.4, "etcd API", "Lease API"). No key is attached, so that an expired lease's
// holder stays known. Replaced etcd leases expire by themselves.
func (d *database) Ends(t *transaction, ttl time.Duration) (id int64, err error) {
	// The remaining time is told in whole seconds, rounded down.
	seconds := int64((ttl+time.Second-1)/time.Second) + 1
	granted, _, err := call(t.ctx, pb.NewLeaseClient(t.grpc).LeaseGrant, &pb.LeaseGrantRequest{TTL: seconds})
	return granted.GetID(), err
}

// Left implements ordered.Database. A missing etcd lease has -1 seconds.
func (d *database) Left(t *transaction, id int64) (time.Duration, error) {
	left, _, err := call(t.ctx, pb.NewLeaseClient(t.grpc).LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: id})
	return time.Duration(max(left.GetTTL(), 0)) * time.Second, err
}

// Settle implements store.Administration by writing the mark again. Every commit of a session
// compares the mark's revision at the session's opening. So a commit in flight, in a member or in
// the raft log, takes effect before the mark is written, or is refused. Without a mark all are
// refused. An open session of another process is refused once and opened again.
//
// ErrNoSpace settles too: once the alarm is in the raft log, members refuse all writes behind it
// (etcdserver/apply.go, applierV3Capped).
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
