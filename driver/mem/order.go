package mem

import "github.com/tidwall/btree"

// order has a table's rows, as they are now, by what entry makes of each: an index.
// A query goes from where its rows begin to where they end, and looks at no others.
type order[K comparable, R, E any] struct {
	entry func(K, R) E
	tree  *btree.BTreeG[E]
	// visited counts the entries that queries have looked at.
	visited int64
}

// ordered adds an order to a table that has no rows yet. No two rows may have entries
// of which neither is less.
func ordered[K comparable, R, E any](t *table[K, R], entry func(K, R) E, less func(a, b E) bool) *order[K, R, E] {
	o := &order[K, R, E]{entry: entry, tree: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})}
	t.orders = append(t.orders, o)
	return o
}

func (o *order[K, R, E]) clear()            { o.tree.Clear() }
func (o *order[K, R, E]) add(key K, row R)  { o.tree.Set(o.entry(key, row)) }
func (o *order[K, R, E]) drop(key K, row R) { o.tree.Delete(o.entry(key, row)) }

// up gives the entries that are not less than from in ascending order, while give
// wants more; down gives those that are not greater in descending order.
func (o *order[K, R, E]) up(from E, give func(E) (more bool)) { o.tree.Ascend(from, o.counted(give)) }
func (o *order[K, R, E]) down(from E, give func(E) (more bool)) {
	o.tree.Descend(from, o.counted(give))
}

func (o *order[K, R, E]) counted(give func(E) bool) func(E) bool {
	return func(e E) bool {
		o.visited++
		return give(e)
	}
}
