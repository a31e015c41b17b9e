package bugs

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
	"assay/workload/ycsb"
)

// ycsbBugs are those of workload ycsb.
func ycsbBugs() []bugOf[callKinds] {
	const records, reads, scans, linearizable = ycsb.CheckRecords, ycsb.CheckReads, ycsb.CheckScans, ycsb.CheckLinearizable
	older := []string{"stale read", "lost", "order"}
	return []bugOf[callKinds]{
		{Bug{Name: "lost-update", Check: linearizable, Or: records, Kinds: older, Passing: true,
			Doc: "an update is acknowledged and not done; the next update hides it"}, inUpdate},
		{Bug{Name: "lost-insert", Check: records, Or: linearizable, Kinds: older,
			Doc: "an insert is acknowledged and not done"}, inInsert},
		{Bug{Name: "stale-read", Check: linearizable, Kinds: older, Passing: true,
			Doc: "a read returns the version before the newest, which is allowed while that is being written"}, inGet},
		{Bug{Name: "altered-read", Check: reads, Kinds: []string{"garbage"},
			Doc: "a read returns a field otherwise than it was written"}, inGet},
		{Bug{Name: "mixed-read", Check: reads, Kinds: []string{"mixed"},
			Doc: "a read returns a field of an older version beside those of the newest"}, inGet},
		{Bug{Name: "torn-update", Check: reads, Or: records, Kinds: []string{"mixed"}, Passing: true,
			Doc: "an update writes some of the fields alone; the next update hides it"}, inUpdate},
		{Bug{Name: "failed-but-applied", Check: reads, Or: records, Kinds: []string{"failed"}, Passing: true,
			Doc: "an update is done, and failed is answered; the next update hides it"}, inUpdate},
		{Bug{Name: "dropped-from-scan", Check: scans, Kinds: []string{"left out"}, Passing: true,
			Doc: "a scan leaves a record out, which is allowed of one that is being inserted"}, inScan},
		{Bug{Name: "doubled-in-scan", Check: scans, Kinds: []string{"doubled"},
			Doc: "a scan returns a record twice in place of the next"}, inScan},
		{Bug{Name: "disordered-scan", Check: scans, Kinds: []string{"order"},
			Doc: "a scan returns two records in the wrong order"}, inScan},
		{Bug{Name: "extra-row", Check: records, Kinds: []string{"foreign"},
			Doc: "a record that nobody inserted is there beside"}, inInsert},
		{Bug{Name: "truncated-read", Check: records, Kinds: []string{"lost"},
			Doc: "a read of everything ends early and without an error"}, inRead},
		{late("update done"), inUpdate},
	}
}

// mutableStore is a keyvalue.Mutable with bugs.
type mutableStore struct {
	*rowStore[keyvalue.MutableSession, keyvalue.Value, keyvalue.Record]
	inner keyvalue.Mutable
	// versions are the two newest versions of records, as far as they were written.
	versions map[keyvalue.Value]twoVersions
}

type twoVersions struct{ newest, older keyvalue.Record }

var _ keyvalue.Mutable = (*mutableStore)(nil)

func newMutable(inner keyvalue.Mutable, seeded []Seeded, seed uint64) *mutableStore {
	s := &mutableStore{inner: inner, versions: map[keyvalue.Value]twoVersions{}}
	t := newTrial(inner, inner.Create, ycsbBugs(), seeded, seed)
	s.rowStore = newRowStore(t, rowAccess[keyvalue.MutableSession, keyvalue.Value, keyvalue.Record]{
		session: inner.MutableSession, read: inner.Read,
		wrap:    func(session keyvalue.MutableSession) keyvalue.MutableSession { return &mutableSession{session, s} },
		key:     func(r keyvalue.Record) keyvalue.Value { return r.Key },
		altered: func(r keyvalue.Record) keyvalue.Record { return alterText(r, s.chance.IntN(len(r.Values))) },
		foreign: func(r keyvalue.Record) keyvalue.Record {
			key, _ := r.Key.(int64)
			r.Key = -1 - key
			return r
		},
	})
	forget := t.reset
	t.reset = func() {
		forget()
		s.versions = map[keyvalue.Value]twoVersions{}
	}
	return s
}

// alterText is a record with another last character in one field.
func alterText(r keyvalue.Record, field int) keyvalue.Record {
	r.Values = slices.Clone(r.Values)
	text, _ := r.Values[field].(string)
	last := byte('0')
	if text[len(text)-1] == last {
		last = '1'
	}
	r.Values[field] = text[:len(text)-1] + string(last)
	return r
}

