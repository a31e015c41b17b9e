package mem

import (
	"fmt"

	"assay/store"
)

// answer is a row that is given: columns of a version, or the totals of a Count. It is a
// store.Row.
type answer struct {
	r       *relation
	columns []int
	version version
	totals  []int64
}

// given is how many columns the row has.
func (a *answer) given() int {
	if a.r == nil {
		return len(a.totals)
	}
	return len(a.columns)
}

// get is a column's value; text is true if it is a text.
func (a *answer) get(i int) (of value, text bool) {
	if a.r == nil {
		return value{number: a.totals[i]}, false
	}
	return a.r.get(a.version, a.columns[i]), a.r.places[a.columns[i]].text
}

func (a *answer) Scan(into ...any) error {
	if len(into) != a.given() {
		return fmt.Errorf("mem: %d columns are scanned of a row of %d", len(into), a.given())
	}
	for i, to := range into {
		if to == nil {
			continue
		}
		of, text := a.get(i)
		if !of.into(to, text) {
			return fmt.Errorf("mem: column %d cannot be scanned into a %T", i+1, to)
		}
	}
	return nil
}

// into decodes a value, and reports whether it is of that type.
func (v *value) into(to any, text bool) bool {
	switch to := to.(type) {
	case *int64:
		*to = v.number
		return !text
	case *int:
		*to = int(v.number)
		return !text
	case *bool:
		*to = v.number != 0
		return !text
	case *string:
		*to = v.text
	case *[]byte:
		*to = append((*to)[:0], v.text...)
	case *[]int64:
		*to = appendList((*to)[:0], v.text)
	default:
		return false
	}
	return text
}

func (a *answer) AppendValues(into []any) ([]any, error) {
	for i := range a.given() {
		of, text := a.get(i)
		switch {
		case text:
			into = append(into, of.text)
		case a.r != nil && a.r.table.Columns[a.columns[i]].Type == store.Boolean:
			into = append(into, of.number != 0)
		default:
			into = append(into, of.number)
		}
	}
	return into, nil
}

// rows are those that a statement has found, which can be given without the lock while
// nobody may write in their slots.
type rows struct {
	answer *answer
	heap   heap
	found  []slot
}

// rows are those that the last statement has found. The caller holds the lock.
func (n *steps) rows(p *plan) rows {
	n.answer.r = nil
	if p.verb == store.Count {
		return rows{answer: &n.answer}
	}
	n.answer.r, n.answer.columns = p.r, p.gives
	return rows{&n.answer, p.r.heap, n.found}
}

// count is how many rows there are.
func (r *rows) count() int {
	if r.answer.r == nil {
		return 1
	}
	return len(r.found)
}

// give gives one of the rows.
func (r *rows) give(i int, row func(store.Row) error) error {
	if r.answer.r != nil {
		r.answer.version = r.heap.at(r.found[i])
	}
	return row(r.answer)
}
