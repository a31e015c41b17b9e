package ledger

import (
	"iter"
	"slices"
)

// byTime visits the numbers of the entries in about the order in which they were
// committed. A table gives its rows in the order of writing, which is that, or in the
// order of their key, which has the operations of one client after those of another; such
// runs are merged by the start of the operations. All entries must have an operation.
func (e *entries) byTime(j *Judge) iter.Seq[uint32] {
	runs := e.runs(j)
	if len(runs) == 0 {
		return func(visit func(uint32) bool) {
			for n := range e.len() {
				if !visit(n) {
					return
				}
			}
		}
	}
	return runs.merged(j, func(n uint32) uint32 { return n })
}

// merged visits the entries of all runs by the start of their operations. entry is the
// entry at a place of a run.
func (r entryRuns) merged(j *Judge, entry func(uint32) uint32) iter.Seq[uint32] {
	return func(visit func(uint32) bool) {
		runs := r
		for i := len(runs)/2 - 1; i >= 0; i-- {
			runs.sink(i)
		}
		for len(runs) > 0 {
			top := &runs[0]
			if !visit(entry(top.next)) {
				return
			}
			if top.next++; top.next < top.end {
				top.start, _ = j.span(entry(top.next))
			} else {
				runs[0] = runs[len(runs)-1]
				runs = runs[:len(runs)-1]
			}
			runs.sink(0)
		}
	}
}

// byOperation is byTime for entries in no order, as a hash table gives them: they are
// sorted by client and operation, in linear time, and the clients merged. It takes 4 bytes
// an entry.
func (e *entries) byOperation(j *Judge) iter.Seq[uint32] {
	blocks := j.ops.sorted()
	ends := make([]uint32, len(blocks)) // of the blocks' parts of order, by number
	for n := range e.len() {
		ends[e.at(n).owner>>blockBits]++
	}
	var runs entryRuns
	total := uint32(0)
	for i, b := range blocks {
		if i == 0 || b.key.client() != blocks[i-1].key.client() {
			runs = append(runs, entryRun{next: total})
		}
		ends[b.number], total = total, total+ends[b.number] // where it begins, and grows below
		runs[len(runs)-1].end = total
	}
	order := make([]uint32, total)
	for n := range e.len() {
		end := &ends[e.at(n).owner>>blockBits]
		order[*end] = n
		*end++
	}
	var places [blockOps]uint32
	from := uint32(0)
	for _, b := range blocks {
		part := order[from:ends[b.number]]
		from = ends[b.number]
		e.sortBlock(part, &places)
	}
	runs = slices.DeleteFunc(runs, func(r entryRun) bool { return r.next == r.end })
	for i := range runs {
		runs[i].start, _ = j.span(order[runs[i].next])
	}
	return runs.merged(j, func(at uint32) uint32 { return order[at] })
}

// sortBlock sorts entries of one block, each of another operation, by these.
func (e *entries) sortBlock(part []uint32, places *[blockOps]uint32) {
	clear(places[:])
	for _, n := range part {
		places[e.at(n).owner%blockOps] = n + 1
	}
	part = part[:0]
	for _, n := range places {
		if n > 0 {
			part = append(part, n-1)
		}
	}
}

// entryRun are entries of one client in the order of its operations, from next to end.
type entryRun struct {
	start     int64 // of the operation of next
	next, end uint32
}

// entryRuns is a heap by start.
type entryRuns []entryRun

// minRun is how many entries runs have on average; others are none.
const minRun = 64

// runs divides the entries into runs. There are none if these would be short.
func (e *entries) runs(j *Judge) (runs entryRuns) {
	var last blockKey
	var at uint32
	for n := range e.len() {
		owner := e.at(n).owner
		key, i := j.ops.list[owner>>blockBits].key, owner%blockOps
		if n == 0 || key.client() != last.client() || key < last || key == last && i <= at {
			if uint32(len(runs))*minRun > e.len() {
				return nil
			}
			if n > 0 {
				runs[len(runs)-1].end = n
			}
			start, _ := j.span(n)
			runs = append(runs, entryRun{start: start, next: n, end: e.len()})
		}
		last, at = key, i
	}
	return runs
}

// sink moves an element down until none below it is earlier.
func (r entryRuns) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(r); child++ {
			if r[child].start < r[least].start {
				least = child
			}
		}
		if least == i {
			return
		}
		r[i], r[least] = r[least], r[i]
		i = least
	}
}
