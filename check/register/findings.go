package register

import (
	"cmp"
	"slices"

	"assay/check"
)

type finding struct {
	kind string
	// subject is the wrong operation; with prove it, in an order that the kind defines.
	subject *op
	with    []*op
	// value is the value that subject observed. other is the second value of kindOrder.
	value, other int32
	// could are the values possible for subject; order explains the operations before it.
	could []int32
	order []*op
	// changes is how often the register changed to value, writes how often value was written.
	changes, writes int
}

type findings struct {
	found int64
	list  []finding
	kinds map[string]int
}

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

// inOrder returns the listed findings, most telling kinds first.
func (f *findings) inOrder() []finding {
	rank := map[string]int{kindGarbage: 0, kindDirty: 1, kindFuture: 2, kindDuplicate: 3, kindLost: 4, kindStale: 5, kindOrder: 6, kindFew: 7, kindUnexplained: 8}
	slices.SortStableFunc(f.list, func(a, b finding) int { return cmp.Compare(rank[a.kind], rank[b.kind]) })
	return f.list
}

// evidence gathers all keys' findings. The most telling of each key comes before a second of any.
type evidence struct {
	found int64
	keys  [][]check.Evidence
}

// room is how many of a key's findings need words.
func (e *evidence) room() int { return max(1, check.MaxEvidence-len(e.keys)) }

func (e *evidence) into(r *check.Result) {
	r.AddInTurn(e.keys)
	r.AddUnlisted("", e.found-r.Found)
}
