package cycle

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

func TestBuilderErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		txn    Txn
		reason string
	}{
		{"outcome", Txn{Outcome: 9}, "not an outcome"},
		{"time", Txn{Outcome: history.Committed, Invoke: 2, Complete: 1}, "before it was invoked"},
		{"kind", Txn{Ops: []Op{{Key: 1}}}, "has no kind"},
		{"kind beyond", Txn{Ops: []Op{{Kind: ReadNothing + 1}}}, "has no kind"},
		{"key", Txn{Ops: []Op{{Kind: Append, Key: math.MinInt64 + 5}}}, "has a number below"},
		{"value", Txn{Ops: []Op{{Kind: Append, Value: math.MinInt64 + 5}}}, "has a number below"},
		{"element", Txn{Ops: []Op{{Kind: ReadList, List: []int64{1, math.MinInt64 + 5}}}}, "read the element"},
		{"a list and a register", Txn{Ops: []Op{{Kind: Append, Key: 7}, {Kind: Write, Key: 7}}}, "as a list and as a register"},
		{"a list and a register, far apart", Txn{Ops: append(slices.Repeat([]Op{{Kind: Append, Key: 7}}, 2*fewOperations), Op{Kind: Write, Key: 7})},
			"operation 32 uses key 7 as a list and as a register"},
		{"a list before, of many operations", Txn{Ops: append(slices.Repeat([]Op{{Kind: Append, Key: 7}}, 2*fewOperations), Op{Kind: Write, Key: 1})},
			"operation 32 uses key 1 as a list and as a register"},
		{"a list before", Txn{Ops: []Op{{Kind: ReadValue, Key: 1}}}, "key 1 as a list and as a register"},
		{"a register before", Txn{Ops: []Op{{Kind: ReadList, Key: 2, List: []int64{1}}}}, "key 2 as a list and as a register"},
	} {
		var b Builder
		expect.NoError(t, b.Add(Txn{Ops: []Op{{Kind: Append, Key: 1}, {Kind: Write, Key: 2}}}))
		c.txn.ID = 42
		err := b.Add(c.txn)
		var bad *InputError
		if !errors.As(err, &bad) || bad.ID != 42 || !strings.Contains(bad.Reason, c.reason) {
			t.Errorf("%s: %v, want ...%s...", c.name, err, c.reason)
		}
		if h := b.History(); h.Len() != 1 || len(h.ops) != 2 {
			t.Errorf("%s: something of it was added", c.name)
		}
	}
	// ReadNothing fits both a list and a register.
	var b Builder
	for _, op := range []Op{{Kind: ReadNothing}, {Kind: ReadList}, {Kind: Write}, {Kind: ReadList}} {
		if err := b.Add(Txn{Outcome: history.Committed, Ops: []Op{op}}); err != nil {
			t.Error(err)
		}
	}
}

// A Builder returns what it was given, over dense, sparse, negative and string keys, and lists that
// grow, shrink and differ.
func TestBuilderKeeps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b Builder
	keys := []int64{0, 1, 2, 700, 5000, 1 << 40, -3, math.MinInt64 + 1<<32, b.Symbol("a"), b.Symbol("b"), b.Symbol("a")}
	for i := range int64(3000) {
		keys = append(keys, 2*i)
	}
	var want []Txn
	for id := range int64(20000) {
		txn := Txn{ID: id, Process: int32(id % 7), Invoke: r.Int64N(100), Complete: 100 + id, Outcome: history.Committed}
		for range r.IntN(4) {
			op := Op{Kind: Append, Key: keys[r.IntN(min(len(keys), 1+int(id)))], Value: r.Int64()}
			if r.IntN(2) == 0 {
				op = Op{Kind: ReadList, Key: op.Key}
				for v := range int64(1 + r.IntN(20)) {
					op.List = append(op.List, v)
				}
				if r.IntN(5) == 0 {
					op.List[r.IntN(len(op.List))] = 99
				}
			}
			txn.Ops = append(txn.Ops, op)
		}
		want = append(want, txn)
		expect.NoError(t, b.Add(txn))
	}
	h := b.History()
	if h.Len() != len(want) {
		t.Fatalf("%d transactions, want %d", h.Len(), len(want))
	}
	for i, w := range want {
		txn := int32(i)
		if h.id(txn) != w.ID || h.process(txn) != w.Process || h.invoke(txn) != w.Invoke || h.complete(txn) != w.Complete {
			t.Fatalf("transaction %d differs", i)
		}
		got := h.opsOf(txn)
		if len(got) != len(w.Ops) {
			t.Fatalf("transaction %d has %d operations, want %d", i, len(got), len(w.Ops))
		}
		for j, op := range got {
			o := w.Ops[j]
			if op.kind() != o.Kind || h.keys[op.key()] != o.Key || op.txn != txn || !slices.Equal(h.list(op), o.List) ||
				o.Kind == Append && op.val != o.Value {
				t.Fatalf("operation %d of transaction %d differs: %+v, want %+v", j, i, op, o)
			}
		}
	}
	if seen := slices.Clone(h.keys); len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(h.keys) {
		t.Error("a key has two dense numbers")
	}
	if got := h.name(b.Symbol("x")); got == "" || h.name(-5) != "-5" || h.name(math.MinInt64+1) != `"b"` {
		t.Errorf("names: %s %s %s", got, h.name(-5), h.name(math.MinInt64+1))
	}
}

// The reads of one list take little more memory than the longest.
func TestListsShare(t *testing.T) {
	var b Builder
	var list []int64
	for v := range int64(1000) {
		list = append(list, v)
		expect.NoError(t, b.Add(Txn{Outcome: history.Committed, Ops: []Op{{Kind: ReadList, List: list}}}))
	}
	room := 0
	for _, longest := range b.History().longest {
		room += cap(longest)
	}
	if room > 6000 {
		t.Errorf("there is room for %d elements of a list of 1000", room)
	}
}
