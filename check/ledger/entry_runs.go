package ledger

import "iter"

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
	return func(visit func(uint32) bool) {
		for i := len(runs)/2 - 1; i >= 0; i-- {
			runs.sink(i)
		}
		for len(runs) > 0 {
			top := &runs[0]
			if !visit(top.next) {
				return
			}
			if top.next++; top.next < top.end {
				top.start, _ = j.span(top.next)
			} else {
				runs[0] = runs[len(runs)-1]
				runs = runs[:len(runs)-1]
			}
			runs.sink(0)
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
