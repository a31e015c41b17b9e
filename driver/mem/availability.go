package mem

import (
	"context"
	"fmt"
	"unsafe"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
	"assay/workload/bank"
)

// Rows is one database of workload availability's. It is safe for concurrent
// use. All Stores that Availability returns share it.
type Rows struct {
	*site
	strikes []rowsStrike
	// rows are in the order of their insertion, at has the place of each key's
	// first in it.
	rows []availability.Row
	at   map[int64]int

	// What bugs leave for later.

	late []lateRow
	// doomed are keys that will be lost at the call numbered due.
	doomed []lateRow
}

// lateRow is something to be done with a row at the call numbered due.
type lateRow struct {
	row availability.Row
	due uint64
}

// rowsStrike is a bug switched on.
type rowsStrike struct {
	rowsBug
	probability float64
}

// NewAvailability returns an empty database of workload availability's. It
// returns *workload.OptionError for a bug that does not exist or a value out of
// range.
func NewAvailability(o Options) (*Rows, error) {
	s, err := newSite(o, AvailabilityBugs())
	if err != nil {
		return nil, err
	}
	d := &Rows{site: s}
	for _, bug := range rowsBugs() {
		for _, armed := range s.armed {
			if armed.Name == bug.Name {
				d.strikes = append(d.strikes, rowsStrike{bug, armed.probability})
			}
		}
	}
	d.reset()
	return d, nil
}

// Availability returns a Store on this database.
func (d *Rows) Availability() availability.Store { return &rowsStore{d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Rows) reset() {
	d.rows, d.at = nil, map[int64]int{}
	d.calls, d.late, d.doomed = 0, nil, nil
}

// insert is one insert, from the order to the answer.
func (d *Rows) insert(row availability.Row) availability.Reply {
	d.calls++
	d.pass(d.calls)
	if _, there := d.at[row.Key]; there {
		return availability.Reply{Outcome: history.Failed, Duplicate: true, Class: bank.ClassDuplicate}
	}
	if d.hits(d.timeout) {
		if d.chance.Uint64()&1 == 0 {
			d.add(row)
		}
		return availability.Reply{Class: bank.ClassTimeout}
	}
	for _, bug := range d.strikes {
		if bug.insert != nil && d.hits(bug.probability) {
			return bug.insert(d, row)
		}
	}
	d.add(row)
	return availability.Reply{Outcome: history.Committed}
}

// get is one read.
func (d *Rows) get(key int64) availability.Reply {
	d.calls++
	d.pass(d.calls)
	reply := availability.Reply{Outcome: history.Committed}
	at, there := d.at[key]
	if !there {
		return reply
	}
	reply.Row, reply.Found = d.rows[at], true
	for _, bug := range d.strikes {
		if bug.get != nil && d.hits(bug.probability) {
			return bug.get(d, reply)
		}
	}
	return reply
}

func (d *Rows) add(row availability.Row) {
	if _, there := d.at[row.Key]; !there {
		d.at[row.Key] = len(d.rows)
	}
	d.rows = append(d.rows, row)
}

// lose takes a row back. The last row takes its place.
func (d *Rows) lose(key int64) {
	at, there := d.at[key]
	if !there {
		return
	}
	last := len(d.rows) - 1
	d.rows[at] = d.rows[last]
	if d.at[d.rows[at].Key] == last {
		d.at[d.rows[at].Key] = at
	}
	d.rows = d.rows[:last]
	delete(d.at, key)
}

// pass brings about what earlier inserts left for later, up to the given call.
func (d *Rows) pass(call uint64) {
	d.doomed = due(d.doomed, call, func(row availability.Row) { d.lose(row.Key) })
	d.late = due(d.late, call, func(row availability.Row) {
		if _, there := d.at[row.Key]; !there {
			d.add(row)
		}
	})
}

// due does what is due and returns the rest.
func due(all []lateRow, call uint64, do func(availability.Row)) []lateRow {
	kept := all[:0]
	for _, l := range all {
		if l.due > call {
			kept = append(kept, l)
			continue
		}
		do(l.row)
	}
	return kept
}

// rowsStore is an availability.Store on a Rows.
type rowsStore struct{ d *Rows }

// OpenAvailability returns a Store on a new, empty database: two Stores opened
// so share nothing. The address and the errors are OpenBank's, with the bugs
// of AvailabilityBugs; there is no member but one to answer reads.
func OpenAvailability(_ context.Context, target workload.Target) (availability.Store, error) {
	if target.Read != "" && target.Read != workload.ReadPrimary {
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary}
	}
	o, err := parse(target, AvailabilityBugs())
	if err != nil {
		return nil, err
	}
	d, err := NewAvailability(o)
	if err != nil {
		return nil, err
	}
	return d.Availability(), nil
}

