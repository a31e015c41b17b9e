package mem

import (
	"fmt"
	"slices"

	"assay/driver/rows"
	"assay/store"
)

// steps does statements in a transaction. Its slices are used again and again.
type steps struct {
	x optimistic
	rows.Evaluation
	found  []slot
	answer rows.Answer
}

// do does a statement, and says how many rows it has changed. The rows that it gives are
// those of found, or the totals of the answer. The caller holds the lock.
func (n *steps) do(p *rows.Plan, parameters []store.Value) (changed int64, err error) {
	n.found = n.found[:0]
	x := &n.x
	switch {
	case x.failed != nil:
		return 0, x.failed
	case x.generation != x.d.generation:
		err = errStale
	case x.reads && !p.ReadsOnly():
		err = fmt.Errorf("%s: the transaction was said to read only", p.Name)
	default:
		changed, err = n.statement(p, parameters)
	}
	if x.failed = err; err != nil {
		return 0, err
	}
	return changed, nil
}

func (n *steps) statement(p *rows.Plan, parameters []store.Value) (changed int64, err error) {
	r := n.x.d.relations[p.Table.Number]
	switch p.Verb {
	case store.Insert, store.Put, store.Append:
		for i := 0; i < p.Rows() && err == nil; i++ {
			if err = n.Row(p, i, parameters, &n.x); err != nil {
				return 0, err
			}
			if p.Verb == store.Append {
				err = n.append(r, p.Columns)
			} else {
				err = n.add(r, p.Columns, p.Verb == store.Put)
			}
			changed++
		}
		return changed, err
	}
	if err = n.Bind(p, parameters, &n.x); err != nil {
		return 0, err
	}
	limit, err := n.Limit(p, parameters)
	if err != nil {
		return 0, err
	}
	n.find(p, r, limit)
	switch p.Verb {
	case store.Count:
		n.answer.Totals = p.Totals(n.answer.Totals)
		for _, s := range n.found {
			if err := p.Total(n.answer.Totals, r.at(s)); err != nil {
				return 0, err
			}
		}
		return 0, nil
	case store.Update:
		return n.update(p, r, parameters)
	case store.Delete:
		for _, s := range n.found {
			n.rewrite(r, s).deleted = true
		}
		return int64(len(n.found)), nil
	}
	return 0, nil
}

// add inserts or puts a row of n.Values, of all columns.
func (n *steps) add(r *relation, columns []int, put bool) error {
	if err := n.KeyOf(r.Table, columns); err != nil {
		return err
	}
	x := &n.x
	before, own, last := x.see(r, n.Key)
	if before != 0 && !put {
		return r.Exists()
	}
	if own == nil {
		own = x.note(write{r: r, last: last, inserted: !put}, n.Key)
	}
	own.deleted = false
	r.Write(r.at(own.s), columns, n.Values)
	return x.check(own)
}

// append adds to the end of a list. Unless the row is the transaction's own it is not
// read, so that two that append to the same one do not meet.
func (n *steps) append(r *relation, columns []int) error {
	n.Values[1].Text = rows.ListText(n.Values[1].Number)
	if err := n.KeyOf(r.Table, columns); err != nil {
		return err
	}
	w := n.x.mine(r, n.Key)
	if w != nil && !w.deleted {
		r.at(w.s).Texts[r.Texts-1] += n.Values[1].Text
		return nil
	}
	if w == nil {
		w = n.x.note(write{r: r, last: r.newest(n.Key), appended: true}, n.Key)
	}
	w.deleted = false
	r.Write(r.at(w.s), columns, n.Values)
	return nil
}

// rewrite is the transaction's own version of a row that it has found, with the values
// that it had.
func (n *steps) rewrite(r *relation, s slot) *write {
	n.Key = r.Key(r.at(s), n.Key[:0])
	w := n.x.mine(r, n.Key)
	if w == nil {
		w = n.x.note(write{r: r, last: s}, n.Key)
		r.at(w.s).Copy(r.at(s))
	}
	return w
}

func (n *steps) update(p *rows.Plan, r *relation, parameters []store.Value) (int64, error) {
	for i, s := range n.found {
		if err := n.Assign(p, parameters, r.at(s), &n.x); err != nil {
			return 0, err
		}
		w := n.rewrite(r, s)
		r.Write(r.at(w.s), p.Written, n.Values)
		if err := n.x.check(w); err != nil {
			return 0, err
		}
		n.found[i] = w.s
	}
	return int64(len(n.found)), nil
}

// find has the rows that satisfy n.Where in n.found, in the order that is asked for.
func (n *steps) find(p *rows.Plan, r *relation, limit int64) {
	ordered := false
	if p.Keyed != nil {
		n.Keys(p, func(key []rows.Value) bool {
			if s := n.x.read(r, key); s != 0 && (!p.Filtered || r.Match(r.at(s), n.Where)) {
				n.found = append(n.found, s)
			}
			return true
		})
	} else {
		n.x.rememberPredicate(r, n.Where)
		ordered = n.findAmong(p, r, limit)
	}
	if p.Ordered() && !ordered && len(n.found) > 1 {
		slices.SortStableFunc(n.found, func(a, b slot) int { return p.Compare(r.at(a), r.at(b)) })
	}
	if limit >= 0 && int64(len(n.found)) > limit {
		n.found = n.found[:limit]
	}
}

// findAmong looks at the rows as they are now, but for those that others have changed
// since the transaction began or that it has written itself: these it looks at one by
// one. ordered is true if what it finds is in the order that is asked for.
func (n *steps) findAmong(p *rows.Plan, r *relation, limit int64) (ordered bool) {
	x := &n.x
	changed := r.changed(x.snapshot)
	wrote := slices.ContainsFunc(x.writes, func(w write) bool { return w.r == r })
	others := func(s slot) bool { return !wrote || x.ownOf(r, s) == nil }
	enough := p.Sorted && limit >= 0 && !wrote
	visit := func(s slot) bool {
		if enough && int64(len(n.found)) >= limit {
			return false
		}
		if r.commit(s) <= x.snapshot && others(s) && r.Match(r.at(s), n.Where) {
			n.found = append(n.found, s)
		}
		return true
	}
	if p.Index != rows.Anyhow {
		r.ordered(p.Index).rows(spanOf(p, n.Where), p.Backwards(), visit)
	} else {
		r.all(visit)
	}
	now := len(n.found)
	for _, s := range changed {
		older := r.older(s)
		if older != 0 && r.commit(older) > 0 && r.commit(older) <= x.snapshot && others(older) && r.Match(r.at(older), n.Where) {
			n.found = append(n.found, older)
		}
	}
	for i := range x.writes {
		w := &x.writes[i]
		if w.r != r || w.deleted {
			continue
		}
		if x.whole(w); r.Match(r.at(w.s), n.Where) {
			n.found = append(n.found, w.s)
		}
	}
	return p.Sorted && len(n.found) == now
}
