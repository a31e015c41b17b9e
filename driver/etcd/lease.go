package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"assay/store"
)

// kept is a store.Lease as its key has it. Its time is that of an etcd lease, which the leader
// counts down by its monotonic clock (manual 3.4, "etcd API", "Lease API"). No key is
// attached to that, so that who had the lease is known when it has expired.
type kept struct {
	Holder store.Holder `json:"holder"`
	Since  int64        `json:"since"` // by the holder's clock, in nanoseconds since 1970: etcd tells no date
	ID     int64        `json:"etcd_lease"`
}

// readLease returns the lease, nil if there is none.
func (d *database) readLease(t *transaction) (*store.Lease, *kept, error) {
	value, err := t.Get(d.layout.Lease())()
	if err != nil || value == nil {
		return nil, nil, err
	}
	var k kept
	if json.Unmarshal(value, &k) != nil {
		return nil, nil, d.foreign()
	}
	left, _, err := call(t.ctx, pb.NewLeaseClient(t.grpc).LeaseTimeToLive, &pb.LeaseTimeToLiveRequest{ID: k.ID})
	if err != nil {
		return nil, nil, err
	}
	// Of an etcd lease that is gone the time is -1.
	return &store.Lease{Holder: k.Holder, Since: time.Unix(0, k.Since).UTC(), Remaining: time.Duration(max(left.TTL, 0)) * time.Second}, &k, nil
}

// grant writes the lease with a new etcd lease. What decides is the commit, which compares
// the key: whoever renews or takes it writes it.
func (d *database) grant(t *transaction, k kept, ttl time.Duration) error {
	// The time that is left is told in whole seconds, rounded down.
	seconds := int64((ttl+time.Second-1)/time.Second) + 1
	granted, _, err := call(t.ctx, pb.NewLeaseClient(t.grpc).LeaseGrant, &pb.LeaseGrantRequest{TTL: seconds})
	if err != nil {
		return err
	}
	k.ID = granted.ID
	value, err := json.Marshal(k)
	t.Set(d.layout.Lease(), value)
	return err
}

// revoke ends an etcd lease that is no longer named by the key. It would expire by itself, so
// that it does not matter if this fails.
func (d *database) revoke(ctx context.Context, id int64) {
	ctx, cancel := context.WithTimeout(ctx, firstBound)
	defer cancel()
	_, _ = pb.NewLeaseClient(d.conn.grpc).LeaseRevoke(ctx, &pb.LeaseRevokeRequest{ID: id})
}

// Lease implements store.Leaser.
func (d *database) Lease(ctx context.Context) (*store.Lease, error) {
	return look(ctx, d, "look for a lease", func(t *transaction) (*store.Lease, error) {
		l, _, err := d.readLease(t)
		return l, err
	})
}

// TakeLease implements store.Leaser. Of several that take it at the same time one commits,
// and the others conflict, try again and find it alive.
func (d *database) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	err := d.change(ctx, "take the lease", func(t *transaction) error {
		if _, err := d.readMark(t); err != nil {
			return err
		}
		l, _, err := d.readLease(t)
		if err != nil {
			return err
		}
		if err := l.MayTake(d.layout.Name, holder, gone); err != nil {
			return err
		}
		return d.grant(t, kept{Holder: holder, Since: time.Now().UnixNano()}, ttl)
	})
	if err == nil {
		d.taken.Set(holder)
	}
	return err
}

// RenewLease implements store.Leaser.
func (d *database) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	before := int64(0)
	err := d.change(ctx, "renew the lease", func(t *transaction) error {
		l, k, err := d.readLease(t)
		if err != nil {
			return err
		}
		if err := l.MayRenew(d.layout.Name, token); err != nil {
			return err
		}
		before = k.ID
		return d.grant(t, *k, ttl)
	})
	if err == nil {
		d.revoke(ctx, before)
	}
	return err
}

// errNotHeld ends a release of what is another's.
var errNotHeld = errors.New("the lease is not held")

// ReleaseLease implements store.Leaser.
func (d *database) ReleaseLease(ctx context.Context, token string) error {
	before := int64(0)
	err := d.change(ctx, "release the lease", func(t *transaction) error {
		l, k, err := d.readLease(t)
		if err == nil && (l == nil || l.Token != token) {
			err = errNotHeld
		}
		if err != nil {
			return err
		}
		before = k.ID
		t.Clear(d.layout.Lease())
		return nil
	})
	if errors.Is(err, errNotHeld) {
		return nil
	}
	if err == nil {
		d.revoke(ctx, before)
	}
	return err
}
