package cycle_test

import (
	"context"
	"slices"
	"testing"

	. "assay/check/cycle"
	"assay/history"
	"assay/internal/expect"
)

// naive derives the checker's results for lists from the definitions, without any thought for
// speed.
type naive struct {
	txns []Txn
	// kinds has, for each pair of transactions, why the first is before the second.
	kinds map[[2]int]map[string]bool
}

func possible(t *Txn) bool {
	return t.Outcome == history.Committed || t.Outcome == history.Unknown
}

func newNaive(txns []Txn, extra string) *naive {
	n := &naive{txns: txns, kinds: map[[2]int]map[string]bool{}}
	keys := map[int64]bool{}
	for _, t := range txns {
		for _, op := range t.Ops {
			keys[op.Key] = true
		}
	}
	for k := range keys {
		n.key(k)
	}
	for a := range txns {
		for b := range txns {
			x, y := &txns[a], &txns[b]
			if extra == "realtime" && x.Outcome == history.Committed && possible(y) && x.Complete < y.Invoke {
				n.add(a, b, extra)
			}
		}
	}
	return n
}

func (n *naive) add(a, b int, kind string) {
	if a == b {
		return
	}
	if n.kinds[[2]int{a, b}] == nil {
		n.kinds[[2]int{a, b}] = map[string]bool{}
	}
	n.kinds[[2]int{a, b}][kind] = true
}

// key adds the edges of one list. The last of its longest reads gives the order of its elements.
// The other appends follow in no order.
func (n *naive) key(k int64) {
	writer := map[int64]int{}
	var spine []int64
	for i := range n.txns {
		for _, op := range n.txns[i].Ops {
			if op.Key != k {
				continue
			}
			if w, twice := writer[op.Value]; op.Kind == Append && (!twice || !possible(&n.txns[w])) {
				writer[op.Value] = i
			}
			if n.txns[i].Outcome == history.Committed && len(op.List) >= len(spine) {
				spine = op.List
			}
		}
	}
	effective := func(e int64) (int, bool) {
		w, known := writer[e]
		return w, known && possible(&n.txns[w])
	}
	var order, rest []int64
	for _, e := range spine {
		if !slices.Contains(order, e) {
			order = append(order, e)
		}
	}
	for e := range writer {
		if !slices.Contains(order, e) {
			rest = append(rest, e)
		}
	}
	// next are the elements that may come right after the first i of order.
	next := func(i int) []int64 {
		for ; i < len(order); i++ {
			if _, ok := effective(order[i]); ok {
				return order[i : i+1]
			}
		}
		return rest
	}
	for i, e := range order {
		if a, ok := effective(e); ok {
			for _, f := range next(i + 1) {
				if b, ok := effective(f); ok {
					n.add(a, b, "ww")
				}
			}
		}
	}
	for r := range n.txns {
		if n.txns[r].Outcome != history.Committed {
			continue
		}
		for _, op := range n.txns[r].Ops {
			if op.Key != k || op.Kind == Append {
				continue
			}
			seen := 0
			if len(op.List) > 0 {
				last := op.List[len(op.List)-1]
				if w, ok := effective(last); ok {
					n.add(w, r, "wr")
				}
				if seen = slices.Index(order, last) + 1; seen == 0 {
					continue
				}
			}
			for _, f := range next(seen) {
				if b, ok := effective(f); ok {
					n.add(r, b, "rw")
				}
			}
		}
	}
}

// Every edge of the evidence agrees with the definitions.
func TestEdgesByDefinition(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(1500) {
		txns := small(t, seed, false)
		if seed%3 == 0 {
			txns = busy(t, seed)
		}
		n := newNaive(txns, "realtime")
		r := Check(context.Background(), build(t, txns), StrictSerializable, Options{})
		for _, e := range r.Evidence {
			for _, edge := range e.Edges {
				seen[edge.Kind]++
				a, b := position(txns, e.Txns[edge.From].ID), position(txns, e.Txns[edge.To].ID)
				if !n.kinds[[2]int{a, b}][edge.Kind] {
					t.Fatalf("seed %d: no %s edge from T%d to T%d: %s%s", seed, edge.Kind,
						e.Txns[edge.From].ID, e.Txns[edge.To].ID, edge.Text, show(txns))
				}
			}
		}
	}
	for _, kind := range []string{"ww", "wr", "rw", "realtime"} {
		if seen[kind] < 50 {
			t.Errorf("only %d edges are %s", seen[kind], kind)
		}
	}
}

func position(txns []Txn, id int64) int {
	return slices.IndexFunc(txns, func(t Txn) bool { return t.ID == id })
}

func busy(t *testing.T, seed uint64) []Txn {
	t.Helper()
	var txns []Txn
	err := simulate(simulation{
		Level: isolationLevel(1 + seed%3), Seed: seed, Txns: 7, Clients: 4, Keys: 3, MaxOps: 3,
	}, func(x Txn) error {
		x.Ops = slices.Clone(x.Ops)
		txns = append(txns, x)
		return nil
	})
	expect.NoError(t, err)
	return txns
}
