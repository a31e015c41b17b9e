package cycle

import (
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

const (
	maxShownOps      = 16
	maxShownElements = 10
)

// view describes a transaction, but the final read of everything only for the keys that matter.
func (in *inference) view(txn int32, matter ...string) TxnView {
	h := in.h
	v := TxnView{ID: h.id(txn), Process: h.process(txn)}
	var words []string
	left := 0
	for _, op := range h.opsOf(txn) {
		if len(words) == maxShownOps || v.ID < 0 && !slices.Contains(matter, h.keyName(op.key())) {
			left++
			continue
		}
		words = append(words, in.opText(op))
	}
	if left > 0 {
		words = append(words, "and "+check.Count(left)+" more")
	}
	v.Text = strings.Join(words, "; ")
	return v
}

func (in *inference) opText(op op) string {
	key := in.h.keyName(op.key())
	switch op.kind() {
	case Append:
		return fmt.Sprintf("append %s to key %s", in.h.name(op.val), key)
	case Write:
		return fmt.Sprintf("write %s to key %s", in.h.name(op.val), key)
	default:
		return fmt.Sprintf("read %s from key %s", in.readText(op), key)
	}
}

func (in *inference) readText(op op) string {
	switch op.kind() {
	case ReadList:
		return in.listText(in.h.list(op))
	case ReadValue:
		return in.h.name(op.val)
	default:
		if in.h.kinds[op.key()] == Append {
			return "[]"
		}
		return "nothing"
	}
}

func (in *inference) listText(list []int64) string {
	var b strings.Builder
	b.WriteByte('[')
	if n := len(list); n > maxShownElements {
		list = list[n-maxShownElements:]
		b.WriteString(elided(n - maxShownElements))
	}
	for i, v := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(in.h.name(v))
	}
	b.WriteByte(']')
	return b.String()
}

func elided(n int) string {
	if n == 1 {
		return "(1 element) "
	}
	return fmt.Sprintf("(%d elements) ", n)
}

// keyEvidence makes the evidence of an anomaly of one key. The text names the transactions T1, T2
// and so on in their order, and keyEvidence adds which they are.
func (in *inference) keyEvidence(key int32, text string, txns ...int32) Evidence {
	e := Evidence{Text: text}
	var who []string
	for i, t := range txns {
		e.Txns = append(e.Txns, in.view(t, in.h.keyName(key)))
		who = append(who, fmt.Sprintf("T%d is %s", i+1, e.Txns[i].name()))
	}
	if who != nil {
		e.Text += " (" + strings.Join(who, ", ") + ")"
	}
	return e
}

func (in *inference) setAmbiguous(key, a, b int32) {
	if in.ambiguous == "" {
		x, y := in.h.ops[a], in.h.ops[b]
		in.ambiguous = fmt.Sprintf("%s was written to key %s by %s and by %s: who read which "+
			"cannot be told; the workload must write each value to a key only once",
			in.h.name(x.val), in.h.keyName(key), in.readerName(x.txn), in.readerName(y.txn))
	}
}

func (in *inference) internalEvidence(txn, read int32, base []int64, known bool, own []int64) Evidence {
	op := in.h.ops[read]
	expected := "a list that ends in " + in.listText(own)
	if known {
		expected = in.listText(append(append([]int64(nil), base...), own...))
	}
	return in.keyEvidence(op.key(), fmt.Sprintf(
		"T1 read %s from key %s, though by its own earlier reads and appends it should have read %s",
		in.readText(op), in.h.keyName(op.key()), expected), txn)
}

func (in *inference) internalRegisterEvidence(before, read int32) Evidence {
	a, b := in.h.ops[before], in.h.ops[read]
	return in.keyEvidence(b.key(), fmt.Sprintf("T1 read %s from key %s, though the last it did there was to %s",
		in.readText(b), in.h.keyName(b.key()), in.opText(a)), b.txn)
}

func (in *inference) futureEvidence(txn, read, write int32) Evidence {
	r, w := in.h.ops[read], in.h.ops[write]
	return in.keyEvidence(w.key(), fmt.Sprintf("T1 read %s from key %s, with %s, which it wrote only afterwards",
		in.readText(r), in.h.keyName(w.key()), in.h.name(w.val)), txn)
}

func (in *inference) updateEvidence(key, a, b int32, state []int64) Evidence {
	read := "found nothing"
	if len(state) > 0 {
		read = "read " + in.listText(state)
	}
	return in.keyEvidence(key, fmt.Sprintf(
		"T1 and T2 both %s in key %s, then both wrote to it, and both were committed: each missed the other's update",
		read, in.h.keyName(key)), a, b)
}

func (in *inference) incompatibleEvidence(read, spine int32) Evidence {
	a, b := in.h.ops[read], in.h.ops[spine]
	return in.keyEvidence(a.key(), fmt.Sprintf(
		"T1 read %s from key %s and T2 read %s; neither is the beginning of the other, so elements were lost or reordered",
		in.readText(a), in.h.keyName(a.key()), in.readText(b)), a.txn, b.txn)
}

