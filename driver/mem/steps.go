package mem

import (
	"fmt"
	"slices"

	"assay/store"
)

// steps does statements in a transaction. Its slices are used again and again.
type steps struct {
	x     optimistic
	found []slot
	// answer is the row that is given.
	answer answer
	where  []bound
	key    []value
	keys   []int64
	values []value
}

// do does a statement, and says how many rows it has changed. The rows that it gives are
// those of found, or the numbers of the answer. The caller holds the lock.
func (n *steps) do(p *plan, parameters []store.Value) (changed int64, err error) {
	n.found = n.found[:0]
	x := &n.x
	switch {
	case x.failed != nil:
		return 0, x.failed
	case x.generation != x.d.generation:
		err = errStale
	case x.reads && p.verb != store.Read && p.verb != store.Count:
		err = fmt.Errorf("mem: %s: the transaction was said to read only", p.name)
	default:
		changed, err = n.statement(p, parameters)
	}
	if x.failed = err; err != nil {
		return 0, err
	}
	return changed, nil
}

func (n *steps) statement(p *plan, parameters []store.Value) (changed int64, err error) {
	switch p.verb {
	case store.Insert, store.Put:
		each := len(p.columns)
		for first := 0; first < len(p.values) && err == nil; first += each {
			if err = n.evaluateRow(p.r, p.columns, p.values[first:first+each], parameters); err == nil {
				err = n.add(p.r, p.columns, p.verb == store.Put)
				changed++
			}
		}
		return changed, err
	case store.Append:
		return 1, n.append(p, parameters)
	}
	if n.where, err = n.x.bind(p, parameters, n.where[:0]); err != nil {
		return 0, err
	}
	limit := int64(-1)
	if p.limit.source != store.FromNothing {
		of, err := n.x.evaluate(&p.limit, parameters, p.r, version{})
		if err != nil {
			return 0, err
		}
		limit = max(of.number, 0)
	}
	n.find(p, limit)
	switch p.verb {
	case store.Count:
		n.total(p)
	case store.Update:
		return n.update(p, parameters)
	case store.Delete:
		return n.delete(p), nil
	}
	return 0, nil
}

// evaluateRow has the values of a row in n.values.
func (n *steps) evaluateRow(r *relation, columns []int, of []expression, parameters []store.Value) error {
	n.values = n.values[:0]
	for i := range columns {
		v, err := n.x.evaluate(&of[i], parameters, r, version{})
		if err != nil {
			return err
		}
		n.values = append(n.values, v)
	}
	return nil
}

// keyOf has the key of n.values in n.key.
func (n *steps) keyOf(r *relation, columns []int) (hash uint64, err error) {
	n.key = n.key[:0]
	for column := range r.table.Keys() {
		i := slices.Index(columns, column)
		if i < 0 {
			return 0, fmt.Errorf("mem: table %q: column %q of the key has no value", r.table.Name, r.table.Columns[column].Name)
		}
		n.key = append(n.key, n.values[i])
		hash = r.mix(hash, column, n.values[i])
	}
	return hash, nil
}

// add inserts or puts a row with n.values, of all columns.
func (n *steps) add(r *relation, columns []int, put bool) error {
	if len(columns) != len(r.places) {
		return fmt.Errorf("mem: table %q: a row has %d columns, and must have %d", r.table.Name, len(columns), len(r.places))
	}
	hash, err := n.keyOf(r, columns)
	if err != nil {
		return err
	}
	x := &n.x
	before, own := x.see(r, hash, n.key)
	if before != 0 && !put {
		return &violation{store.Unique, fmt.Sprintf("mem: table %q has a row with this key already", r.table.Name)}
	}
	if own == nil {
		own = x.note(write{r: r, hash: hash, s: r.take(), inserted: !put})
	}
	own.deleted = false
	v := r.at(own.s)
	for i, column := range columns {
		r.set(v, column, n.values[i])
	}
	return x.check(own)
}

// copy takes the values of another version.
func (v version) copy(of version) {
	copy(v.numbers[firstNumber:], of.numbers[firstNumber:])
	copy(v.texts, of.texts)
}

