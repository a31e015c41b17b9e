package cycle

import (
	"context"
	"math/rand/v2"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

// sessions is the history of a serial database with the given number of clients. Their transactions
// read and write four registers each, mostly a few common ones.
func sessions(t *testing.T, txns, clients int) *History {
	t.Helper()
	r := rand.New(rand.NewPCG(7, uint64(clients)))
	var b Builder
	state := map[int64]int64{}
	for id := range int64(txns) {
		x := Txn{ID: id, Process: int32(r.IntN(clients)), Invoke: 2 * id, Complete: 2*id + 1, Outcome: history.Committed}
		for i := range int64(4) {
			key := int64(r.IntN(1 + r.IntN(200)))
			op := Op{Kind: ReadNothing, Key: key}
			if r.IntN(2) == 0 {
				state[key] = 8*id + i + 1
				op.Kind, op.Value = Write, state[key]
			} else if state[key] > 0 {
				op.Kind, op.Value = ReadValue, state[key]
			}
			x.Ops = append(x.Ops, op)
		}
		expect.NoError(t, b.Add(x))
	}
	return b.History()
}

// judged counts the comparisons while a history is judged by a rule, which it must satisfy.
func (h *History) judged(t *testing.T, j judgement) int64 {
	t.Helper()
	in := newInference(h, Options{SequentialKeys: j.rule == causal})
	ctx := context.Background()
	if !in.run(ctx) {
		t.Fatal("stopped")
	}
	keys, _ := in.accesses(ctx)
	v := in.newVisibility(ctx, keys, j)
	if cycle := v.judge(nil); cycle != nil {
		t.Fatalf("a cycle: %v", cycle)
	}
	return v.steps
}

// Causal consistency takes O(n k) steps for n operations and k clients.
func TestCausalStepsAreLinear(t *testing.T) {
	for _, clients := range []int{4, 16, 40} {
		for _, txns := range []int{1000, 4000, 16000} {
			h := sessions(t, txns, clients)
			steps, bound := h.judged(t, judgementOf(Causal)), int64(len(h.ops)*clients)
			if steps == 0 || steps > bound {
				t.Errorf("%d steps for %d operations of %d clients, want %d at most", steps, len(h.ops), clients, bound)
			}
		}
	}
}

// A transaction that reads everything that another wrote is compared with it once, and not each
// read with each write.
func TestAtomicStepsAreFew(t *testing.T) {
	const keys = 2000
	var b Builder
	writes, reads := Txn{Outcome: history.Committed}, Txn{Outcome: history.Committed, Process: 1}
	for key := range int64(keys) {
		writes.Ops = append(writes.Ops, Op{Kind: Write, Key: key, Value: 1})
		reads.Ops = append(reads.Ops, Op{Kind: ReadValue, Key: key, Value: 1})
	}
	for _, x := range []Txn{writes, reads} {
		expect.NoError(t, b.Add(x))
	}
	h := b.History()
	for _, m := range []Model{ReadAtomic, MonotonicAtomicView} {
		if steps := h.judged(t, judgementOf(m)); steps == 0 || steps > 2*keys {
			t.Errorf("%s: %d steps for %d reads", m, steps, keys)
		}
	}
}

// An order of all transactions exists exactly if the edges, real time included, have no cycle.
func TestSerialOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found := map[bool]int{}
	for range 4000 {
		var b Builder
		n := 2 + r.IntN(6)
		for i := range n {
			begin := r.Int64N(12)
			outcome := []history.Outcome{history.Committed, history.Committed, history.Unknown, history.Failed}[r.IntN(4)]
			expect.NoError(t, b.Add(Txn{ID: int64(i), Process: int32(r.IntN(3)), Invoke: begin, Complete: begin + r.Int64N(6), Outcome: outcome}))
		}
		h := b.History()
		in := newInference(h, Options{})
		in.edges = newEdgeList(n)
		for range r.IntN(5) {
			if r.IntN(5) == 0 {
				in.edges.join([]int32{int32(r.IntN(n))}, []int32{int32(r.IntN(n))}, rw)
				continue
			}
			in.edges.add(int32(r.IntN(n)), int32(r.IntN(n)), ww)
		}
		ctx := context.Background()
		for _, real := range []bool{false, true} {
			got, _ := in.serialOrder(ctx, real)
			if real {
				in.edges.addRealtime(h)
			}
			want := true
			in.edges.build().components(ctx, ww|rw|realtime, func(members []int32) { want = want && len(members) == 1 })
			if got != want {
				t.Fatalf("an order was found: %v, want %v; edges to %v from %v", got, want, in.edges.build().to, in.edges.build().start)
			}
			found[got]++
		}
	}
	if found[true] < 500 || found[false] < 500 {
		t.Errorf("%v", found)
	}
}

func TestRealTimeTakesNoEdges(t *testing.T) {
	h := sessions(t, 500, 4)
	in := newInference(h, Options{})
	ctx := context.Background()
	if !in.run(ctx) {
		t.Fatal("stopped")
	}
	edges := len(in.edges.edges)
	if found, _ := in.serialOrder(ctx, true); !found || len(in.edges.edges) != edges {
		t.Errorf("%d edges, and %d before", len(in.edges.edges), edges)
	}
	if r := Check(ctx, h, StrictSerializable, Options{}); r.Verdict != check.Valid {
		t.Errorf("%v: %s", r.Verdict, r.Reason)
	}
}
