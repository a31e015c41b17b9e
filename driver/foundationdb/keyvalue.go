//go:build foundationdb

package foundationdb

import (
	"context"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueStore is a keyvalue.Store, under ("assay", the workload's name):
//
//	(the table's name, key) = the record's integers and then its texts
//
// A key is an integer or a UUID as the tuple layer has them, the value as
// appendRecord makes it. A record that is longer than a value may be (maxValue) is
// refused by the client (codeValueTooBig) and so failed.
type keyValueStore struct {
	*schema
	table keyvalue.Table
}

var _ keyvalue.Promising = (*keyValueStore)(nil)

// OpenKeyValue connects to the cluster and returns the Store of a table, whose key
// is no text. Errors are as with OpenBank; there is no choice of who answers reads,
// nor of how many nodes acknowledge a write or answer a read: a commit is on as
// many logs as the cluster is configured for, and every read is of one version,
// whichever storage server answers. What there is to choose is causal_read_risky,
// in the address.
func OpenKeyValue(ctx context.Context, target workload.Target, table keyvalue.Table) (keyvalue.Store, error) {
	p, err := openSchema(ctx, target, table.Workload, table.Name)
	if err != nil {
		return nil, err
	}
	return &keyValueStore{p, table}, nil
}

// Promise implements keyvalue.Promising: "once a transaction has been
// successfully committed, all subsequently created transactions will see the
// modifications made by it" (Go binding, Transaction), and strict
// serializability is linearizability of transactions. With causal_read_risky
// nothing is promised, since the read version may be an older one.
func (s *keyValueStore) Promise() string {
	if s.riskyReads {
		return ""
	}
	return keyvalue.PromiseLinearizable
}

// Read implements keyvalue.Store. No record is ever again what it was before, as schema.read
// takes for granted.
func (s *keyValueStore) Read(ctx context.Context, use func(keyvalue.Record) error) error {
	return s.read(ctx, rows(s.table.Name, func(key, value []byte, r *keyvalue.Record) (err error) {
		*r, err = s.record(s.table, key, value)
		return err
	}, use))
}

// keyValueSession is a keyvalue.Session.
type keyValueSession struct {
	session
	table keyvalue.Table
}

func (s *keyValueStore) Session(ctx context.Context) (keyvalue.Session, error) {
	n, err := s.session(ctx)
	return &keyValueSession{n, s.table}, err
}

// Insert implements keyvalue.Session. The key is looked for in the transaction
// that writes it, so that of two who write one key at the same time one is refused
// as a conflict, which is no duplicate but failed all the same.
func (n *keyValueSession) Insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	return keyvalue.Reply{Reply: n.transact(ctx, "insert", func(t *transaction) (reply workload.Reply, err error) {
		key := fdb.Key(n.recordKey(n.table, record.Key))
		before, err := t.Get(key).Get()
		if before != nil || err != nil {
			return duplicate(), err
		}
		t.Set(key, recordValue(record))
		return committed(), nil
	})}
}

// Get implements keyvalue.Session. The read version, which the client asks for
// before the key, is what makes the read see all that was acknowledged before;
// see causalReadRisky for when it may not.
func (n *keyValueSession) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	t, err := n.operate(ctx)
	if err != nil {
		return keyvalue.Reply{Reply: notBegun(ctx, err)}
	}
	defer t.end()
	of := n.recordKey(n.table, key)
	value, err := t.Get(fdb.Key(of)).Get()
	if err == nil && value == nil {
		return keyvalue.Reply{Reply: committed()}
	}
	r := keyvalue.Reply{Reply: committed(), Found: true}
	if err == nil {
		r.Record, err = n.record(n.table, of, value)
	}
	if err != nil {
		return keyvalue.Reply{Reply: t.failure("get", err)}
	}
	return r
}
