package mem

import (
	"context"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueStore is a keyvalue.Store.
type keyValueStore struct {
	baseStore
	name    string
	records *table[keyvalue.Value, keyvalue.Record]
	// sorted are the keys in their order, of a table whose records are changed and
	// scanned: these are integers.
	sorted *order[keyvalue.Value, keyvalue.Record, int64]
}

var _ keyvalue.Mutable = (*keyValueStore)(nil)

// OpenKeyValue is as OpenBank; there is no member but one to answer reads.
func OpenKeyValue(_ context.Context, target workload.Target, t keyvalue.Table) (keyvalue.Store, error) {
	if target.Read != "" && target.Read != workload.ReadPrimary {
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary}
	}
	return opened(target, func(b baseStore) keyvalue.Store {
		s := &keyValueStore{baseStore: b, name: t.Name, records: newTable[keyvalue.Value, keyvalue.Record](b.d)}
		if t.Loaded {
			s.sorted = ordered(s.records, func(key keyvalue.Value, _ keyvalue.Record) int64 { return number(key) },
				func(a, b int64) bool { return a < b })
		}
		return s
	})
}

// Promise implements keyvalue.Promising: one call at a time is let in.
func (s *keyValueStore) Promise() string { return keyvalue.PromiseLinearizable }

func (s *keyValueStore) Read(ctx context.Context, use func(keyvalue.Record) error) error {
	return s.locked(true, func() error { return s.records.each(ctx, use) })
}

// Size implements keyvalue.Store: the records, and their keys once more.
func (s *keyValueStore) Size(context.Context) (workload.Size, error) {
	return s.size(func() (bytes int64) {
		for key, v := range s.records.rows {
			bytes += 2 * bytesOf(key)
			for _, value := range v.row.Values {
				bytes += bytesOf(value)
			}
		}
		return bytes
	}, s.name)
}

func bytesOf(v keyvalue.Value) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v))
	case uuid.UUID:
		return int64(len(v))
	default:
		return 8
	}
}

// keyValueSession is one client's.
type keyValueSession struct{ *keyValueStore }

func (s *keyValueStore) Session(context.Context) (keyvalue.Session, error) {
	return &keyValueSession{s}, s.ready()
}

func (n *keyValueSession) Insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	return keyvalue.Reply{Reply: n.d.run(ctx, "insert", func(x *transaction) workload.Reply {
		if _, there := get(x, n.records, record.Key); there {
			return duplicate()
		}
		put(x, n.records, record.Key, record)
		return committed()
	})}
}

func (n *keyValueSession) Get(ctx context.Context, key keyvalue.Value) (reply keyvalue.Reply) {
	if failed := n.d.enter(ctx, "get"); failed != nil {
		return keyvalue.Reply{Reply: *failed}
	}
	defer n.d.mu.Unlock()
	reply.Reply = committed()
	reply.Record, reply.Found = n.records.current(key)
	return reply
}

func (n *keyValueSession) Close() {}

func (s *keyValueStore) LoadRecords(_ context.Context, records []keyvalue.Record) error {
	return s.locked(true, func() error {
		x := s.d.begin()
		defer x.end()
		for _, record := range records {
			put(x, s.records, record.Key, record)
		}
		x.commit()
		return nil
	})
}

// Scans implements keyvalue.Mutable.
func (s *keyValueStore) Scans() (promise string, err error) { return s.Promise(), nil }

func (s *keyValueStore) MutableSession(context.Context) (keyvalue.MutableSession, error) {
	return &keyValueSession{s}, s.ready()
}

// Update implements keyvalue.MutableSession.
func (n *keyValueSession) Update(ctx context.Context, record keyvalue.Record) (reply keyvalue.Reply) {
	found := false
	reply.Reply = n.d.run(ctx, "update", func(x *transaction) workload.Reply {
		if _, found = get(x, n.records, record.Key); found {
			put(x, n.records, record.Key, record)
		}
		return committed()
	})
	reply.Found = found && reply.Outcome == history.Committed
	return reply
}

// Scan implements keyvalue.MutableSession.
func (n *keyValueSession) Scan(ctx context.Context, from keyvalue.Value, limit int) (found []keyvalue.Record, reply keyvalue.Reply) {
	if failed := n.d.enter(ctx, "scan"); failed != nil {
		return nil, keyvalue.Reply{Reply: *failed}
	}
	defer n.d.mu.Unlock()
	n.sorted.up(number(from), func(key int64) bool {
		if len(found) == limit {
			return false
		}
		record, _ := n.records.current(key)
		found = append(found, record)
		return true
	})
	return found, keyvalue.Reply{Reply: committed()}
}

// number is a key of a table whose keys are integers.
func number(key keyvalue.Value) int64 {
	n, _ := key.(int64)
	return n
}
