//go:build foundationdb

package foundationdb

import (
	"context"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

var _ keyvalue.Mutable = (*keyValueStore)(nil)

// recordsLoaded is how many records one transaction loads at most: of the longest that
// a workload has, they are some 1.6 MB (see LoadAccounts).
const recordsLoaded = 100

func (s *keyValueStore) LoadRecords(ctx context.Context, records []keyvalue.Record) error {
	return load(ctx, s.schema, "load records", records, recordsLoaded, func(t *transaction, r keyvalue.Record) {
		t.Set(fdb.Key(s.recordKey(s.table, r.Key)), recordValue(r))
	})
}

// Scans implements keyvalue.Mutable: a scan is one transaction, of one version.
func (s *keyValueStore) Scans() (promise string, err error) { return s.Promise(), nil }

func (s *keyValueStore) MutableSession(ctx context.Context) (keyvalue.MutableSession, error) {
	n, err := s.session(ctx)
	return &keyValueSession{n, s.table}, err
}

// Update implements keyvalue.MutableSession. The key is looked for in the transaction
// that writes it, since FoundationDB itself inserts what is not there.
func (n *keyValueSession) Update(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	found := false
	reply := n.transact(ctx, "update", func(t *transaction) (workload.Reply, error) {
		key := fdb.Key(n.recordKey(n.table, record.Key))
		before, err := t.Get(key).Get()
		if found = before != nil; found {
			t.Set(key, recordValue(record))
		}
		return committed(), err
	})
	return keyvalue.Reply{Reply: reply, Found: found && reply.Outcome == history.Committed}
}

// Scan implements keyvalue.MutableSession.
func (n *keyValueSession) Scan(ctx context.Context, from keyvalue.Value, limit int) ([]keyvalue.Record, keyvalue.Reply) {
	t, err := n.operate(ctx)
	if err != nil {
		return nil, keyvalue.Reply{Reply: notBegun(ctx, err)}
	}
	defer t.end()
	_, end := n.rows(n.table.Name)
	of := keyRange(n.recordKey(n.table, from), end)
	rows, err := t.GetRange(of, fdb.RangeOptions{Limit: limit, Mode: fdb.StreamingModeExact}).GetSliceWithError()
	found := make([]keyvalue.Record, len(rows))
	for i := 0; err == nil && i < len(rows); i++ {
		found[i], err = n.record(n.table, rows[i].Key, rows[i].Value)
	}
	if err != nil {
		return nil, keyvalue.Reply{Reply: t.failure("scan", err)}
	}
	return found, keyvalue.Reply{Reply: committed()}
}
