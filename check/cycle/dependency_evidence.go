package cycle

import (
	"fmt"
	"strings"
)

func (in *inference) cycleEvidence(l loop) Evidence {
	var e Evidence
	n := len(l.txns)
	lines := make([]string, n)
	var keys []string
	for i, t := range l.txns {
		edge := in.explain(l.kinds[i], t, l.txns[(i+1)%n], i, (i+1)%n)
		e.Edges, keys = append(e.Edges, edge), append(keys, edge.Key)
		lines[i] = fmt.Sprintf("T%d is before T%d (%s): %s", edge.From+1, edge.To+1, edge.Kind, edge.Text)
	}
	for _, t := range l.txns {
		e.Txns = append(e.Txns, in.view(t, keys...))
	}
	e.Text = strings.Join(lines, ". ") + ". No order of these transactions can satisfy all of that."
	return e
}

func (in *inference) explain(kind edgeKind, a, b int32, i, j int) Edge {
	x, y := fmt.Sprintf("T%d", i+1), fmt.Sprintf("T%d", j+1)
	edge := Edge{From: i, To: j, Kind: kind.String()}
	switch kind {
	case process:
		edge.Text = fmt.Sprintf("client %d ran %s before %s", in.h.process(a), x, y)
		return edge
	case realtime:
		edge.Text = fmt.Sprintf("%s was acknowledged at %d, before %s was begun at %d",
			x, in.h.complete(a), y, in.h.invoke(b))
		return edge
	}
	for _, op := range in.h.opsOf(b) {
		explain := in.explainList
		if in.h.kinds[op.key()] == Write {
			explain = in.explainRegister
		}
		if edge.Text = explain(kind, op.key(), a, b, x, y); edge.Text != "" {
			edge.Key = in.h.keyName(op.key())
			return edge
		}
	}
	return edge
}

// explainList says why transaction a, called x, precedes b, called y, by a list; "" if it does not
// show that.
func (in *inference) explainList(kind edgeKind, key, a, b int32, x, y string) string {
	s := in.readList(key)
	for i := range s.kept {
		op := s.kept[i]
		if op.txn != b || (op.kind() == Append) != (kind != wr) {
			continue
		}
		text := ""
		switch kind {
		case wr:
			if list := in.h.list(op); list != nil && in.wrote(&s.keyState, s.lastEntry(i, list), a) {
				text = fmt.Sprintf("%s read %s from key %s, whose last element %s appended", y, in.readText(op), in.h.keyName(key), x)
			}
		case ww:
			text = in.explainAppend(s, i, a, x, y)
		default:
			text = in.explainMissed(s, i, a, x, y)
		}
		if text != "" {
			return text
		}
	}
	return ""
}

func (in *inference) wrote(s *keyState, e, txn int32) bool {
	return e >= 0 && s.table.entries[e].writer >= 0 && in.writer(s, e) == txn
}

// explainAppend explains that append i of the list comes right after an append of a.
func (in *inference) explainAppend(s *listState, i int, a int32, x, y string) string {
	op := s.kept[i]
	at := s.at[i]
	if at == unplaced {
		at = position(len(s.order))
	}
	before := s.previous[at]
	switch {
	case in.wrote(&s.keyState, before, a):
	case s.at[i] == unplaced:
		return in.explainAssumed(s, op, a, x, y)
	default:
		return ""
	}
	first, key, next := in.h.name(s.table.entries[before].elem), in.h.keyName(s.key), in.h.name(op.val)
	spine := in.h.ops[s.longestOp]
	if s.at[i] == unplaced {
		return fmt.Sprintf("%s appended %s to key %s, and %s appended %s, which is not in %s, the longest state that was read (by %s), so it came later",
			x, first, key, y, next, in.readText(spine), in.readerName(spine.txn))
	}
	return fmt.Sprintf("%s appended %s to key %s, and then %s appended %s: %s read %s",
		x, first, key, y, next, in.readerName(spine.txn), in.listText(s.longest[:in.until(s, s.at[i])]))
}

// readerName names a transaction that only gives evidence.
func (in *inference) readerName(txn int32) string { return txnName(in.h.id(txn)) }

// txnName names a transaction. A negative ID is a read that the judge did after the run.
func txnName(id int64) string {
	if id < 0 {
		return "the read at the end"
	}
	return fmt.Sprintf("transaction %d", id)
}

// until returns the length of the longest list up to a position.
func (in *inference) until(s *listState, at position) int {
	for i, elem := range s.longest {
		if s.table.entries[s.order[at]].elem == elem {
			return i + 1
		}
	}
	return len(s.longest)
}

// explainMissed explains that a read the state before append i of the list.
func (in *inference) explainMissed(s *listState, i int, a int32, x, y string) string {
	op := s.kept[i]
	for j := range s.kept {
		read := s.kept[j]
		if read.txn != a || read.kind() == Append || s.at[j] == unplaced {
			continue
		}
		next := s.next[s.at[j]+1]
		if s.at[i] == unplaced && next >= 0 || s.at[i] != unplaced && (next < 0 || s.table.entries[next].position != s.at[i]) {
			continue
		}
		text := fmt.Sprintf("%s read %s from key %s, without %s, which %s appended", x, in.readText(read), in.h.keyName(s.key), in.h.name(op.val), y)
		if s.at[i] == unplaced {
			text += " and which no read shows"
		}
		return text
	}
	return ""
}

// explainRegister is explainList for a register.
func (in *inference) explainRegister(kind edgeKind, key, a, b int32, x, y string) string {
	s := in.readRegister(key)
	name := in.h.keyName(key)
	if kind == wr {
		for i := range s.kept {
			op := s.kept[i]
			if op.txn == b && op.kind() == ReadValue && in.wrote(&s.keyState, s.table.find(op.val), a) {
				return fmt.Sprintf("%s read %s from key %s, which %s wrote", y, in.h.name(op.val), name, x)
			}
		}
		return ""
	}
	in.orderVersions(s, func([]versionEdge) {})
	who := func(t int32) string {
		switch t {
		case a:
			return x
		case b:
			return y
		default:
			return in.readerName(t)
		}
	}
	for _, e := range s.edges {
		if !in.wrote(&s.keyState, e.to-1, b) || !in.touched(s, e.from, a, kind) {
			continue
		}
		did := "read nothing from"
		if e.from != initial {
			did = "read " + in.h.name(s.table.entries[e.from-1].elem) + " from"
			if kind == ww {
				did = "wrote " + in.h.name(s.table.entries[e.from-1].elem) + " to"
			}
		}
		return fmt.Sprintf("%s %s key %s, and %s wrote %s, which came later, because %s",
			x, did, name, y, in.h.name(s.table.entries[e.to-1].elem), e.reason(who))
	}
	return ""
}

// touched reports whether a wrote, or with rw read, this version.
func (in *inference) touched(s *registerState, v version, a int32, kind edgeKind) bool {
	if kind == ww {
		return v != initial && in.wrote(&s.keyState, v-1, a)
	}
	for i := s.readers[v]; i != 0; i = s.nextReader[i-1] {
		if s.kept[i-1].txn == a {
			return true
		}
	}
	return false
}
