package ordered

import (
	"bytes"
	"fmt"
	"slices"

	"assay/driver/rows"
	"assay/store"
)

const pageRows = 1000

// cursor is the unread rest of a range of keys.
type cursor struct {
	begin, end []byte
	// left counts the rows still wanted, if limited.
	left    int
	limited bool
	reverse bool
}

// start is the range that a plan reads, given its bound conditions.
func (p *Plan) start(where []rows.Bound) cursor {
	f, prefix := p.form, p.form.prefix
	if p.Index >= 0 {
		prefix = f.prefixes[p.Index]
	}
	order, prefix := f.Order(p.Index), bytes.Clone(prefix)
	for i, n := range p.Equal {
		prefix = f.element(prefix, order[i], where[n].Value)
	}
	c := cursor{reverse: p.Backwards()}
	if len(p.Equal) == len(order) { // the key of one row
		c.begin, c.end = prefix, append(prefix[:len(prefix):len(prefix)], 0)
		return c
	}
	c.begin, c.end = within(prefix)
	if p.From >= 0 {
		c.begin = f.element(prefix[:len(prefix):len(prefix)], order[len(p.Equal)], where[p.From].Value)
	}
	if p.To >= 0 {
		c.end = f.element(prefix[:len(prefix):len(prefix)], order[len(p.Equal)], where[p.To].Value)
	}
	return c
}

// Reading reads a statement's rows, page by page.
type Reading struct {
	*Execution
	plan   *Plan
	where  []rows.Bound
	cursor cursor
	page   int
	// give gets the rows. If it is nil, the rows are kept, to be changed.
	give   func(store.Row) error
	answer rows.Answer
	kept   []rows.Row
	// named are keys of rows, and found their answers.
	named [][]byte
	found []Asked
	// left counts the rows still wanted; negative means all.
	left  int64
	bytes int // of what was read
}

// Reading begins the reading of a statement's rows. give gets each at once, or in Finish. An
// Execution has one Reading at a time.
func (x *Execution) Reading(p *Plan, parameters []store.Value, give func(store.Row) error) (*Reading, error) {
	x.reset()
	r := &x.reading
	r.Execution, r.plan, r.page, r.give, r.bytes = x, p, pageRows, give, 0
	r.answer.Plan, r.answer.Unread, r.kept, r.named = p.Plan, nil, r.kept[:0], r.named[:0]
	if p.Verb == store.Count {
		r.answer.Totals = p.Totals(r.answer.Totals)
	}
	err := x.e.Bind(p.Plan, parameters, x)
	if err != nil {
		return nil, err
	}
	if r.left, err = x.e.Limit(p.Plan, parameters); err != nil {
		return nil, err
	}
	r.where, x.e.Where = x.e.Where, r.where
	if p.Keyed == nil {
		r.cursor = p.start(r.where)
		r.cursor.left, r.cursor.limited = int(r.left), r.left >= 0 && !p.Filtered && (p.Sorted || !p.Ordered())
	}
	return r, nil
}

// Range is the range of keys read, if the plan was not compiled as direct.
func (r *Reading) Range() (begin, end []byte) { return r.cursor.begin, r.cursor.end }

// Streams reports whether give gets each row at once.
func (r *Reading) Streams() bool {
	return r.give != nil && r.plan.Verb != store.Count && (r.plan.Sorted || !r.plan.Ordered())
}

func (r *Reading) enough() bool { return r.Streams() && r.left == 0 }

// unread reports whether a row that cannot be decoded goes to the caller: if all rows are read or
// counted, without conditions.
func (r *Reading) unread() bool {
	return len(r.where) == 0 && (r.Streams() || r.plan.Verb == store.Count && len(r.plan.Columns) == 0)
}

// Take handles one row that was read.
func (r *Reading) Take(key, value []byte) error {
	r.bytes += len(key) + len(value)
	row := r.scratch.row(r.plan.Table)
	err := r.plan.form.read(key, value, row)
	if err != nil && !r.unread() {
		return err
	}
	if r.enough() || !r.plan.form.Match(row, r.where) {
		r.scratch.back(row)
		return nil
	}
	switch {
	case r.plan.Verb == store.Count:
		defer r.scratch.back(row)
		return r.plan.Total(r.answer.Totals, row)
	case r.Streams():
		if r.left > 0 {
			r.left--
		}
		defer r.scratch.back(row)
		r.answer.Row, r.answer.Unread = row, err
		return r.give(&r.answer)
	default:
		r.kept = append(r.kept, row)
		return nil
	}
}

// Step reads a page and reports whether it was the last.
func (r *Reading) Step() (over bool, err error) {
	switch {
	case r.enough():
		return true, nil
	case r.plan.Keyed != nil:
		r.e.Keys(r.plan.Plan, r.where, func(key []rows.Value) bool {
			r.named = slices.Grow(r.named, 1)[:len(r.named)+1]
			last := &r.named[len(r.named)-1]
			*last = r.plan.form.appendKeyOf((*last)[:0], key)
			return true
		})
		return true, r.several(r.named, true)
	default:
		return r.rangePage()
	}
}

// several reads rows by their keys in parallel. An absent row is an error unless missing is true.
func (r *Reading) several(named [][]byte, missing bool) error {
	r.found = r.found[:0]
	for _, key := range named {
		r.found = append(r.found, r.Keys.Ask(key))
	}
	for i, key := range named {
		value, err := r.found[i].get()
		switch {
		case err != nil:
			return err
		case value == nil && missing:
			continue
		case value == nil:
			return fmt.Errorf("table %s: an index names a row that is not there, of the key %x", r.plan.form.Name, key)
		}
		if err := r.Take(key, value); err != nil {
			return err
		}
	}
	return nil
}

// rangePage reads a page of rows, or of index entries and then their rows.
func (r *Reading) rangePage() (over bool, err error) {
	c, want := &r.cursor, r.page
	if c.limited {
		want = min(want, c.left)
	}
	// FoundationDB refuses a reversed range and takes the limit 0 for none.
	if want <= 0 || bytes.Compare(c.begin, c.end) >= 0 {
		return true, nil
	}
	found, err := r.Keys.Scan(c.begin, c.end, want, c.reverse)
	if err != nil {
		return false, err
	}
	if index := r.plan.Index; index >= 0 {
		named := make([][]byte, len(found))
		for i := range found {
			if named[i], err = r.plan.form.keyOf(index, found[i].Key); err != nil {
				return false, err
			}
			r.bytes += len(found[i].Key)
		}
		err = r.several(named, false)
	} else {
		for i := 0; i < len(found) && err == nil; i++ {
			err = r.Take(found[i].Key, found[i].Value)
		}
	}
	if err != nil || len(found) < want {
		return err == nil, err
	}
	c.left -= len(found)
	if last := found[len(found)-1].Key; c.reverse {
		c.end = last
	} else {
		c.begin = append(last[:len(last):len(last)], 0) // the key that follows
	}
	return c.limited && c.left == 0, nil
}

// Finish gives kept rows in order, or a Count's totals.
func (r *Reading) Finish() error {
	switch {
	case r.plan.Verb == store.Count:
		return r.give(&r.answer)
	case r.Streams():
		return nil
	}
	slices.SortStableFunc(r.kept, r.plan.Compare)
	if r.left >= 0 {
		r.kept = r.kept[:min(r.left, int64(len(r.kept)))]
	}
	for _, r.answer.Row = range r.kept {
		if err := r.give(&r.answer); err != nil {
			return err
		}
	}
	return nil
}
