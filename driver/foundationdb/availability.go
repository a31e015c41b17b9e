//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// availabilityStore is an availability.Store, under ("assay", "availability"):
//
//	("row", key) = value
type availabilityStore struct{ *place }

var (
	_ availability.Store     = (*availabilityStore)(nil)
	_ availability.Promising = (*availabilityStore)(nil)
)

// OpenAvailability connects to the cluster and returns its Store. Errors are as
// with OpenBank; there is no choice of who answers reads.
func OpenAvailability(ctx context.Context, target workload.Target) (availability.Store, error) {
	if err := primaryOnly(target); err != nil {
		return nil, err
	}
	p, err := openPlace(ctx, target, "availability", tableRow)
	if err != nil {
		return nil, err
	}
	return &availabilityStore{p}, nil
}

// Promise implements availability.Promising: "once a transaction has been
// successfully committed, all subsequently created transactions will see the
// modifications made by it" (Go binding, Transaction), and strict
// serializability is linearizability of transactions. With causal_read_risky
// nothing is promised, since the read version may be an older one.
func (s *availabilityStore) Promise() string {
	if s.riskyReads {
		return ""
	}
	return availability.PromiseLinearizable
}

// Read implements availability.Store.
func (s *availabilityStore) Read(ctx context.Context, each func(availability.Row) error) error {
	return s.read(ctx, span{tableRow, func(key, value []byte) error {
		var r availability.Row
		if err := errors.Join(s.ids(tableRow, key, &r.Key), readWords(tableRow, value, &r.Value)); err != nil {
			return fmt.Errorf("foundationdb: read: %w", err)
		}
		return each(r)
	}})
}

// availabilitySession is an availability.Session.
type availabilitySession struct{ store *availabilityStore }

// Session implements availability.Store.
func (s *availabilityStore) Session(ctx context.Context) (availability.Session, error) {
	if _, err := s.look(ctx, "open a session", s.ours); err != nil {
		return nil, err
	}
	return &availabilitySession{s}, nil
}

// Close implements availability.Session.
func (n *availabilitySession) Close() {}

// Insert implements availability.Session.
func (n *availabilitySession) Insert(ctx context.Context, row availability.Row) availability.Reply {
	t, err := n.store.operate(ctx)
	if err != nil {
		return availability.Reply{Reply: notBegun(ctx, err)}
	}
	defer t.end()
	if err := t.guard(n.store.mark()); err != nil {
		return availability.Reply{Reply: t.failure("insert", err)}
	}
	key := fdb.Key(n.store.key(tableRow, row.Key))
	before, err := t.Get(key).Get()
	if err != nil {
		return availability.Reply{Reply: t.failure("insert", err)}
	}
	if before != nil {
		return availability.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}}
	}
	t.Set(key, appendWords(nil, row.Value))
	if err := t.commit(); err != nil {
		return availability.Reply{Reply: t.failure("commit an insert", err)}
	}
	return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

// Get implements availability.Session.
func (n *availabilitySession) Get(ctx context.Context, key int64) availability.Reply {
	t, err := n.store.operate(ctx)
	if err != nil {
		return availability.Reply{Reply: notBegun(ctx, err)}
	}
	defer t.end()
	row := availability.Row{Key: key}
	value, err := t.Get(fdb.Key(n.store.key(tableRow, key))).Get()
	if err == nil && value == nil {
		return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	}
	if err == nil {
		err = readWords(tableRow, value, &row.Value)
	}
	if err != nil {
		return availability.Reply{Reply: t.failure("get", err)}
	}
	return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}, Row: row, Found: true}
}
