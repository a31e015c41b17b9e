package mem

import (
	"cmp"
	"math"
	"slices"

	"github.com/tidwall/btree"
)

// ordering has a relation's rows, as they are now, in the order of some columns, and then
// of the key: an index. A query goes from where its rows begin to where they end, and
// looks at no others.
type ordering struct {
	r *relation
	// columns are the index's, by are these and those of the key.
	columns, by []int
	unique      bool
	tree        *btree.BTreeG[slot]
	// edge is what the slot atEdge stands for: a place before all rows that have these
	// values in the first columns, or after them.
	edge  []value
	after bool
	// visited counts the rows that queries have looked at.
	visited int64
}

const atEdge slot = math.MaxUint32

// order is the ordering by these columns. It is made if there is none.
func (r *relation) order(columns []int, unique bool) *ordering {
	if i := slices.IndexFunc(r.orders, func(o *ordering) bool { return slices.Equal(o.columns, columns) }); i >= 0 {
		return r.orders[i]
	}
	o := &ordering{r: r, columns: columns, by: slices.Clone(columns), unique: unique}
	for column := range r.table.Keys() {
		if !slices.Contains(columns, column) {
			o.by = append(o.by, column)
		}
	}
	o.tree = btree.NewBTreeGOptions(o.less, btree.Options{NoLocks: true})
	for s := range r.all {
		o.tree.Set(s)
	}
	r.orders = append(r.orders, o)
	return o
}

// all gives the rows that are there now.
func (r *relation) all(yield func(slot) bool) {
	for s := slot(1); s <= r.last; s++ {
		if r.current(s) && !yield(s) {
			return
		}
	}
}

func (r *relation) compare(column int, a, b value) int {
	if r.places[column].text {
		return cmp.Compare(a.text, b.text)
	}
	return cmp.Compare(a.number, b.number)
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
		if c := o.r.compare(column, o.r.get(v, column), o.r.get(w, column)); c != 0 {
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
func (o *ordering) prefix(s slot, with []value) int {
	v := o.r.at(s)
	for i := range with {
		if c := o.r.compare(o.by[i], o.r.get(v, o.by[i]), with[i]); c != 0 {
			return c
		}
	}
	return 0
}

// alike reports whether two versions of a row are at the same place.
func (o *ordering) alike(a, b slot) bool {
	v, w := o.r.at(a), o.r.at(b)
	for _, column := range o.columns {
		if o.r.get(v, column) != o.r.get(w, column) {
			return false
		}
	}
	return true
}

// span is a part of an ordering: the rows whose first columns have the values of equal, and
// whose next one is at least from and below to, if these are given.
type span struct {
	equal    []value
	from, to *value
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
		return o.r.compare(o.by[next], o.r.get(o.r.at(s), o.by[next]), *bound) < 0
	}
	if bound := of.from; descending && bound != nil {
		return o.r.compare(o.by[next], o.r.get(o.r.at(s), o.by[next]), *bound) >= 0
	}
	return true
}
