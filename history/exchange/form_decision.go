package exchange

import (
	"slices"
)

type reading uint8

const (
	undecided reading = iota
	// ofKnownForm reads transactions, registers and banks.
	ofKnownForm
	// asWritten reads all other histories, and after Untyped any, by function's word and values.
	asWritten
)

type heldEvent struct {
	at   place
	tree tree
	err  error
}

// Untyped makes Next return each operation's word and values as written. Call it before reading.
func (r *Reader) Untyped() { r.reading = asWritten }

// Typed makes Next read transactions, registers or a bank only. Call it before reading.
func (r *Reader) Typed(kind Kind) { r.reading, r.tree.only = ofKnownForm, kind }

// decideReading reads ahead until an operation decides the reading by its function or by the
// form of its value. If none does, the history is read as a known form; but as written if an
// operation has no function of a known form.
func (r *Reader) decideReading() {
	wrote, written := false, false
	for r.reading == undecided {
		r.tree.reset()
		at, err := r.source.next()
		if err == nil {
			if e, bad := r.tree.event(at); bad == nil && e.client {
				r.reading = r.tree.reading(&e, wrote)
				written = written || e.function == Other || r.tree.ofLongFork(&e)
				r.tree.keyed = r.tree.keyed || r.tree.ofRegisterKey(&e)
				wrote = wrote || e.function == Write
			}
		}
		r.held = append(r.held, heldEvent{at: at, err: err, tree: tree{nodes: slices.Clone(r.tree.nodes), text: slices.Clone(r.tree.text)}})
		if err != nil || len(r.held) >= lookAhead {
			break
		}
	}
	if r.reading == undecided {
		r.reading = ofKnownForm
		if written {
			r.reading = asWritten
		}
	}
}

// ofLongFork reports whether an event may belong to a history of long forks: a :write of one
// register, or a :read of registers, each written as in a transaction.
func (t *tree) ofLongFork(e *event) bool {
	at, ok := t.microOps(e.value)
	if !ok || e.function != Read && e.function != Write {
		return false
	}
	steps := 0
	for child := range t.children(at) {
		word := ""
		if t.is(child, listNode) && t.nodes[child].size > 1 {
			word, _ = t.word(child + 1)
		}
		if steps++; word != map[Function]string{Read: "r", Write: "w"}[e.function] {
			return false
		}
	}
	return e.function == Read || steps == 1
}

func (r *Reader) nextEvent() (place, error) {
	if r.reading == undecided {
		r.decideReading()
	}
	if len(r.held) > 0 {
		h := &r.held[0]
		at, err := h.at, h.err
		r.tree.nodes, r.tree.text = h.tree.nodes, h.tree.text
		*h = heldEvent{}
		r.held = r.held[1:]
		return at, err
	}
	r.tree.reset()
	return r.source.next()
}

func (t *tree) ofRegisterKey(e *event) bool {
	if e.value == none || e.function != Write && e.function != CompareAndSet {
		return false
	}
	key, second, pair := t.pair(e.value)
	_, known := t.atom(key)
	return pair && known && t.is(second, listNode) == (e.function == CompareAndSet)
}

// reading returns how a history with this event is read. wrote: an earlier event wrote.
func (t *tree) reading(e *event, wrote bool) reading {
	if _, ok := t.microOps(e.value); ok && e.function != Transaction {
		if t.ofLongFork(e) {
			return undecided // unless others are transactions, which may be called anything
		}
		return ofKnownForm
	}
	switch e.function {
	case 0:
		return undecided
	case Other:
		if e.value != none && t.is(e.value, listNode) && t.after(e.value) == e.value+1 {
			return undecided // an empty transaction, or an empty list
		}
		return asWritten
	case Transfer, CompareAndSet:
		return ofKnownForm
	case Transaction:
		return t.readingOfTransaction(e)
	}
	if e.value == none {
		return undecided
	}
	switch {
	case t.is(e.value, mapNode):
		return ofKnownForm
	case t.is(e.value, setNode):
		return asWritten
	case !t.is(e.value, listNode):
		if e.function == Read && wrote && e.kind == acknowledged && !t.is(e.value, nilNode) {
			return ofKnownForm
		}
		return undecided
	}
	_, second, pair := t.pair(e.value)
	switch {
	case pair && t.is(second, setNode):
		return asWritten
	case pair && e.function == Read && t.is(second, mapNode) && !t.is(e.value+1, mapNode):
		return ofKnownForm // [3 {1 10, 2 15}], a bank of an independent key
	case pair && e.function == Read && !wrote && t.balances(second):
		return undecided
	case pair && !t.is(second, listNode) && t.keyed && e.kind == acknowledged && e.function == Read && !t.is(second, nilNode):
		return ofKnownForm
	case t.after(e.value) == e.value+1:
	case t.is(e.value+1, listNode), pair && t.is(second, listNode), t.is(e.value+1, mapNode):
		return asWritten // [[:w 1 2]], [3 [1 2]], [{:val 1}]
	case wrote && e.function == Read && (!pair || !t.keyed && e.kind == acknowledged):
		return asWritten // [2 1] after writes of 1 and 2; after one of [2 1] it is a register's key and value
	}
	return undecided
}

// balances reports whether a value may be balances of accounts, or elements of a set.
func (t *tree) balances(at int) bool {
	if !t.is(at, listNode) {
		return false
	}
	for child := range t.children(at) {
		if !t.is(child, intNode) && !t.is(child, nilNode) {
			return false
		}
	}
	return true
}

// readingOfTransaction looks at the steps of a transaction. Steps spelled :read and :write
// belong to one map of registers, unless another step says otherwise.
func (t *tree) readingOfTransaction(e *event) reading {
	at := e.value
	if at == none || !t.is(at, listNode) {
		return ofKnownForm // which is malformed
	}
	if _, second, pair := t.pair(at); pair && t.is(second, listNode) && !t.is(at+1, listNode) {
		at = second // of an independent key
	}
	long := undecided
	for child := range t.children(at) {
		word := ""
		if t.is(child, listNode) && t.nodes[child].size > 1 {
			word, _ = t.word(child + 1)
		}
		switch word {
		case "send", "poll":
			return asWritten
		case "read", "write":
			long = asWritten
		default:
			return ofKnownForm
		}
	}
	return long
}
