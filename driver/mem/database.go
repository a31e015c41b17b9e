// Package mem is a reference database in memory: a small multi-version core, and
// a thin Store of each workload on it. It is strictly serializable. With timeouts
// and latency asked for in its address it behaves as a database on a bad day; with
// bugs (driver/bugs) it is the patient on which the checks are tried.
//
// It must not know the load engine, the checks or any other driver.
package mem

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"assay/history"
	"assay/workload"
)

// database is tables of rows in several versions. Transactions read the state as
// of their beginning, and commit only if all that they read is still current: so
// they might as well have happened in that very moment, and are strictly
// serializable (H. T. Kung, J. T. Robinson, "On Optimistic Methods for Concurrency
// Control", ACM TODS 6(2), 1981, with backward validation). It is safe for
// concurrent use.
type database struct {
	timeout float64
	latency time.Duration

	mu      sync.Mutex // for all below
	chance  *rand.Rand
	foreign bool             // somebody else's: for tests of the refusal
	marker  *workload.Marker // nil while there is no schema
	lease   *lease           // nil while nobody has it
	// clock numbers the commits that wrote something.
	clock int64
	// open counts the transactions that read the state as of a commit.
	open map[int64]int
	// deleted are versions to be forgotten when no transaction is open.
	deleted []func()
	// generation counts Create and Drop. What was begun before cannot commit.
	generation int
	// tables are all tables; the first one is what a Leftover counts.
	tables []interface {
		clear()
		count() int64
	}
	// relations are the tables of a Database, and firstOpen and lastOpen begin and end the
	// list of its open transactions.
	relations           []*relation
	firstOpen, lastOpen *optimistic
}

// lock takes the lock, checks that what is there is ours, and that there is
// something if that is required. The caller unlocks if there is no error.
func (d *database) lock(required bool) error {
	d.mu.Lock()
	var err error
	switch {
	case d.foreign:
		err = &workload.ForeignError{Name: name, Hint: "open another one"}
	case required && d.marker == nil:
		err = &workload.NoSchemaError{Name: name}
	default:
		return nil
	}
	d.mu.Unlock()
	return err
}

// enter takes the lock for a session's call, after the latency. If it gives a
// reply, the call does nothing and the lock is not held: the context has ended
// before, or there is no schema.
func (d *database) enter(ctx context.Context, doing string) *workload.Reply {
	if err := workload.Pause(ctx, d.latency); err != nil {
		return &workload.Reply{Outcome: history.Failed, Class: workload.ClassTimeout, Err: fmt.Errorf("mem: %s: %w", doing, err)}
	}
	if err := d.lock(true); err != nil {
		return &workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err, Broken: true}
	}
	return nil
}

// reset empties the tables. The caller holds the lock, as for all functions below
// that do not take it.
func (d *database) reset() {
	d.generation++
	d.deleted = nil
	d.firstOpen, d.lastOpen = nil, nil
	for _, t := range d.tables {
		t.clear()
	}
}

// table is rows by their key, each in those versions that somebody may read.
type table[K comparable, R any] struct {
	d    *database
	rows map[K]*version[R]
	// orders are kept of the rows as they are now.
	orders []interface {
		clear()
		add(K, R)
		drop(K, R)
	}
}

// version is a row as one commit left it, and the older ones. The number of the
// commit is negative if it deleted the row.
type version[R any] struct {
	commit int64
	row    R
	older  *version[R]
}

func newTable[K comparable, R any](d *database) *table[K, R] {
	t := &table[K, R]{d: d, rows: map[K]*version[R]{}}
	d.tables = append(d.tables, t)
	return t
}

func (t *table[K, R]) clear() {
	t.rows = map[K]*version[R]{}
	for _, o := range t.orders {
		o.clear()
	}
}

func (t *table[K, R]) count() int64 { return int64(len(t.rows)) }

// current is the row as it is now.
func (t *table[K, R]) current(key K) (row R, found bool) {
	if v := t.rows[key]; v != nil && v.commit >= 0 {
		return v.row, true
	}
	return row, false
}

// commitOf is the number of the commit that wrote the row last, 0 if none did.
func (t *table[K, R]) commitOf(key K) int64 {
	if v := t.rows[key]; v != nil {
		return v.commit
	}
	return 0
}

// each gives all rows as they are now, in any order, and looks at the context now
// and then.
func (t *table[K, R]) each(ctx context.Context, give func(R) error) error {
	return t.eachKey(ctx, func(_ K, row R) error { return give(row) })
}

func (t *table[K, R]) eachKey(ctx context.Context, give func(K, R) error) error {
	i := int64(0)
	for key, v := range t.rows {
		if err := interrupted(ctx, i); err != nil {
			return err
		}
		if i++; v.commit < 0 {
			continue
		}
		if err := give(key, v.row); err != nil {
			return err
		}
	}
	return nil
}

// store puts a version in place of the last one and forgets those that nobody can
// read.
func (t *table[K, R]) store(key K, row R, deleted bool) {
	t.reorder(key, row, deleted)
	next := &version[R]{commit: t.d.clock, row: row, older: t.rows[key]}
	if deleted && len(t.d.open) == 0 {
		delete(t.rows, key)
		return
	}
	if deleted {
		next.commit = -next.commit
		t.d.deleted = append(t.d.deleted, func() {
			if t.rows[key] == next {
				delete(t.rows, key)
			}
		})
	}
	oldest := t.d.clock
	for snapshot := range t.d.open {
		oldest = min(oldest, snapshot)
	}
	for v := next; v != nil; v = v.older {
		if max(v.commit, -v.commit) <= oldest {
			v.older = nil
		}
	}
	t.rows[key] = next
}

