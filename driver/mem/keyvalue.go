package mem

import (
	"context"

	"github.com/google/uuid"

	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueStore is a keyvalue.Store.
type keyValueStore struct {
	baseStore
	name    string
	records *table[keyvalue.Value, keyvalue.Record]
}

// OpenKeyValue is as OpenBank; there is no member but one to answer reads.
func OpenKeyValue(_ context.Context, target workload.Target, t keyvalue.Table) (keyvalue.Store, error) {
	if target.Read != "" && target.Read != workload.ReadPrimary {
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary}
	}
	return opened(target, func(b baseStore) keyvalue.Store {
		return &keyValueStore{b, t.Name, newTable[keyvalue.Value, keyvalue.Record](b.d)}
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
