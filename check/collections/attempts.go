package collections

import (
	"fmt"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// The kinds of evidence.
const (
	kindLost       = "lost"
	kindUnexpected = "unexpected"
	kindFailed     = "failed-element"
	kindFuture     = "future-element"
	kindDuplicate  = "duplicate"
	kindStale      = "stale"
	kindBounds     = "out-of-bounds"
	kindSum        = "impossible-sum"
	kindBack       = "went-back"
	kindNoOrder    = "unexplained"
)

// attempts are all operations that were to put one element in.
type attempts struct {
	// first is the one that began first of those that may have taken effect,
	// and acknowledged the one that was acknowledged first; failed is one of the
	// others. Each is a number into all, or -1.
	first, acknowledged, failed int32
	possible, certain           int32
}

// elements are the attempts by element.
type elements struct {
	all   []operation.Operation
	which []int32         // the element of each of all
	names []exchange.Atom // by number
	index map[exchange.Atom]int32
	of    []attempts
	// attempted, acknowledgedCount, failedCount and unknownCount count operations.
	attempted, acknowledgedCount, failedCount, unknownCount int64
}

func newElements() *elements { return &elements{index: map[exchange.Atom]int32{}} }

// add takes note of an attempt.
func (e *elements) add(a exchange.Atom, o *exchange.Operation) {
	n, known := e.index[a]
	if !known {
		n = int32(len(e.of))
		e.index[a] = n
		e.names = append(e.names, a)
		e.of = append(e.of, attempts{first: -1, acknowledged: -1, failed: -1})
	}
	at, kept, of := int32(len(e.all)), operation.Of(o), &e.of[n]
	e.all = append(e.all, kept)
	e.which = append(e.which, n)
	e.attempted++
	switch o.Outcome {
	case history.Committed:
		e.acknowledgedCount++
		of.certain++
		if of.acknowledged < 0 || kept.Complete < e.all[of.acknowledged].Complete {
			of.acknowledged = at
		}
	case history.Unknown:
		e.unknownCount++
	default:
		e.failedCount++
		of.failed = at
		return
	}
	of.possible++
	if of.first < 0 || kept.Invoke < e.all[of.first].Invoke {
		of.first = at
	}
}

// seen judges one element that an operation saw. It returns false, and adds why,
// if the element cannot have been there.
func (e *elements) seen(a exchange.Atom, by *operation.Operation, verb string, f *operation.Findings) bool {
	n, known := e.index[a]
	switch {
	case !known:
		f.Add(kindUnexpected, by, "%s %s, which nobody put in", verb, element(a))
		return false
	case e.of[n].first < 0:
		f.Add(kindFailed, by, "%s %s, but %s failed to put it in, and nobody else did", verb, element(a), &e.all[e.of[n].failed])
		return false
	case by.Complete < e.all[e.of[n].first].Invoke:
		f.Add(kindFuture, by, "%s %s before anybody began to put it in: first, %s", verb, element(a), &e.all[e.of[n].first])
		return false
	}
	return true
}

func element(a exchange.Atom) operation.Field { return operation.Field{Name: "element", Value: a} }

// describe counts the attempts, which are called what.
func (e *elements) describe(what string) string {
	return fmt.Sprintf("%s (%s acknowledged, %s failed, %s of unknown outcome)", operation.Plural(e.attempted, what),
		check.CountOrNone(e.acknowledgedCount), check.CountOrNone(e.failedCount), check.CountOrNone(e.unknownCount))
}
