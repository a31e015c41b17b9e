//go:build foundationdb

package foundationdb

import (
	"context"
	"encoding/json"
	"time"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/store"
)

// versionsPerSecond is how fast the database's version advances (manual,
// "Developer Guide", "Versionstamps": "approximately [...] a million versions per
// second"). It is the only clock that all clients share, and is what a lease
// expires by. After a recovery it jumps on by more than a lease lasts: every lease
// then counts as expired, until its holder renews it, some seconds later. That is
// why the holder's renewals go on, and why its data are compared with the mark
// before they are judged.
const versionsPerSecond = 1_000_000

// lease is a store.Lease in the database.
type lease struct {
	Holder  store.Holder `json:"holder"`
	Since   int64        `json:"since"`   // by the holder's clock, in nanoseconds since 1970: a version is no date
	Expires int64        `json:"expires"` // a version
}

func versions(d time.Duration) int64 { return int64(d / (time.Second / versionsPerSecond)) }

// readLease returns the lease, nil if there is none, and the version at which it
// was read.
func (p *database) readLease(t *transaction) (*store.Lease, *lease, int64, error) {
	now, err := t.GetReadVersion().Get()
	if err != nil {
		return nil, nil, 0, err
	}
	value, err := t.Get(fdb.Key(p.layout.Lease())).Get()
	if err != nil || value == nil {
		return nil, nil, now, err
	}
	var l lease
	if json.Unmarshal(value, &l) != nil {
		return nil, nil, 0, p.foreign()
	}
	return &store.Lease{Holder: l.Holder, Since: time.Unix(0, l.Since).UTC(),
		Remaining: time.Duration(l.Expires-now) * (time.Second / versionsPerSecond)}, &l, now, nil
}

func (p *database) setLease(t *transaction, l lease) error {
	value, err := json.Marshal(l)
	if err == nil {
		t.Set(fdb.Key(p.layout.Lease()), value)
	}
	return err
}

// admit gives *store.HeldError if another holds the lease.
func (p *database) admit(t *transaction) error {
	l, _, _, err := p.readLease(t)
	if err != nil {
		return err
	}
	return l.Admit(p.layout.Name, p.taken.Holder().Token)
}

// Lease reads the lease.
func (p *database) Lease(ctx context.Context) (*store.Lease, error) {
	t, err := begin(ctx, p.db)
	if err != nil {
		return nil, explain(ctx, "look for a lease", err)
	}
	defer t.end()
	l, _, _, err := p.readLease(t)
	if err != nil {
		return nil, told(ctx, "look for a lease", err)
	}
	return l, nil
}

// TakeLease takes the lease in one transaction: of several at the same time one
// commits, and the others conflict, try again and find it alive.
func (p *database) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	_, err := p.change(ctx, "take the lease", func(t *transaction) error {
		if _, err := p.readMark(t); err != nil {
			return err
		}
		l, _, now, err := p.readLease(t)
		if err != nil {
			return err
		}
		if err := l.MayTake(p.layout.Name, holder, gone); err != nil {
			return err
		}
		return p.setLease(t, lease{Holder: holder, Since: time.Now().UnixNano(), Expires: now + versions(ttl)})
	})
	if err == nil {
		p.taken.Set(holder)
	}
	return err
}

// RenewLease moves the expiry on.
func (p *database) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	_, err := p.change(ctx, "renew the lease", func(t *transaction) error {
		l, kept, now, err := p.readLease(t)
		if err != nil {
			return err
		}
		if err := l.MayRenew(p.layout.Name, token); err != nil {
			return err
		}
		kept.Expires = now + versions(ttl)
		return p.setLease(t, *kept)
	})
	return err
}

// ReleaseLease clears the key.
func (p *database) ReleaseLease(ctx context.Context, token string) error {
	_, err := p.change(ctx, "release the lease", func(t *transaction) error {
		l, _, _, err := p.readLease(t)
		if err == nil && l != nil && l.Token == token {
			t.Clear(fdb.Key(p.layout.Lease()))
		}
		return err
	})
	return err
}
