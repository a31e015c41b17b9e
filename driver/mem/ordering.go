package mem

import (
	"math"
	"slices"

	"github.com/tidwall/btree"

	"assay/driver/rows"
)

// ordering has a relation's rows, as they are now, in the order of an index or of the key.
// A query goes from where its rows begin to where they end, and looks at no others.
type ordering struct {
	r      *relation
	index  int
	by     []int // the columns
	unique bool
	tree   *btree.BTreeG[slot]
	// edge is what the slot atEdge stands for: a place before all rows that have these
	// values in the first columns, or after them.
	edge  []rows.Value
	after bool
	// visited counts the rows that queries have looked at.
	visited int64
}

const atEdge slot = math.MaxUint32

// ordered is the ordering by an index or by the key; nil if there is none.
func (r *relation) ordered(index int) *ordering {
	i := slices.IndexFunc(r.orders, func(o *ordering) bool { return o.index == index })
	if i < 0 {
		return nil
	}
	return r.orders[i]
}

// order is ordered, which it makes if there is none.
func (r *relation) order(index int) *ordering {
	if o := r.ordered(index); o != nil {
		return o
	}
	o := &ordering{r: r, index: index, by: r.Order(index), unique: index >= 0 && r.Indexes[index].Unique}
	o.tree = btree.NewBTreeGOptions(o.less, btree.Options{NoLocks: true})
	for s := range r.all {
		o.tree.Set(s)
	}
	r.orders = append(r.orders, o)
	return o
}

func (o *ordering) less(a, b slot) bool {
	switch {
	case a == atEdge:
		return o.fromEdge(b) > 0
	case b == atEdge:
		return o.fromEdge(a) < 0
	}
	v, w := o.r.at(a), o.r.at(b)
	for _, column := range o.by {
		if c := o.r.Compare(column, o.r.Get(v, column), o.r.Get(w, column)); c != 0 {
			return c < 0
		}
	}
	return false
}

// fromEdge is on which side of the edge a row is.
func (o *ordering) fromEdge(s slot) int {
	if c := o.prefix(s, o.edge); c != 0 {
		return c
	}
	if o.after {
		return -1
	}
	return 1
}

// prefix compares the first columns of a row with values.
func (o *ordering) prefix(s slot, with []rows.Value) int {
	v := o.r.at(s)
	for i := range with {
		if c := o.r.Compare(o.by[i], o.r.Get(v, o.by[i]), with[i]); c != 0 {
			return c
		}
	}
	return 0
}

// span is a part of an ordering: the rows whose first columns have the values of equal, and
// whose next one is at least from and below to, if these are given.
type span struct {
	equal    []rows.Value
	from, to *rows.Value
}

// spanOf is the part that the conditions of a plan leave.
func spanOf(p *rows.Plan, where []rows.Bound) (of span) {
	for _, i := range p.Equal {
		of.equal = append(of.equal, where[i].Value)
	}
	if p.From >= 0 {
		of.from = &where[p.From].Value
	}
	if p.To >= 0 {
		of.to = &where[p.To].Value
	}
	return of
}

// rows gives the rows of a span, while give wants more.
func (o *ordering) rows(of span, descending bool, give func(slot) (more bool)) {
	o.edge, o.after = append(o.edge[:0], of.equal...), false
	visit := func(s slot) bool {
		o.visited++
		return o.within(s, of, descending) && give(s)
	}
	if !descending {
		if of.from != nil {
			o.edge = append(o.edge, *of.from)
		}
		o.tree.Ascend(atEdge, visit)
		return
	}
	if of.to != nil {
		o.edge = append(o.edge, *of.to)
	} else {
		o.after = true
	}
	o.tree.Descend(atEdge, visit)
}

// within reports whether a row that comes in the direction is before the end of a span.
func (o *ordering) within(s slot, of span, descending bool) bool {
	if o.prefix(s, of.equal) != 0 {
		return false
	}
	next := len(of.equal)
	if bound := of.to; !descending && bound != nil {
		return o.r.Compare(o.by[next], o.r.Get(o.r.at(s), o.by[next]), *bound) < 0
	}
	if bound := of.from; descending && bound != nil {
		return o.r.Compare(o.by[next], o.r.Get(o.r.at(s), o.by[next]), *bound) >= 0
	}
	return true
}