// reorder keeps the orders in step with a row that is about to be stored.
func (t *table[K, R]) reorder(key K, row R, deleted bool) {
	if len(t.orders) == 0 {
		return
	}
	last, found := t.current(key)
	for _, o := range t.orders {
		if found {
			o.drop(key, last)
		}
		if !deleted {
			o.add(key, row)
		}
	}
}

// transaction is one in progress. It keeps what it writes to itself until it
// commits.
type transaction struct {
	d          *database
	snapshot   int64
	generation int
	// valid say of each row that was read whether it is still current.
	valid []func() bool
	// own has the pending changes by cell, writes stores them.
	own    map[any]any
	writes []func()
}

// cell is a row of a table.
type cell[K comparable, R any] struct {
	t   *table[K, R]
	key K
}

// pending is what a transaction has done to a row: changes to whatever it is at
// the commit, unless it was written as a whole, or deleted.
type pending[R any] struct {
	whole, deleted bool
	row            R
	changes        []func(R) R
}

func (d *database) begin() *transaction {
	d.open[d.clock]++
	return &transaction{d: d, snapshot: d.clock, generation: d.generation, own: map[any]any{}}
}

// get reads a row.
func get[K comparable, R any](x *transaction, t *table[K, R], key K) (row R, found bool) {
	p, _ := x.own[cell[K, R]{t, key}].(*pending[R])
	if p != nil && p.whole {
		return p.row, !p.deleted
	}
	v := t.rows[key]
	for v != nil && max(v.commit, -v.commit) > x.snapshot {
		v = v.older
	}
	read := int64(0)
	if v != nil {
		read, row, found = v.commit, v.row, v.commit >= 0
	}
	x.valid = append(x.valid, func() bool { return t.commitOf(key) == read })
	if p != nil {
		row, found = p.changed(row), true
	}
	return row, found
}

func (p *pending[R]) changed(row R) R {
	for _, change := range p.changes {
		row = change(row)
	}
	return row
}

// mine is what a transaction has done to a row, nothing at first.
func mine[K comparable, R any](x *transaction, t *table[K, R], key K) *pending[R] {
	c := cell[K, R]{t, key}
	if p, ok := x.own[c].(*pending[R]); ok {
		return p
	}
	p := &pending[R]{}
	x.own[c] = p
	x.writes = append(x.writes, func() {
		row := p.row
		if !p.whole {
			row, _ = t.current(key)
			row = p.changed(row)
		}
		t.store(key, row, p.deleted)
	})
	return p
}

// put writes a row as a whole.
func put[K comparable, R any](x *transaction, t *table[K, R], key K, row R) {
	*mine(x, t, key) = pending[R]{whole: true, row: row}
}

// remove deletes a row.
func remove[K comparable, R any](x *transaction, t *table[K, R], key K) {
	*mine(x, t, key) = pending[R]{whole: true, deleted: true}
}

// update changes a row without reading it; one that is not there is the zero row.
func update[K comparable, R any](x *transaction, t *table[K, R], key K, change func(R) R) {
	if p := mine(x, t, key); p.whole {
		p.row, p.deleted = change(p.row), false
	} else {
		p.changes = append(p.changes, change)
	}
}

// end forgets a transaction. It must be called once, and leaves nothing behind
// unless it was committed before.
func (x *transaction) end() {
	d := x.d
	if d.open[x.snapshot]--; d.open[x.snapshot] <= 0 {
		delete(d.open, x.snapshot)
	}
	if len(d.open) == 0 {
		for _, forget := range d.deleted {
			forget()
		}
		d.deleted = nil
	}
}

// commit makes what was written visible, or reports that it may not.
func (x *transaction) commit() bool {
	if x.generation != x.d.generation {
		return false
	}
	for _, valid := range x.valid {
		if !valid() {
			return false
		}
	}
	if len(x.writes) > 0 {
		x.d.clock++
	}
	for _, write := range x.writes {
		write()
	}
	return true
}

// finish ends a transaction that is to be answered so. With the chance that was
// asked for it is answered with unknown, and with equal chance applied or not.
func (x *transaction) finish(reply workload.Reply) workload.Reply {
	applies := reply.Outcome == history.Committed
	if reply.Outcome != history.Failed && x.d.timeout > 0 && x.d.chance.Float64() < x.d.timeout {
		reply = workload.Reply{Class: workload.ClassTimeout}
		applies = applies && x.d.chance.Uint64()&1 == 0
	}
	defer x.end()
	if applies && !x.commit() && reply.Outcome == history.Committed {
		return workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}
	}
	return reply
}

// run does one transaction under the lock, after the latency. A context that ends
// before ends it.
func (d *database) run(ctx context.Context, doing string, do func(*transaction) workload.Reply) workload.Reply {
	if failed := d.enter(ctx, doing); failed != nil {
		return *failed
	}
	defer d.mu.Unlock()
	x := d.begin()
	return x.finish(do(x))
}

// committed and duplicate are replies to what was done, and to what was there.
func committed() workload.Reply { return workload.Reply{Outcome: history.Committed} }

func duplicate() workload.Reply {
	return workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}
}

// interrupted looks at the context now and then.
func interrupted(ctx context.Context, i int64) error {
	if i%4096 != 0 || ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("mem: read: %w", ctx.Err())
}
