package bugs

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// keyValueBugs are those of a workload by its name.
func keyValueBugs(name string) []bugOf[callKinds] {
	const acknowledged, rows, reads = keyvalue.CheckAcknowledged, keyvalue.CheckRows, keyvalue.CheckReads
	altered := []bugOf[callKinds]{
		{Bug{Name: "altered-field", Check: acknowledged, Kinds: []string{"altered"},
			Doc: "one of the fields is written otherwise than was asked (found in all checks that see it)"}, inInsert},
		{Bug{Name: "altered-read", Check: reads, Kinds: []string{"altered"},
			Doc: "a read returns a field otherwise than it was written"}, inGet},
		{Bug{Name: "swapped-read", Check: reads, Kinds: []string{"altered"},
			Doc: "a read returns another record than the one asked for"}, inGet},
	}
	if name == availability.Name {
		altered = []bugOf[callKinds]{
			{Bug{Name: "altered-row", Check: rows, Kinds: []string{"altered"},
				Doc: "a row has another value than was inserted (found by reads as well, if it is read)"}, inInsert},
			{Bug{Name: "altered-read", Check: reads, Kinds: []string{"altered", "other row"},
				Doc: "a read returns another value, or another row, than the one asked for"}, inGet},
		}
	}
	return append([]bugOf[callKinds]{
		{Bug{Name: "lost-ack", Check: acknowledged, Kinds: []string{"lost"},
			Doc: "an acknowledged record is there for up to eight more calls, and then lost"}, inInsert},
		{Bug{Name: "reported-never-applied", Check: acknowledged, Kinds: []string{"lost"},
			Doc: "an insert is acknowledged and nothing stays"}, inInsert},
		{Bug{Name: "duplicate-apply", Check: rows, Kinds: []string{"doubled"},
			Doc: "a record is inserted twice under one key"}, inInsert},
		{Bug{Name: "extra-row", Check: rows, Kinds: []string{"foreign"},
			Doc: "a record that nobody inserted is there beside"}, inInsert},
		{Bug{Name: "failed-but-applied", Check: rows, Kinds: []string{"failed"},
			Doc: "a record is inserted, and failed is answered"}, inInsert},
		{Bug{Name: "stale-read", Check: reads, Kinds: []string{"stale"},
			Doc: "a read does not find a record that is there and was acknowledged"}, inGet},
		{Bug{Name: "truncated-read", Check: acknowledged, Kinds: []string{"lost"},
			Doc: "a read of everything ends early and without an error"}, inRead},
		{late("record inserted"), inInsert},
	}, altered...)
}

// keyValueStore is a keyvalue.Store with bugs.
type keyValueStore struct {
	*rowStore[keyvalue.Session, keyvalue.Value, keyvalue.Record]
	inner keyvalue.Store
	// swaps is true if a read that goes wrong returns another record where it can.
	swaps bool
	// previous is the record that was inserted or read last.
	previous keyvalue.Record
}

func newAvailability(inner keyvalue.Store, seeded []Seeded, seed uint64) *keyValueStore {
	return newKeyValue(inner, availability.Name, seeded, seed)
}

func newEntity(inner keyvalue.Store, seeded []Seeded, seed uint64) *keyValueStore {
	return newKeyValue(inner, entity.Name, seeded, seed)
}

func newKeyValue(inner keyvalue.Store, name string, seeded []Seeded, seed uint64) *keyValueStore {
	s := &keyValueStore{inner: inner, swaps: name == availability.Name}
	t := newTrial(inner, inner.Create, keyValueBugs(name), seeded, seed)
	s.rowStore = newRowStore(t, rowAccess[keyvalue.Session, keyvalue.Value, keyvalue.Record]{
		session: inner.Session, read: inner.Read,
		wrap:    func(session keyvalue.Session) keyvalue.Session { return &keyValueSession{session, s} },
		key:     func(r keyvalue.Record) keyvalue.Value { return r.Key },
		altered: s.alter, foreign: foreignRecord,
	})
	forget := t.reset
	t.reset = func() {
		forget()
		s.previous = keyvalue.Record{}
	}
	return s
}

// alter changes one value, by chance which.
func (s *keyValueStore) alter(record keyvalue.Record) keyvalue.Record {
	record.Values = slices.Clone(record.Values)
	i := s.chance.IntN(len(record.Values))
	switch v := record.Values[i].(type) {
	case int64:
		record.Values[i] = v + 1
	case string:
		others := []string{v + "s", "x" + v}
		if v != "" {
			others = append(others, v[1:])
		}
		record.Values[i] = others[s.chance.IntN(len(others))]
	}
	return record
}

// foreignRecord is a record of a key that no client of a run makes.
func foreignRecord(record keyvalue.Record) keyvalue.Record {
	switch key := record.Key.(type) {
	case int64:
		record.Key = key ^ 1<<62
	case uuid.UUID:
		key[15]++
		record.Key = key
	}
	return record
}

func (s *keyValueStore) Promise() string { return keyvalue.PromiseOf(s.inner) }

// keyValueSession is one client's.
type keyValueSession struct {
	keyvalue.Session
	s *keyValueStore
}

func (n *keyValueSession) Insert(ctx context.Context, record keyvalue.Record) (reply keyvalue.Reply) {
	s := n.s
	record.Values = slices.Clone(record.Values)
	reply.Reply = s.write(ctx, inInsert, n.Session, func(ctx context.Context, session keyvalue.Session, _ string) workload.Reply {
		reply := session.Insert(ctx, record).Reply
		if reply.Outcome == history.Committed {
			s.previous = record
		}
		return reply
	}, func(b *active[callKinds]) workload.Reply {
		if b.Name == "lost-ack" {
			s.postpone(maxLoss, func(context.Context) { s.show(record.Key) })
			return committed()
		}
		return s.spoil(b.Name, record)
	})
	return reply
}

func (n *keyValueSession) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return keyvalue.Reply{Reply: unsent(err)}
	}
	defer s.done()
	reply := n.Session.Get(ctx, key)
	if shown, differs := s.shown[key]; differs && reply.Found {
		reply.Record, reply.Found = keyvalue.Record{}, false
		if len(shown) > 0 {
			reply.Record, reply.Found = shown[0], true
		}
	}
	if !reply.Found {
		return reply
	}
	record := reply.Record
	if b := drawn(s.trial, inGet); b != nil {
		b.strikes++
		reply.Record, reply.Found = s.misread(b.Name, record)
	}
	s.previous = record
	return reply
}

// misread is what a read that should find a record returns because of a bug. One
// that should return another record alters this one if no other is known.
func (s *keyValueStore) misread(bug string, record keyvalue.Record) (got keyvalue.Record, found bool) {
	switch {
	case bug == "stale-read":
		return keyvalue.Record{}, false
	case (s.swaps || bug == "swapped-read") && s.previous.Key != nil && s.previous.Key != record.Key:
		return s.previous, true
	default:
		return s.alter(record), true
	}
}
