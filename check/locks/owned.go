package locks

import (
	"cmp"
	"context"
	"math"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history/exchange"
)

// OwnedOptions says what a lock is that belongs to the process that acquired it.
type OwnedOptions struct {
	// Reentrant means that its owner may acquire it again, and releases it as
	// often.
	Reentrant bool
	// Fenced means that each acquire is answered with a token, greater than those
	// of all owners before.
	Fenced bool
}

// Owned judges a lock that only the process releases that acquired it. Such a
// process certainly holds it from the end of the acquire to the beginning of
// the release. The history is right exactly if no two processes certainly hold the
// lock at the same time: each operation can then be at that end of its time.
type Owned struct {
	o        OwnedOptions
	recorded recorded
}

// NewOwned returns a judge.
func NewOwned(o OwnedOptions) *Owned { return &Owned{o: o} }

// Add takes one operation. One that a lock does not have is an error.
func (w *Owned) Add(o *exchange.Operation) error { return w.recorded.add(o, w.o.Fenced) }

func (o *OwnedOptions) name() string {
	switch {
	case o.Reentrant && o.Fenced:
		return "reentrant-fenced-mutex"
	case o.Reentrant:
		return "reentrant-mutex"
	case o.Fenced:
		return "fenced-mutex"
	}
	return "owner-mutex"
}

// ownership is the time in which a process certainly held the lock.
type ownership struct {
	by         *lockOp // the acquire
	start, end int64
}

// owner is what one process has done so far.
type owner struct {
	ownership ownership
	depth     int
	// unsure counts the operations of unknown outcome that may have made the
	// lock deeper than depth.
	unsure int
}

// Result returns the answer over all operations.
func (w *Owned) Result(context.Context) check.Result {
	f := operation.NewFindings(kindTwoHolders, kindFree, kindFence)
	ops := w.recorded.ops
	slices.SortFunc(ops, func(a, b lockOp) int { return cmp.Compare(a.by.Invoke, b.by.Invoke) })
	owners := map[int64]*owner{}
	var ownerships []ownership
	for i := range ops {
		op := &ops[i]
		of := owners[op.by.Process]
		if of == nil {
			of = &owner{}
			owners[op.by.Process] = of
		}
		ownerships = w.step(of, op, ownerships, f)
	}
	for _, of := range owners {
		if of.depth > 0 {
			of.ownership.end = math.MaxInt64
			ownerships = append(ownerships, of.ownership)
		}
	}
	w.compare(ownerships, f)
	return w.recorded.result(w.o.name(), f)
}

// step takes the next operation of a process. It adds the time for which the
// process held the lock when that ends.
func (w *Owned) step(of *owner, op *lockOp, ownerships []ownership, f *operation.Findings) []ownership {
	sure := op.by.Acknowledged()
	switch {
	case !op.release && !sure:
		of.unsure++
	case !op.release:
		if of.depth > 0 && !w.o.Reentrant {
			f.Add(kindTwoHolders, &op.by, "acquired the lock, which it held already since %s", &of.ownership.by.by)
			return ownerships
		}
		if of.depth++; of.depth == 1 {
			of.ownership = ownership{by: op, start: op.by.Complete}
		}
	case of.depth == 0 && sure:
		if of.unsure == 0 {
			f.Add(kindFree, &op.by, "released the lock, which it had not acquired, or had released before")
		}
		of.unsure = max(0, of.unsure-1)
	case of.depth > 0:
		if !sure {
			of.unsure++
		}
		if of.depth--; of.depth == 0 {
			of.ownership.end = op.by.Invoke
			ownerships = append(ownerships, of.ownership)
		}
	}
	return ownerships
}

// compare finds ownerships at the same time, and tokens that are not greater than
// those before.
func (w *Owned) compare(ownerships []ownership, f *operation.Findings) {
	slices.SortFunc(ownerships, func(a, b ownership) int { return cmp.Compare(a.start, b.start) })
	var last ownership
	var fence *lockOp
	for i := range ownerships {
		h := ownerships[i]
		if last.by != nil && h.start < last.end {
			f.Add(kindTwoHolders, &h.by.by, "acquired the lock, which %s held: it had not begun to release it", &last.by.by)
		}
		if last.by == nil || h.end > last.end {
			last = h
		}
		switch {
		case !h.by.fenced:
		case fence != nil && h.by.fence <= fence.fence:
			f.Add(kindFence, &h.by.by, "was given the token %s, after %s had been given %s",
				operation.Field{Name: "token", Value: h.by.fence}, &fence.by, operation.Field{Name: "other_token", Value: fence.fence})
		default:
			fence = h.by
		}
	}
}