func (in *inference) reversedEvidence(read, txn int32) Evidence {
	r := in.h.ops[read]
	return in.keyEvidence(r.key(), fmt.Sprintf("T1 read %s from key %s, where the elements that T2 appended are not in its order",
		in.readText(r), in.h.keyName(r.key())), r.txn, txn)
}

func (in *inference) intermediateEvidence(read, write int32) Evidence {
	r, w := in.h.ops[read], in.h.ops[write]
	return in.keyEvidence(r.key(), fmt.Sprintf(
		"T1 read %s from key %s, a state that T2 passed through: after %s, T2 wrote to it again",
		in.readText(r), in.h.keyName(r.key()), in.h.name(w.val)), r.txn, w.txn)
}

func (in *inference) duplicateEvidence(read int32, elem int64) Evidence {
	r := in.h.ops[read]
	return in.keyEvidence(r.key(), fmt.Sprintf("T1 read %s from key %s, with %s more than once, which was appended once",
		in.readText(r), in.h.keyName(r.key()), in.h.name(elem)), r.txn)
}

func (in *inference) garbageEvidence(read int32, elem int64) Evidence {
	r := in.h.ops[read]
	return in.keyEvidence(r.key(), fmt.Sprintf("T1 read %s from key %s, with %s, which nobody ever wrote",
		in.readText(r), in.h.keyName(r.key()), in.h.name(elem)), r.txn)
}

func (in *inference) abortedEvidence(read, write int32) Evidence {
	r, w := in.h.ops[read], in.h.ops[write]
	return in.keyEvidence(r.key(), fmt.Sprintf("T1 read %s from key %s, with %s, which T2 wrote, and T2 failed",
		in.readText(r), in.h.keyName(r.key()), in.h.name(w.val)), r.txn, w.txn)
}

func (in *inference) dirtyEvidence(spine, failed, write int32) Evidence {
	s, f, w := in.h.ops[spine], in.h.ops[failed], in.h.ops[write]
	return in.keyEvidence(s.key(), fmt.Sprintf(
		"T2 appended %s to key %s, on top of %s, which T1 had appended, and T1 failed; T3 read %s",
		in.h.name(w.val), in.h.keyName(s.key()), in.h.name(f.val), in.readText(s)), f.txn, w.txn, s.txn)
}

func (in *inference) staleEvidence(read, write int32) Evidence {
	r, w := in.h.ops[read], in.h.ops[write]
	return in.keyEvidence(r.key(), fmt.Sprintf(
		"T1 read %s from key %s, without %s, though T2, which wrote that, was acknowledged at %d, before T1 was begun at %d",
		in.readText(r), in.h.keyName(r.key()), in.h.name(w.val), in.h.complete(w.txn), in.h.invoke(r.txn)), r.txn, w.txn)
}

func (in *inference) lostEvidence(write, latest int32) Evidence {
	w, r := in.h.ops[write], in.h.ops[latest]
	return in.keyEvidence(w.key(), fmt.Sprintf(
		"T1 appended %s to key %s and was acknowledged at %d, but nobody ever read it; T2, begun at %d, read %s",
		in.h.name(w.val), in.h.keyName(w.key()), in.h.complete(w.txn), in.h.invoke(r.txn), in.readText(r)), w.txn, r.txn)
}

func (in *inference) cyclicEvidence(s *registerState, cycle []versionEdge) Evidence {
	name := func(v version) string {
		if v == initial {
			return "the initial state"
		}
		return in.h.name(s.table.entries[v-1].elem)
	}
	var txns []int32
	number := map[int32]int{}
	who := func(t int32) string {
		if number[t] == 0 {
			txns = append(txns, t)
			number[t] = len(txns)
		}
		return fmt.Sprintf("T%d", number[t])
	}
	var words []string
	for _, e := range cycle {
		words = append(words, fmt.Sprintf("%s is before %s, because %s", name(e.from), name(e.to), e.reason(who)))
	}
	return in.keyEvidence(s.key, fmt.Sprintf("of key %s, %s: a contradiction",
		in.h.keyName(s.key), strings.Join(words, "; ")), txns...)
}

func (e versionEdge) reason(who func(int32) string) string {
	switch e.source {
	case writeFollowsRead:
		return fmt.Sprintf("%s read the one and then wrote the other", who(e.first))
	case sequentialKey:
		return fmt.Sprintf("the same client ran %s before %s, and keys are taken to be sequential", who(e.first), who(e.second))
	case linearizableKey:
		return fmt.Sprintf("%s was acknowledged before %s was begun, and keys are taken to be linearizable", who(e.first), who(e.second))
	default:
		return "nothing had been written"
	}
}
