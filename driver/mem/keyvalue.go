package mem

import (
	"context"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// Records is one database of a workload's that stands on package keyvalue. It is
// safe for concurrent use. All Stores that KeyValue returns share it.
type Records struct {
	*site
	table   keyvalue.Table
	strikes []keyValueStrike
	bag[keyvalue.Value, keyvalue.Record]
	// late is what bugs leave for later calls.
	late []lateRecord
}

// lateRecord is something to be done with a record at the call numbered due: it
// is inserted, or lost.
type lateRecord struct {
	record keyvalue.Record
	due    uint64
	lose   bool
}

// keyValueStrike is a bug switched on.
type keyValueStrike struct {
	keyValueBug
	probability float64
}

// NewKeyValue returns an empty database of a workload's. It returns
// *workload.OptionError for a bug that does not exist or a value out of range.
func NewKeyValue(table keyvalue.Table, o Options) (*Records, error) {
	s, err := newSite(o, KeyValueBugs(table))
	if err != nil {
		return nil, err
	}
	d := &Records{site: s, table: table}
	d.key = func(r keyvalue.Record) keyvalue.Value { return r.Key }
	for _, bug := range keyValueBugs(table) {
		if p := s.odds(bug.Name); p > 0 {
			d.strikes = append(d.strikes, keyValueStrike{bug, p})
		}
	}
	d.reset()
	return d, nil
}

// KeyValue returns a Store on this database.
func (d *Records) KeyValue() keyvalue.Store { return &keyValueStore{newShell(d.site, d), d} }

// reset empties the schema. The caller holds the lock, as for all methods below.
func (d *Records) reset() {
	d.empty()
	d.calls, d.late = 0, nil
}

func (d *Records) count() int64 { return int64(len(d.rows)) }

func (d *Records) settle() { d.pass(d.calls + maxLate) }

// insert is one insert, from the order to the answer.
func (d *Records) insert(record keyvalue.Record) keyvalue.Reply {
	d.calls++
	d.pass(d.calls)
	if d.has(record.Key) {
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}}
	}
	if d.hits(d.timeout) {
		if d.chance.Uint64()&1 == 0 {
			d.add(record)
		}
		return keyvalue.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
	}
	for _, bug := range d.strikes {
		if bug.insert != nil && d.hits(bug.probability) {
			return keyvalue.Reply{Reply: bug.insert(d, record)}
		}
	}
	d.add(record)
	return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

// get is one read.
func (d *Records) get(key keyvalue.Value) keyvalue.Reply {
	d.calls++
	d.pass(d.calls)
	reply := keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	at, there := d.at[key]
	if !there {
		return reply
	}
	reply.Record, reply.Found = d.rows[at], true
	for _, bug := range d.strikes {
		if bug.get != nil && d.hits(bug.probability) {
			reply.Record, reply.Found = bug.get(d, reply.Record)
			break
		}
	}
	return reply
}

// pass brings about what earlier calls left for later, up to the given call.
func (d *Records) pass(call uint64) {
	kept := d.late[:0]
	for _, l := range d.late {
		switch {
		case l.due > call:
			kept = append(kept, l)
		case l.lose:
			d.lose(l.record.Key)
		case !d.has(l.record.Key):
			d.add(l.record)
		}
	}
	d.late = kept
}

// keyValueStore is a keyvalue.Store on a Records.
type keyValueStore struct {
	shell
	d *Records
}

// OpenKeyValue returns a Store on a new, empty database: two Stores opened so
// share nothing. The address and the errors are OpenBank's, with the bugs of
// KeyValueBugs; there is no member but one to answer reads.
func OpenKeyValue(_ context.Context, target workload.Target, table keyvalue.Table) (keyvalue.Store, error) {
	if target.Read != "" && target.Read != workload.ReadPrimary {
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary}
	}
	o, err := parse(target, KeyValueBugs(table))
	if err != nil {
		return nil, err
	}
	d, err := NewKeyValue(table, o)
	if err != nil {
		return nil, err
	}
	return d.KeyValue(), nil
}

// Promise implements keyvalue.Promising: one call at a time is let in.
func (s *keyValueStore) Promise() string { return keyvalue.PromiseLinearizable }

// Read implements keyvalue.Store. It holds up all other calls while it lasts, and
// the callback must make none.
func (s *keyValueStore) Read(ctx context.Context, use func(keyvalue.Record) error) error {
	return s.locked(true, func() error {
		all := s.d.rows
		for _, bug := range s.d.strikes {
			if bug.truncate && s.d.hits(bug.probability) {
				all = all[:s.d.chance.IntN(max(len(all), 1))]
				break
			}
		}
		return each(ctx, all, use)
	})
}

// Size implements keyvalue.Store. It is memory, there being no disk: the records,
// and their keys once more.
func (s *keyValueStore) Size(context.Context) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		for _, r := range s.d.rows {
			size.Bytes += 2 * bytesOf(r.Key)
			for _, v := range r.Values {
				size.Bytes += bytesOf(v)
			}
		}
		size.Tables, size.Rows = size.Bytes, map[string]int64{s.d.table.Name: s.d.count()}
		return nil
	})
	return size, err
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
type keyValueSession struct{ d *Records }

// Session implements keyvalue.Store.
func (s *keyValueStore) Session(context.Context) (keyvalue.Session, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	return &keyValueSession{s.d}, nil
}

// Insert implements keyvalue.Session.
func (n *keyValueSession) Insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	return n.call(ctx, "insert", func() keyvalue.Reply { return n.d.insert(record) })
}

// Get implements keyvalue.Session.
func (n *keyValueSession) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	return n.call(ctx, "get", func() keyvalue.Reply { return n.d.get(key) })
}

// call does something under the lock, after the latency.
func (n *keyValueSession) call(ctx context.Context, doing string, do func() keyvalue.Reply) keyvalue.Reply {
	if no := n.d.enter(ctx, doing); no != nil {
		return keyvalue.Reply{Reply: *no}
	}
	defer n.d.mu.Unlock()
	return do()
}

// Close implements keyvalue.Session.
func (n *keyValueSession) Close() {}
