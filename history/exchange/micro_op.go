package exchange

import "slices"

// microOps returns the value as a list of steps such as [:r 1 nil], also if it is paired with an
// independent key. ok is false for anything else, and for an empty list.
func (t *tree) microOps(value int) (at int, ok bool) {
	if value == none || !t.is(value, listNode) {
		return none, false
	}
	if key, second, pair := t.pair(value); pair && !t.is(key, listNode) && t.is(second, listNode) {
		value = second
	}
	first := value + 1
	if first >= t.after(value) || !t.is(first, listNode) || first+1 >= t.after(first) {
		return none, false
	}
	return value, microWord(t.wordBytes(first+1)) != 0
}

// microWord returns the step that a word names, or 0. A read is GetNothing until it is answered.
func microWord(word []byte) MicroKind {
	switch string(word) {
	case "append":
		return Append
	case "w", "write":
		return Put
	case "r", "read":
		return GetNothing
	}
	return 0
}

// wordBytes returns the text of a keyword or a string; nil for anything else.
func (t *tree) wordBytes(at int) []byte {
	if k := t.nodes[at].kind; k != keywordNode && k != stringNode {
		return nil
	}
	return t.bytes(at)
}

// microOp reads one step of a transaction. A read of two parts, [:r 1], reads nil.
func (t *tree) microOp(e *event, at int, m *MicroOp) error {
	end := t.after(at)
	f := at + 1
	if !t.is(at, listNode) || f >= end || t.after(f) >= end {
		return e.bad("%s where an operation of a transaction was expected, such as [:r 1 nil]", t.describe(at))
	}
	m.Kind = microWord(t.wordBytes(f))
	if m.Kind == 0 {
		return e.bad("%s is not an operation of a transaction; known are r, append and w", t.describe(f))
	}
	key := t.after(f)
	value := t.after(key)
	if err := t.scalar(e, key, &m.Key); err != nil {
		return err
	}
	switch {
	case value == end && m.Kind == GetNothing:
		return nil
	case value >= end || t.after(value) != end:
		return e.bad("an operation of a transaction that has not three parts, such as [:r 1 nil]")
	case m.Kind == GetNothing:
		return t.microRead(e, value, m)
	case m.Kind == Put && t.is(value, nilNode):
		return e.bad("a write of nil to the register %s: nobody can tell whether a read of nil saw it, or a register without a value; write other values", m.Key)
	}
	return t.scalar(e, value, &m.Value)
}

func (t *tree) microRead(e *event, value int, m *MicroOp) error {
	switch t.nodes[value].kind {
	case nilNode:
		return nil
	case listNode:
		m.Kind = GetList
		m.List = slices.Grow(m.List, int(t.nodes[value].size)-1)
		for child := range t.children(value) {
			var a Atom
			if err := t.scalar(e, child, &a); err != nil {
				return err
			}
			m.List = append(m.List, a)
		}
		return nil
	case setNode:
		return e.bad("a set, which has no order, where the list that was read from %s was expected; write it as a vector", m.Key)
	}
	m.Kind = GetValue
	return t.scalar(e, value, &m.Value)
}