func (s *mutableStore) Promise() string                      { return keyvalue.PromiseOf(s.inner) }
func (s *mutableStore) Scans() (string, error)               { return s.inner.Scans() }
func (s *mutableStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }
func (s *mutableStore) LoadRecords(ctx context.Context, records []keyvalue.Record) error {
	return s.inner.LoadRecords(ctx, records)
}

func (s *mutableStore) Session(ctx context.Context) (keyvalue.Session, error) {
	return s.MutableSession(ctx)
}

func (s *mutableStore) MutableSession(ctx context.Context) (keyvalue.MutableSession, error) {
	return s.rowStore.Session(ctx)
}

// wrote keeps a version that was written.
func (s *mutableStore) wrote(record keyvalue.Record) {
	if v, known := s.versions[record.Key]; known || len(s.versions) < maxDifferences {
		s.versions[record.Key] = twoVersions{newest: record, older: v.newest}
	}
}

// mutableSession is one client's.
type mutableSession struct {
	keyvalue.MutableSession
	s *mutableStore
}

func (n *mutableSession) Insert(ctx context.Context, record keyvalue.Record) (reply keyvalue.Reply) {
	s := n.s
	reply.Reply = s.write(ctx, inInsert, n.MutableSession, func(ctx context.Context, session keyvalue.MutableSession, bug string) workload.Reply {
		if bug == "lost-insert" {
			return committed()
		}
		reply := session.Insert(ctx, record).Reply
		if reply.Outcome == history.Committed {
			s.wrote(record)
		}
		return reply
	}, func(b *active[callKinds]) workload.Reply { return s.spoil(b.Name, record) })
	return reply
}

// Update does not know whether there is a record that it is to leave as it was, and
// looks before.
func (n *mutableSession) Update(ctx context.Context, record keyvalue.Record) (reply keyvalue.Reply) {
	s, found := n.s, false
	reply.Reply = s.write(ctx, inUpdate, n.MutableSession, func(ctx context.Context, session keyvalue.MutableSession, bug string) workload.Reply {
		sent := record
		if bug == "lost-update" || bug == "torn-update" {
			before := session.Get(ctx, record.Key)
			if before.Outcome != history.Committed || !before.Found {
				return before.Reply
			}
			if found = true; bug == "lost-update" {
				return before.Reply
			}
			sent.Values = slices.Concat(record.Values[:1], before.Record.Values[1:])
		}
		r := session.Update(ctx, sent)
		if bug == lateApply {
			return r.Reply // Update has returned: found is no longer this call's
		}
		if found = r.Found; found && bug == "" {
			s.wrote(record)
		}
		return r.Reply
	}, func(b *active[callKinds]) workload.Reply {
		if !found {
			b.strikes-- // there was nothing to be updated
			return committed()
		}
		return s.spoil(b.Name, record)
	})
	reply.Found = found && reply.Outcome == history.Committed
	return reply
}

func (n *mutableSession) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return keyvalue.Reply{Reply: unsent(err)}
	}
	defer s.done()
	reply := n.MutableSession.Get(ctx, key)
	if !reply.Found {
		return reply
	}
	b := drawn(s.trial, inGet)
	if b == nil {
		return reply
	}
	older := s.versions[key].older
	switch {
	case b.Name == "altered-read":
		reply.Record = s.altered(reply.Record)
	case older.Key == nil || older.Equal(reply.Record):
		return reply
	case b.Name == "stale-read":
		reply.Record = older
	default:
		values := slices.Clone(reply.Record.Values)
		i := s.chance.IntN(len(values))
		values[i] = older.Values[i]
		reply.Record.Values = values
	}
	b.strikes++
	return reply
}

func (n *mutableSession) Scan(ctx context.Context, from keyvalue.Value, limit int) ([]keyvalue.Record, keyvalue.Reply) {
	s := n.s
	if err := s.begin(ctx); err != nil {
		return nil, keyvalue.Reply{Reply: unsent(err)}
	}
	defer s.done()
	found, reply := n.MutableSession.Scan(ctx, from, limit)
	if len(found) < 2 {
		return found, reply
	}
	b := drawn(s.trial, inScan)
	if b == nil {
		return found, reply
	}
	b.strikes++
	switch i := s.chance.IntN(len(found) - 1); b.Name {
	case "dropped-from-scan":
		found = slices.Delete(found, i, i+1)
	case "doubled-in-scan":
		found[i+1] = found[i]
	default:
		found[i], found[i+1] = found[i+1], found[i]
	}
	return found, reply
}
