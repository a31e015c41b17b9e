package recorded

import (
	"fmt"

	"assay/history/exchange"
)

type attempts struct {
	// first began first among those that may have taken effect. acknowledged was acknowledged
	// first. failed is one of the failed. Each is an index of all, or -1.
	first, acknowledged, failed int32
	possible, certain           int32
}

type elements struct {
	tally
	words words
	all   []Operation
	which []int32         // the element of each of all
	names []exchange.Atom // by number
	index atomNumbers
	of    []attempts
	// again is an element that several operations may have put in.
	again *exchange.Atom
}

func newElements(w words) elements { return elements{words: w, index: newAtomNumbers()} }

func (e *elements) add(_ *exchange.Operation, by Operation, a exchange.Atom) error {
	n, known := e.index.numberOf(a)
	if !known {
		n = int32(len(e.of))
		e.index.set(a, n)
		e.names = append(e.names, a)
		e.of = append(e.of, attempts{first: -1, acknowledged: -1, failed: -1})
	}
	at, of := int32(len(e.all)), &e.of[n]
	e.all = append(e.all, by)
	e.which = append(e.which, n)
	e.tally.add(by.Outcome)
	if !by.Possible() {
		of.failed = at
		return nil
	}
	if by.Acknowledged() {
		of.certain++
		if of.acknowledged < 0 || by.Complete < e.all[of.acknowledged].Complete {
			of.acknowledged = at
		}
	}
	if of.possible++; of.possible > 1 {
		e.again = &a
	}
	if of.first < 0 || by.Invoke < e.all[of.first].Invoke {
		of.first = at
	}
	return nil
}

type words struct{ nobody, failed, failure, early, future, field string }

// putWords are for collections, writeWords for registers.
func putWords() words {
	return words{"which nobody put in", "failed to put it in", "failed-element", "anybody began to put it in: first, %s", "future-element", "element"}
}

func writeWords() words {
	return words{"which nobody wrote", "failed to write it", "failed-write-read", "%s began to write it", kindFuture, ""}
}

func (w *words) kinds() []string { return []string{kindUnexpected, w.failure, w.future} }

// judgeSeen reports whether an element that an operation saw can have been there, or adds why not.
func (e *elements) judgeSeen(a exchange.Atom, by *Operation, verb string, f *findings) bool {
	n, known := e.index.numberOf(a)
	switch {
	case !known:
		f.add(kindUnexpected, by, "%s %s, %s%s", verb, e.element(a), e.words.nobody, e.spelledOtherwise(a))
	case e.of[n].first < 0:
		f.add(e.words.failure, by, "%s %s, but %s %s, and nobody else did", verb, e.element(a), &e.all[e.of[n].failed], e.words.failed)
	case by.Complete < e.all[e.of[n].first].Invoke:
		f.add(e.words.future, by, "%s %s before "+e.words.early, verb, e.element(a), &e.all[e.of[n].first])
	default:
		return true
	}
	return false
}

// spelledOtherwise warns of an element that differs from an unknown one as a text, a keyword and a
// number do, which may be a mistake of who wrote the history.
func (e *elements) spelledOtherwise(a exchange.Atom) string {
	text := a.Text
	if a.Kind == exchange.Number {
		text = a.String()
	}
	for _, other := range []exchange.Atom{{Kind: exchange.String, Text: text}, {Kind: exchange.Keyword, Text: text}, exchange.Atom{Kind: exchange.String, Text: text}.Whole()} {
		if _, known := e.index.numberOf(other); known {
			return fmt.Sprintf(" (%s is another element; is it meant to be the same?)", other)
		}
	}
	return ""
}

func (e *elements) element(a exchange.Atom) any {
	if e.words.field == "" {
		return a
	}
	return field{e.words.field, a}
}
