package mem

import (
	"slices"

	"assay/store"
)

// total has the number of rows found, and the sums, in the answer.
func (n *steps) total(p *plan) {
	a := &n.answer
	a.totals = append(a.totals[:0], int64(len(n.found)))
	for _, column := range p.gives {
		sum := int64(0)
		for _, s := range n.found {
			sum += p.r.get(p.r.at(s), column).number
		}
		a.totals = append(a.totals, sum)
	}
}

// find has the rows that satisfy n.where in n.found, in the order that is asked for.
func (n *steps) find(p *plan, limit int64) {
	ordered := len(p.order) == 0
	switch {
	case p.keyed != nil:
		n.findByKey(p)
	default:
		n.x.rememberPredicate(p.r, n.where)
		ordered = n.findAmong(p, limit) || ordered
	}
	if !ordered && len(n.found) > 1 {
		n.sort(p)
	}
	if limit >= 0 && int64(len(n.found)) > limit {
		n.found = n.found[:limit]
	}
}

func (n *steps) sort(p *plan) {
	r := p.r
	slices.SortStableFunc(n.found, func(a, b slot) (c int) {
		v, w := r.at(a), r.at(b)
		for _, column := range p.order {
			if c = r.compare(column, r.get(v, column), r.get(w, column)); c != 0 {
				break
			}
		}
		if p.descending {
			return -c
		}
		return c
	})
}

// findByKey looks at the rows that the conditions name.
func (n *steps) findByKey(p *plan) {
	n.keys = n.keys[:0]
	in := -1
	for column, i := range p.keyed {
		if n.where[i].is == store.In {
			in = column
			n.keys = append(n.keys, n.where[i].keys...)
			slices.Sort(n.keys)
			n.keys = slices.Compact(n.keys)
		}
	}
	if in < 0 {
		n.findKey(p, in, 0)
		return
	}
	for _, key := range n.keys {
		n.findKey(p, in, key)
	}
}

func (n *steps) findKey(p *plan, in int, key int64) {
	n.key = n.key[:0]
	hash := uint64(0)
	for column, i := range p.keyed {
		of := n.where[i].value
		if column == in {
			of = value{number: key}
		}
		n.key = append(n.key, of)
		hash = p.r.mix(hash, column, of)
	}
	s := n.x.read(p.r, hash, n.key)
	if s != 0 && (len(n.where) == len(n.key) || p.r.match(p.r.at(s), n.where)) {
		n.found = append(n.found, s)
	}
}

// findAmong looks at the rows as they are now, but for those that others have changed
// since the transaction began or that it has written itself: these it looks at one by
// one. ordered is true if what it finds is in the order that is asked for.
func (n *steps) findAmong(p *plan, limit int64) (ordered bool) {
	x, r := &n.x, p.r
	changed := r.changed(x.snapshot)
	wrote := slices.ContainsFunc(x.writes, func(w write) bool { return w.r == r })
	enough := p.sorted && limit >= 0 && !wrote
	visit := func(s slot) bool {
		if enough && int64(len(n.found)) >= limit {
			return false
		}
		if r.commit(s) <= x.snapshot && (!wrote || x.ownOf(r, s) == nil) && r.match(r.at(s), n.where) {
			n.found = append(n.found, s)
		}
		return true
	}
	if p.by != nil {
		p.by.rows(n.span(p), p.descending && p.sorted, visit)
	} else {
		r.all(visit)
	}
	now := len(n.found)
	for _, s := range changed {
		older := r.older(s)
		if older == 0 || r.commit(older) <= 0 || r.commit(older) > x.snapshot || wrote && x.ownOf(r, older) != nil {
			continue
		}
		if r.match(r.at(older), n.where) {
			n.found = append(n.found, older)
		}
	}
	if wrote {
		n.findOwn(r)
	}
	return p.sorted && len(n.found) == now
}

// findOwn looks at the rows that the transaction has written.
func (n *steps) findOwn(r *relation) {
	x := &n.x
	for i := range x.writes {
		w := &x.writes[i]
		if w.r != r || w.deleted {
			continue
		}
		x.whole(w)
		if r.match(r.at(w.s), n.where) {
			n.found = append(n.found, w.s)
		}
	}
}

// span is the part of a plan's ordering that the conditions leave.
func (n *steps) span(p *plan) (of span) {
	for _, i := range p.equal {
		of.equal = append(of.equal, n.where[i].value)
	}
	if p.from >= 0 {
		of.from = &n.where[p.from].value
	}
	if p.to >= 0 {
		of.to = &n.where[p.to].value
	}
	return of
}
