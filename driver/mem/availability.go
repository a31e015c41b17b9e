package mem

import (
	"context"
	"unsafe"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// Rows is one database of workload availability's. It is safe for concurrent
// use. All Stores that Availability returns share it.
type Rows struct {
	*site
	strikes []rowsStrike
	bag[int64, availability.Row]

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
	d.key = func(row availability.Row) int64 { return row.Key }
	for _, bug := range rowsBugs() {
		if p := s.odds(bug.Name); p > 0 {
			d.strikes = append(d.strikes, rowsStrike{bug, p})
		}
	}
	d.reset()
	return d, nil
}

// Availability returns a Store on this database.
func (d *Rows) Availability() availability.Store { return &rowsStore{newShell(d.site, d), d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Rows) reset() {
	d.empty()
	d.calls, d.late, d.doomed = 0, nil, nil
}

func (d *Rows) count() int64 { return int64(len(d.rows)) }

func (d *Rows) settle() { d.pass(d.calls + maxLate) }

// insert is one insert, from the order to the answer.
func (d *Rows) insert(row availability.Row) availability.Reply {
	d.calls++
	d.pass(d.calls)
	if d.has(row.Key) {
		return availability.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}}
	}
	if d.hits(d.timeout) {
		if d.chance.Uint64()&1 == 0 {
			d.add(row)
		}
		return availability.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
	}
	for _, bug := range d.strikes {
		if bug.insert != nil && d.hits(bug.probability) {
			return bug.insert(d, row)
		}
	}
	d.add(row)
	return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
}

// get is one read.
func (d *Rows) get(key int64) availability.Reply {
	d.calls++
	d.pass(d.calls)
	reply := availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
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

// pass brings about what earlier inserts left for later, up to the given call.
func (d *Rows) pass(call uint64) {
	d.doomed = due(d.doomed, call, func(row availability.Row) { d.lose(row.Key) })
	d.late = due(d.late, call, func(row availability.Row) {
		if !d.has(row.Key) {
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
type rowsStore struct {
	shell
	d *Rows
}

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

// Promise implements availability.Promising: one call at a time is let in.
func (s *rowsStore) Promise() string { return availability.PromiseLinearizable }

// Read implements availability.Store. It holds up all other calls while it
// lasts, and the callback must make none.
func (s *rowsStore) Read(ctx context.Context, row func(availability.Row) error) error {
	return s.locked(true, func() error {
		rows := s.d.rows
		for _, bug := range s.d.strikes {
			if bug.cut != nil && s.d.hits(bug.probability) {
				rows = rows[:bug.cut(s.d, len(rows))]
				break
			}
		}
		return each(ctx, rows, row)
	})
}

// Size implements availability.Store. It is memory, there being no disk: the
// rows, and a key and a place of each in the map.
func (s *rowsStore) Size(context.Context) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		size.Bytes = s.d.count() * int64(2*unsafe.Sizeof(availability.Row{}))
		size.Tables, size.Rows = size.Bytes, map[string]int64{"row": s.d.count()}
		return nil
	})
	return size, err
}

// rowsSession is one client's.
type rowsSession struct{ d *Rows }

// Session implements availability.Store.
func (s *rowsStore) Session(context.Context) (availability.Session, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
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

// call does something under the lock, after the latency.
func (n *rowsSession) call(ctx context.Context, doing string, do func() availability.Reply) availability.Reply {
	if no := n.d.enter(ctx, doing); no != nil {
		return availability.Reply{Reply: *no}
	}
	defer n.d.mu.Unlock()
	return do()
}

// Close implements availability.Session.
func (n *rowsSession) Close() {}