// check refuses a row that is below a floor, or like another one where none may be.
func (x *optimistic) check(w *write) error {
	v := w.r.at(w.s)
	for _, f := range w.r.floors {
		if got := w.r.get(v, f.column).number; got < f.least {
			column := w.r.table.Columns[f.column].Name
			return &violation{store.Floor, fmt.Sprintf("mem: table %q: column %q would be %d, and must be at least %d", w.r.table.Name, column, got, f.least)}
		}
	}
	if x.twin(w) {
		return &violation{store.Unique, fmt.Sprintf("mem: table %q has a row already that is alike in the columns of a unique index", w.r.table.Name)}
	}
	return nil
}

// twin reports whether another row is alike in the columns of a unique ordering.
func (x *optimistic) twin(w *write) (found bool) {
	for _, o := range w.r.orders {
		if !o.unique {
			continue
		}
		v := w.r.at(w.s)
		of := span{}
		for _, column := range o.columns {
			of.equal = append(of.equal, w.r.get(v, column))
		}
		o.rows(of, false, func(s slot) bool {
			found = x.ownOf(w.r, s) == nil
			return !found
		})
		for i := range x.writes {
			other := &x.writes[i]
			found = found || other.s != w.s && other.r == w.r && !other.deleted && o.alike(other.s, w.s)
		}
	}
	return found
}

// ownOf is the transaction's own write to the row of a version.
func (x *optimistic) ownOf(r *relation, s slot) *write {
	v := r.at(s)
	var room [4]value
	return x.mine(r, r.hash(v), r.key(v, room[:0]))
}

// append adds to the end of a list. Unless the row is the transaction's own it is not
// read, so that two that append to the same one do not meet.
func (n *steps) append(p *plan, parameters []store.Value) error {
	if err := n.evaluateRow(p.r, p.columns, p.values, parameters); err != nil {
		return err
	}
	n.values[1] = value{text: listText([]int64{n.values[1].number})}
	hash, err := n.keyOf(p.r, p.columns)
	if err != nil {
		return err
	}
	x := &n.x
	w := x.mine(p.r, hash, n.key)
	switch {
	case w == nil:
		w = x.note(write{r: p.r, hash: hash, s: p.r.take(), appended: true})
	case !w.deleted:
		list := &p.r.at(w.s).texts[p.r.texts-1]
		*list += n.values[1].text
		return nil
	}
	w.deleted = false
	for i, column := range p.columns {
		p.r.set(p.r.at(w.s), column, n.values[i])
	}
	return nil
}

// rewrite is the transaction's own version of a row that it has found, with the values
// that it had; hash is that of the key.
func (n *steps) rewrite(r *relation, s slot) *write {
	x, v := &n.x, r.at(s)
	n.key = r.key(v, n.key[:0])
	hash := r.hash(v)
	if w := x.mine(r, hash, n.key); w != nil {
		return w
	}
	w := x.note(write{r: r, hash: hash, s: r.take()})
	r.at(w.s).copy(r.at(s))
	return w
}

func (n *steps) update(p *plan, parameters []store.Value) (int64, error) {
	r := p.r
	for i, s := range n.found {
		old := r.at(s)
		n.values = n.values[:0]
		for j := range p.set {
			a := &p.set[j]
			v, err := n.x.evaluate(&a.value, parameters, r, old)
			if err != nil {
				return 0, err
			}
			if a.add {
				v.number += r.get(old, a.column).number
			}
			n.values = append(n.values, v)
		}
		w := n.rewrite(r, s)
		v := r.at(w.s)
		for j := range p.set {
			r.set(v, p.set[j].column, n.values[j])
		}
		if err := n.x.check(w); err != nil {
			return 0, err
		}
		n.found[i] = w.s
	}
	return int64(len(n.found)), nil
}

func (n *steps) delete(p *plan) int64 {
	for _, s := range n.found {
		n.rewrite(p.r, s).deleted = true
	}
	return int64(len(n.found))
}
