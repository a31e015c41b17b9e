//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/entity"
)

// entityStore is an entity.Store, under ("assay", "entity"):
//
//	("entity", id) = age; name, description, address, phone, e-mail
//
// the id as the tuple layer has UUIDs, the value as appendRecord makes it. The
// longest entity is below 6 kB, far from the limit of a value (maxValue); one
// that a service lets through and that is beyond is refused by the client
// (codeValueTooBig) and so failed.
type entityStore struct{ *place }

var (
	_ entity.Store     = (*entityStore)(nil)
	_ entity.Promising = (*entityStore)(nil)
)

// OpenEntity connects to the cluster and returns its Store. Errors are as with
// OpenBank. There is no choice of how many nodes acknowledge a write or answer
// a read: a commit is on as many logs as the cluster is configured for, and
// every read is of one version, whichever storage server answers. What there is
// to choose is causal_read_risky, in the address.
func OpenEntity(ctx context.Context, target workload.Target) (entity.Store, error) {
	if err := primaryOnly(target); err != nil {
		return nil, err
	}
	p, err := openPlace(ctx, target, "entity", tableEntity)
	if err != nil {
		return nil, err
	}
	return &entityStore{p}, nil
}

// Promise implements entity.Promising, on the grounds on which
// availabilityStore.Promise does.
func (s *entityStore) Promise() string {
	if s.riskyReads {
		return ""
	}
	return entity.PromiseLinearizable
}

// Read implements entity.Store. An entity is never written twice, as
// place.read takes for granted.
func (s *entityStore) Read(ctx context.Context, each func(entity.Entity) error) error {
	return s.read(ctx, span{tableEntity, func(key, value []byte) error {
		id, err := s.uuid(tableEntity, key)
		e, err2 := entityOf(id, value)
		if err := errors.Join(err, err2); err != nil {
			return fmt.Errorf("foundationdb: read: %w", err)
		}
		return each(e)
	}})
}

// entitySession is an entity.Session.
type entitySession struct{ store *entityStore }

// Session implements entity.Store.
func (s *entityStore) Session(ctx context.Context) (entity.Session, error) {
	if _, err := s.look(ctx, "open a session", s.ours); err != nil {
		return nil, err
	}
	return &entitySession{s}, nil
}

// Close implements entity.Session.
func (n *entitySession) Close() {}

// Put implements entity.Session. The id is looked for in the transaction that
// writes it, so that of two who write one id at the same time one is refused as
// a conflict, which is no duplicate but failed all the same.
func (n *entitySession) Put(ctx context.Context, e entity.Entity) entity.Reply {
	t, err := n.store.operate(ctx)
	if err != nil {
		return entity.Reply{Reply: notBegun(ctx, err)}
	}
	defer t.end()
	if err := t.guard(n.store.mark()); err != nil {
		return entity.Reply{Reply: t.failure("put", err)}
	}
	key := fdb.Key(n.store.uuidKey(tableEntity, e.ID))
	before, err := t.Get(key).Get()
	if err != nil {
		return entity.Reply{Reply: t.failure("put", err)}
	}
	if before != nil {
		return entity.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}}
	}
	t.Set(key, entityValue(e))
	if err := t.commit(); err != nil {
		return entity.Reply{Reply: t.failure("commit a put", err)}
	}
	return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

// Get implements entity.Session. The read version, which the client asks for
// before the key, is what makes the read see all that was acknowledged before;
// see causalReadRisky for when it may not.
func (n *entitySession) Get(ctx context.Context, id uuid.UUID) entity.Reply {
	t, err := n.store.operate(ctx)
	if err != nil {
		return entity.Reply{Reply: notBegun(ctx, err)}
	}
	defer t.end()
	value, err := t.Get(fdb.Key(n.store.uuidKey(tableEntity, id))).Get()
	if err == nil && value == nil {
		return entity.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	}
	r := entity.Reply{Reply: workload.Reply{Outcome: history.Committed}, Found: true}
	if err == nil {
		r.Entity, err = entityOf(id, value)
	}
	if err != nil {
		return entity.Reply{Reply: t.failure("get", err)}
	}
	return r
}
