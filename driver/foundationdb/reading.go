package foundationdb

import (
	"bytes"
	"fmt"
	"slices"

	"assay/store"
)

// pageRows is how many rows of a range are asked for at once.
const pageRows = 1000

// reading is the reading of rows for a statement, page by page.
type reading struct {
	*execution
	plan   *plan
	values []store.Value // of the conditions
	cursor cursor
	// page is how many rows of a range are asked for at once.
	page int
	// give gets the rows; nil if they are kept, to be changed.
	give func(store.Row) error
	kept [][]store.Value
	// left is how many rows are still wanted, if limited.
	left    int64
	limited bool
	bytes   int     // of what was read
	sums    []int64 // of a Count: how many, and the sums of the columns
}

func (x *execution) reading(p *plan, parameters []store.Value, give func(store.Row) error) (*reading, error) {
	values, err := x.conditions(p, parameters)
	if err != nil {
		return nil, err
	}
	r := &reading{execution: x, plan: p, values: values, page: pageRows, give: give, cursor: p.start(values), sums: make([]int64, 1+len(p.columns))}
	if p.Limit.Source != store.FromNothing {
		limit, err := x.valueOf(&p.Limit, p.form, nil, parameters)
		if err != nil {
			return nil, err
		}
		r.left, r.limited = limit.Number, true
		r.cursor.left, r.cursor.limited = int(r.left), !p.left && p.sort == nil
	}
	return r, nil
}

// streams reports whether rows are given as they come.
func (r *reading) streams() bool {
	return r.give != nil && r.plan.Verb != store.Count && r.plan.sort == nil
}

// enough reports whether no more rows are wanted.
func (r *reading) enough() bool { return r.streams() && r.limited && r.left <= 0 }

// take takes a row.
func (r *reading) take(key, value []byte) error {
	r.bytes += len(key) + len(value)
	row, err := r.plan.form.row(key, value)
	if err != nil || r.enough() || !r.plan.satisfied(row, r.values) {
		return err
	}
	switch {
	case r.plan.Verb == store.Count:
		r.sums[0]++
		for i, v := range r.plan.pick(row) {
			sum, ok := add64(r.sums[i+1], v.Number)
			if !ok {
				return errTooGreat
			}
			r.sums[i+1] = sum
		}
		return nil
	case r.streams():
		r.left--
		return r.give(answer(r.plan.pick(row)))
	default:
		r.kept = append(r.kept, row)
		return nil
	}
}

// step reads a page, and reports whether it was the last.
func (r *reading) step() (over bool, err error) {
	switch {
	case r.enough():
		return true, nil
	case r.plan.one():
		return true, r.several([][]byte{r.cursor.begin}, true)
	case r.plan.way.in >= 0:
		ids := slices.Sorted(slices.Values(r.values[r.plan.way.in].Numbers))
		if r.plan.Descending {
			slices.Reverse(ids)
		}
		var named [][]byte
		for _, id := range slices.Compact(ids) {
			named = append(named, r.plan.form.key([]store.Value{store.OfInt(id)}))
		}
		return true, r.several(named, true)
	default:
		return r.rangePage()
	}
}

// several reads rows at the same time by their keys. One that is not there is an error
// unless it may be missing.
func (r *reading) several(named [][]byte, missing bool) error {
	found := make([]func() ([]byte, error), len(named))
	for i, key := range named {
		found[i] = r.keys.get(key)
	}
	for i, key := range named {
		value, err := found[i]()
		switch {
		case err != nil:
			return err
		case value == nil && missing:
			continue
		case value == nil:
			return fmt.Errorf("table %s: an index names a row that is not there, of the key %x", r.plan.form.Name, key)
		}
		if err := r.take(key, value); err != nil {
			return err
		}
	}
	return nil
}

// rangePage reads a page of a range: rows, or entries of an index and then their rows.
func (r *reading) rangePage() (over bool, err error) {
	c, want := &r.cursor, r.page
	if c.limited {
		want = min(want, c.left)
	}
	// The database refuses a range that is the wrong way round, and takes no limit for none.
	if want <= 0 || bytes.Compare(c.begin, c.end) >= 0 {
		return true, nil
	}
	found, err := r.keys.scan(c.begin, c.end, want, c.reverse)
	if err != nil {
		return false, err
	}
	if index := r.plan.way.index; index >= 0 {
		named := make([][]byte, len(found))
		for i := range found {
			if named[i], err = r.plan.form.keyOf(index, found[i].key); err != nil {
				return false, err
			}
			r.bytes += len(found[i].key)
		}
		err = r.several(named, false)
	} else {
		for i := 0; i < len(found) && err == nil; i++ {
			err = r.take(found[i].key, found[i].value)
		}
	}
	if err != nil || len(found) < want {
		return err == nil, err
	}
	c.left -= len(found)
	if last := found[len(found)-1].key; c.reverse {
		c.end = last
	} else {
		c.begin = append(last[:len(last):len(last)], 0) // the key that follows
	}
	return c.limited && c.left == 0, nil
}

// finish gives what is not given as it comes.
func (r *reading) finish() error {
	p := r.plan
	switch {
	case p.Verb == store.Count:
		return r.give(answer(store.OfInts(r.sums...)))
	case r.streams():
		return nil
	}
	slices.SortStableFunc(r.kept, func(a, b []store.Value) int {
		for _, c := range p.sort {
			if n := compare(a[c], b[c]); n != 0 && p.Descending {
				return -n
			} else if n != 0 {
				return n
			}
		}
		return 0
	})
	if r.limited {
		r.kept = r.kept[:min(max(r.left, 0), int64(len(r.kept)))]
	}
	for _, row := range r.kept {
		if err := r.give(answer(p.pick(row))); err != nil {
			return err
		}
	}
	return nil
}

// answer is a store.Row.
type answer []store.Value

// Scan implements store.Row.
func (a answer) Scan(into ...any) error {
	if len(into) != len(a) {
		return fmt.Errorf("foundationdb: a row has %d columns, %d are wanted", len(a), len(into))
	}
	for i, to := range into {
		ok := false
		switch v := &a[i]; to := to.(type) {
		case nil:
			ok = true
		case *int64:
			*to, ok = v.Number, v.Kind == store.Int
		case *int:
			*to, ok = int(v.Number), v.Kind == store.Int
		case *bool:
			*to, ok = v.Number != 0, v.Kind == store.Bool
		case *string:
			*to, ok = v.Text, v.Kind == store.Text
		case *[]byte:
			*to, ok = append((*to)[:0], v.Bytes...), v.Kind == store.Bytes
		case *[]int64:
			*to, ok = append((*to)[:0], v.Numbers...), v.Kind == store.List
		}
		if !ok {
			return fmt.Errorf("foundationdb: column %d is no %T", i+1, to)
		}
	}
	return nil
}

// AppendValues implements store.Row. A UUID is a string of its bytes.
func (a answer) AppendValues(into []any) ([]any, error) {
	for i := range a {
		switch v := &a[i]; v.Kind {
		case store.Int:
			into = append(into, v.Number)
		case store.Bool:
			into = append(into, v.Number != 0)
		case store.Text:
			into = append(into, v.Text)
		case store.Bytes:
			into = append(into, string(v.Bytes))
		default:
			return into, fmt.Errorf("foundationdb: column %d is a list", i+1)
		}
	}
	return into, nil
}
