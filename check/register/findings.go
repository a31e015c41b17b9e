package register

import (
	"cmp"
	"slices"

	"assay/check"
)

// finding is one thing that is wrong, before it is put into words.
type finding struct {
	kind string
	// subject is the operation that is wrong, with are those that prove it, as
	// their kind has them.
	subject *op
	with    []*op
	// value is what the subject observed, other the second value of an order.
	value, other int32
	// could is what the subject could have observed, order explains what was
	// before it.
	could []int32
	order []*op
	// changes is how often the register changed to value, and writes how often that was
	// written.
	changes, writes int
}

// findings gathers what is wrong with one key, bounded by kind.
type findings struct {
	found int64
	list  []finding
	kinds map[string]int
}

// perKind bounds what is listed of one kind and key.
const perKind = 5

func (f *findings) add(one finding) {
	f.found++
	if f.kinds == nil {
		f.kinds = map[string]int{}
	}
	if f.kinds[one.kind]++; f.kinds[one.kind] <= perKind {
		f.list = append(f.list, one)
	}
}

// inOrder returns what is listed, most telling kinds first.
func (f *findings) inOrder() []finding {
	rank := map[string]int{kindGarbage: 0, kindDirty: 1, kindFuture: 2, kindDuplicate: 3, kindLost: 4, kindStale: 5, kindOrder: 6, kindFew: 7, kindUnexplained: 8}
	slices.SortStableFunc(f.list, func(a, b finding) int { return cmp.Compare(rank[a.kind], rank[b.kind]) })
	return f.list
}

// evidence gathers what is wrong with all keys, so that each key has its most
// telling finding listed before any has a second.
type evidence struct {
	found int64
	keys  [][]check.Evidence
}

// room describes how many of a key's findings need to be put into words.
func (e *evidence) room() int { return max(1, check.MaxEvidence-len(e.keys)) }

func (e *evidence) into(r *check.Result) {
	r.AddInTurn(e.keys)
	r.AddUnlisted("", e.found-r.Found)
}