// Describe implements availability.Store.
func (s *rowsStore) Describe(context.Context) (workload.Product, error) { return s.d.describe(), nil }

// Promise implements availability.Promising: one call at a time is let in.
func (s *rowsStore) Promise() string { return availability.PromiseLinearizable }

// Find implements availability.Store.
func (s *rowsStore) Find(context.Context) (*workload.Remains, error) {
	if err := s.d.guard(false); err != nil {
		return nil, err
	}
	defer s.d.mu.Unlock()
	if s.d.mark == nil {
		return nil, nil
	}
	return &workload.Remains{Mark: *s.d.mark, Rows: int64(len(s.d.rows))}, nil
}

// Create implements availability.Store.
func (s *rowsStore) Create(_ context.Context, mark workload.Mark) error {
	if err := s.d.guard(false); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	s.d.reset()
	s.d.mark = &mark
	return nil
}

// Settle implements availability.Store: what was to happen later happens now.
func (s *rowsStore) Settle(context.Context) error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.d.mark != nil {
		s.d.pass(s.d.calls + maxLate)
	}
	return nil
}

// Read implements availability.Store. It holds up all other calls while it
// lasts, and the callback must make none.
func (s *rowsStore) Read(ctx context.Context, row func(availability.Row) error) error {
	if err := s.d.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	rows := s.d.rows
	for _, bug := range s.d.strikes {
		if bug.cut != nil && s.d.hits(bug.probability) {
			rows = rows[:bug.cut(s.d, len(rows))]
			break
		}
	}
	for i, r := range rows {
		if err := interrupted(ctx, int64(i)); err != nil {
			return err
		}
		if err := row(r); err != nil {
			return err
		}
	}
	return nil
}

// Size implements availability.Store. It is memory, there being no disk: the
// rows, and a key and a place of each in the map.
func (s *rowsStore) Size(context.Context) (workload.Size, error) {
	if err := s.d.guard(true); err != nil {
		return workload.Size{}, err
	}
	defer s.d.mu.Unlock()
	n := int64(len(s.d.rows))
	bytes := n * int64(2*unsafe.Sizeof(availability.Row{}))
	return workload.Size{Bytes: bytes, Tables: bytes, Rows: map[string]int64{"row": n}}, nil
}

// Drop implements availability.Store.
func (s *rowsStore) Drop(context.Context) error {
	if err := s.d.guard(false); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	s.d.reset()
	s.d.mark = nil
	return nil
}

// Close implements availability.Store.
func (s *rowsStore) Close() error { return nil }

// rowsSession is one client's.
type rowsSession struct{ d *Rows }

// Session implements availability.Store.
func (s *rowsStore) Session(context.Context) (availability.Session, error) {
	if err := s.d.guard(true); err != nil {
		return nil, err
	}
	defer s.d.mu.Unlock()
	return &rowsSession{s.d}, nil
}

// Insert implements availability.Session.
func (n *rowsSession) Insert(ctx context.Context, row availability.Row) availability.Reply {
	return n.call(ctx, "insert", func() availability.Reply { return n.d.insert(row) })
}

// Get implements availability.Session.
func (n *rowsSession) Get(ctx context.Context, key int64) availability.Reply {
	return n.call(ctx, "get", func() availability.Reply { return n.d.get(key) })
}

// call does something under the lock, after the latency. A context that ends
// before it has begun ends it.
func (n *rowsSession) call(ctx context.Context, doing string, do func() availability.Reply) availability.Reply {
	if err := rest(ctx, n.d.latency); err != nil {
		return availability.Reply{Outcome: history.Failed, Class: bank.ClassTimeout, Err: fmt.Errorf("mem: %s: %w", doing, err)}
	}
	n.d.mu.Lock()
	defer n.d.mu.Unlock()
	if n.d.mark == nil {
		return availability.Reply{Outcome: history.Failed, Class: bank.ClassOther, Err: &workload.NoSchemaError{Name: name}, Broken: true}
	}
	return do()
}

// Close implements availability.Session.
func (n *rowsSession) Close() {}
