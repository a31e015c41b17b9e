package foundationdb

import (
	"errors"
	"fmt"
	"slices"

	"assay/store"
)

// plan is a statement, made ready.
type plan struct {
	*store.Statement
	form *form
	// columns are those of Columns and set those of Set, by their place in the table.
	columns, set []int
	// where are the columns of the conditions.
	where []int
	way   way
	// sort are the columns of Order if rows do not come so, and left is true if conditions
	// are left that the way does not hold to.
	sort []int
	left bool
}

// way is where a statement looks for rows: the keys of a table or of an index that begin
// with some values, and go on within a range.
type way struct {
	// index is the number of the index, -1 for the table itself.
	index int
	// columns are those of the keys.
	columns []int
	// equal are the conditions, by their number, that the first columns satisfy, and from
	// and to those of the next column; -1 for none.
	equal    []int
	from, to int
	// in is the condition that names rows by keys of one column; -1 for none.
	in int
}

// one reports whether the way is the key of one row.
func (p *plan) one() bool { return p.way.index < 0 && len(p.way.equal) == p.form.Keys() }

// compile makes the plan of a statement. Rows are asked for by an index, and by several
// keys, only if direct is true; else they are found in one range of the table.
func compile(forms map[string]*form, s *store.Statement, direct bool) (*plan, error) {
	if s.Verb == store.Native {
		return nil, fmt.Errorf("foundationdb: statement %q: FoundationDB has no language", s.Name)
	}
	f := forms[s.Table]
	if f == nil {
		return nil, fmt.Errorf("foundationdb: statement %q: there is no table %q", s.Name, s.Table)
	}
	p := &plan{Statement: s, form: f, columns: f.places(s.Columns), way: way{index: -1, from: -1, to: -1, in: -1}}
	for _, a := range s.Set {
		c := f.place(a.Column)
		if c < f.Keys() {
			return nil, fmt.Errorf("foundationdb: statement %q changes a key", s.Name)
		}
		p.set = append(p.set, c)
	}
	switch s.Verb {
	case store.Append:
		if f.Keys() != 1 || len(f.Columns) != 2 {
			return nil, fmt.Errorf("foundationdb: statement %q: %w", s.Name, errAppend)
		}
	case store.Read, store.Count, store.Update, store.Delete:
		for _, c := range s.Where {
			p.where = append(p.where, f.place(c.Column))
		}
		p.choose(direct)
	}
	return p, nil
}

var errAppend = errors.New("lists are appended to in tables of a key and a list")

// choose takes the way that names the most columns.
func (p *plan) choose(direct bool) {
	f := p.form
	key := make([]int, f.Keys())
	for i := range key {
		key[i] = i
	}
	best := p.along(-1, key)
	if len(key) == 1 && direct {
		best.in = p.condition(0, store.In)
	}
	for i := range f.indexes {
		if !direct || len(best.equal) == len(key) || best.in >= 0 {
			break
		}
		// The key follows in the index's keys, so that it is in order as well.
		if w := p.along(i, append(slices.Clone(f.indexes[i]), key...)); p.serves(w) > p.serves(best) {
			best = w
		}
	}
	p.way = best
	used := len(best.equal)
	for _, c := range []int{best.from, best.to, best.in} {
		if c >= 0 {
			used++
		}
	}
	p.left = used < len(p.Where)
	if order := f.places(p.Order); !p.ordered(order) {
		p.sort = order
	}
}

// serves says how good a way is.
func (p *plan) serves(w way) int {
	good := 4 * len(w.equal)
	if w.from >= 0 || w.to >= 0 {
		good += 2
	}
	if order := p.form.places(p.Order); len(order) > 0 && len(w.columns) > len(w.equal) && w.columns[len(w.equal)] == order[0] {
		good++
	}
	return good
}

// along is the way along the keys of a table or an index.
func (p *plan) along(index int, columns []int) way {
	w := way{index: index, columns: columns, in: -1}
	for _, c := range columns {
		n := p.condition(c, store.Equal)
		if n < 0 {
			w.from, w.to = p.condition(c, store.AtLeast), p.condition(c, store.Below)
			return w
		}
		w.equal = append(w.equal, n)
	}
	w.from, w.to = -1, -1
	return w
}

// condition is the number of the condition of this kind on a column; -1 if there is none.
func (p *plan) condition(column int, is store.Comparison) int {
	for i, c := range p.where {
		if c == column && p.Where[i].Is == is {
			return i
		}
	}
	return -1
}

// ordered reports whether the rows of the way come in this order.
func (p *plan) ordered(order []int) bool {
	columns, at := p.way.columns, 0
	for _, c := range order {
		if p.condition(c, store.Equal) >= 0 {
			continue
		}
		for at < len(columns) && p.condition(columns[at], store.Equal) >= 0 {
			at++
		}
		if at == len(columns) || columns[at] != c {
			return false
		}
		at++
	}
	return true
}

// cursor is what is still to be read of a range of keys.
type cursor struct {
	begin, end []byte
	// left is how many rows are still wanted, if limited.
	left    int
	limited bool
	reverse bool
}

// start is the cursor of the way, with these values of the conditions.
func (p *plan) start(values []store.Value) cursor {
	table := p.form.Name
	if p.way.index >= 0 {
		table = p.form.Indexes[p.way.index].Name
	}
	prefix := p.form.layout.key(table)
	for _, n := range p.way.equal {
		prefix = appendElement(prefix, values[n])
	}
	c := cursor{reverse: p.Descending && p.sort == nil}
	if p.one() {
		c.begin, c.end = prefix, append(prefix[:len(prefix):len(prefix)], 0)
		return c
	}
	c.begin, c.end = within(prefix)
	if p.way.from >= 0 {
		c.begin = appendElement(prefix[:len(prefix):len(prefix)], values[p.way.from])
	}
	if p.way.to >= 0 {
		c.end = appendElement(prefix[:len(prefix):len(prefix)], values[p.way.to])
	}
	return c
}

// satisfied reports whether a row satisfies all conditions.
func (p *plan) satisfied(row, values []store.Value) bool {
	for i := range p.Where {
		v, want := row[p.where[i]], values[i]
		ok := false
		switch p.Where[i].Is {
		case store.Equal:
			ok = compare(v, want) == 0
		case store.In:
			ok = slices.Contains(want.Numbers, v.Number)
		case store.AtLeast:
			ok = compare(v, want) >= 0
		case store.Below:
			ok = compare(v, want) < 0
		case store.MultipleOf:
			ok = want.Number != 0 && v.Number%want.Number == 0
		}
		if !ok {
			return false
		}
	}
	return true
}

// known is the key of the one row that the statement reads, if that is one whose key needs
// no other row.
func (p *plan) known(parameters []store.Value) (key []byte, is bool) {
	row := make([]store.Value, p.form.Keys())
	for i := range row {
		var e store.Expression
		switch {
		case p.Verb == store.Insert && p.Rows <= 1, p.Verb == store.Append:
			e = p.Value(0, slices.Index(p.columns, i))
		case p.Verb != store.Insert && p.Verb != store.Put && p.one():
			e = p.Where[p.way.equal[i]].Value
		}
		switch e.Source {
		case store.FromParameter:
			row[i] = parameters[e.Parameter-1]
		case store.FromNumber:
			row[i] = store.OfInt(e.Number)
		default:
			return nil, false
		}
	}
	return p.form.key(row), true
}
