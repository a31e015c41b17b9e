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
	tried := map[int32]bool{}
	for _, op := range in.h.opsOf(b) {
		if tried[op.key()] {
			continue
		}
		tried[op.key()] = true
		var found bool
		if in.h.kinds[op.key()] == Write {
			found = in.explainRegister(&edge, kind, op.key(), a, b, x, y)
		} else {
			found = in.explainList(&edge, kind, op.key(), a, b, x, y)
		}
		if found {
			edge.Key = in.h.keyName(op.key())
			return edge
		}
	}
	return edge
}

func (in *inference) explainList(edge *Edge, kind edgeKind, key, a, b int32, x, y string) bool {
	s := in.readList(key)
	for i := range s.kept {
		op := s.kept[i]
		if op.txn != b || (op.kind() == Append) != (kind != wr) {
			continue
		}
		switch kind {
		case wr:
			if list := in.h.list(op); list != nil && in.wrote(&s.keyState, s.lastEntry(i, list), a) {
				edge.Value = in.h.name(list[len(list)-1])
				edge.Next = edge.Value
				edge.Text = fmt.Sprintf("%s read %s from key %s, whose last element %s appended", y, in.readText(op), in.h.keyName(key), x)
				return true
			}
		case ww:
			if in.explainAppend(edge, s, i, a, x, y) {
				return true
			}
		default:
			if in.explainMissed(edge, s, i, a, x, y) {
				return true
			}
		}
	}
	return false
}

func (in *inference) wrote(s *keyState, e, txn int32) bool {
	return e >= 0 && s.table.entries[e].writer >= 0 && in.writer(s, e) == txn
}

// explainAppend explains that append i of the list comes right after an append of a.
func (in *inference) explainAppend(edge *Edge, s *listState, i int, a int32, x, y string) bool {
	op := s.kept[i]
	at := s.at[i]
	if at == unplaced {
		at = position(len(s.order))
	}
	before := s.previous[at]
	if !in.wrote(&s.keyState, before, a) {
		return s.at[i] == unplaced && in.explainAssumed(edge, s, op, a, x, y)
	}
	edge.Value, edge.Next = in.h.name(s.table.entries[before].elem), in.h.name(op.val)
	key := in.h.keyName(s.key)
	spine := in.h.ops[s.longestOp]
	if s.at[i] == unplaced {
		edge.Text = fmt.Sprintf("%s appended %s to key %s, and %s appended %s, which is not in %s, the longest state that was read (by %s), so it came later",
			x, edge.Value, key, y, edge.Next, in.readText(spine), in.readerName(spine.txn))
		return true
	}
	edge.Text = fmt.Sprintf("%s appended %s to key %s, and then %s appended %s: %s read %s",
		x, edge.Value, key, y, edge.Next, in.readerName(spine.txn), in.listText(s.longest[:in.until(s, s.at[i])]))
	return true
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
func (in *inference) explainMissed(edge *Edge, s *listState, i int, a int32, x, y string) bool {
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
		if list := in.h.list(read); list != nil {
			edge.Value = in.h.name(list[len(list)-1])
		}
		edge.Next = in.h.name(op.val)
		edge.Text = fmt.Sprintf("%s read %s from key %s, without %s, which %s appended", x, in.readText(read), in.h.keyName(s.key), edge.Next, y)
		if s.at[i] == unplaced {
			edge.Text += " and which no read shows"
		}
		return true
	}
	return false
}

func (in *inference) explainRegister(edge *Edge, kind edgeKind, key, a, b int32, x, y string) bool {
	s := in.readRegister(key)
	name := in.h.keyName(key)
	if kind == wr {
		for i := range s.kept {
			op := s.kept[i]
			if op.txn == b && op.kind() == ReadValue && in.wrote(&s.keyState, s.table.find(op.val), a) {
				edge.Value = in.h.name(op.val)
				edge.Next = edge.Value
				edge.Text = fmt.Sprintf("%s read %s from key %s, which %s wrote", y, edge.Value, name, x)
				return true
			}
		}
		return false
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
		edge.Next = in.h.name(s.table.entries[e.to-1].elem)
		did := "read nothing from"
		if e.from != initial {
			edge.Value = in.h.name(s.table.entries[e.from-1].elem)
			did = fmt.Sprintf("read %s from", edge.Value)
			if kind == ww {
				did = fmt.Sprintf("wrote %s to", edge.Value)
			}
		}
		edge.Text = fmt.Sprintf("%s %s key %s, and %s wrote %s, which came later, because %s", x, did, name, y, edge.Next, e.reason(who))
		return true
	}
	return false
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
