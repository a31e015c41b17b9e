package cycle_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	. "assay/check/cycle"
	"assay/history"
	"assay/internal/expect"
)

// naive derives the same as the checker from lists, by the definitions and
// with no thought for speed.
type naive struct {
	txns []Txn
	// kinds has for each pair of transactions why the first is before the
	// second.
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

// key adds the edges of one list: the order of its elements is that of the
// longest read, of several the last, and then, in no order, those of the other
// appends.
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

// components returns for each transaction a number that it shares with those
// that are in cycles with it.
func (n *naive) components() []int {
	size := len(n.txns)
	reach := make([][]bool, size)
	for a := range reach {
		reach[a] = make([]bool, size)
		for b := range reach {
			reach[a][b] = len(n.kinds[[2]int{a, b}]) > 0
		}
	}
	for m := range reach {
		for a := range reach {
			for b := range reach {
				reach[a][b] = reach[a][b] || reach[a][m] && reach[m][b]
			}
		}
	}
	number := make([]int, size)
	for a := range number {
		number[a] = a
		for b := range a {
			if reach[a][b] && reach[b][a] {
				number[a] = number[b]
				break
			}
		}
	}
	return number
}

// cycles calls visit with the kinds of the edges of each cycle, in each way in
// which they can be read. An rw edge counts only between two that have no
// stronger dependency.
func (n *naive) cycles(visit func(first int, kinds []string)) {
	var path []int
	var kinds []string
	var extend func()
	extend = func() {
		last := path[len(path)-1]
		for b := path[0]; b < len(n.txns); b++ {
			if b != path[0] && slices.Contains(path, b) {
				continue
			}
			have := n.kinds[[2]int{last, b}]
			for kind := range have {
				if kind == "rw" && (have["ww"] || have["wr"]) {
					continue
				}
				kinds = append(kinds, kind)
				if b == path[0] {
					visit(b, kinds)
				} else {
					path = append(path, b)
					extend()
					path = path[:len(path)-1]
				}
				kinds = kinds[:len(kinds)-1]
			}
		}
	}
	for a := range n.txns {
		path = []int{a}
		extend()
	}
}

// names returns the anomalies of each component that do not follow from
// others there.
func (n *naive) names(extra string) []string {
	number := n.components()
	there := make([]map[string]bool, len(n.txns))
	n.cycles(func(first int, kinds []string) {
		c := number[first]
		if there[c] == nil {
			there[c] = map[string]bool{}
		}
		var e Evidence
		for _, k := range kinds {
			e.Edges = append(e.Edges, Edge{Kind: k})
		}
		there[c][classifyEdges(e)] = true
	})
	var all []string
	for _, t := range there {
		has := func(names ...string) bool {
			return slices.ContainsFunc(names, func(s string) bool { return t[s] })
		}
		only := func(name string, unless ...string) {
			if has(name) && !has(unless...) && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		x := "-" + extra
		only("G0")
		only("G1c", "G0")
		only("G-single-item")
		only("G-nonadjacent-item", "G-single-item")
		only("G2-item", "G-single-item", "G-nonadjacent-item")
		only("G0"+x, "G0")
		only("G1c"+x, "G0", "G1c", "G0"+x)
		only("G-single-item"+x, "G-single-item")
		only("G-nonadjacent-item"+x, "G-single-item", "G-nonadjacent-item", "G-single-item"+x)
		only("G2-item"+x, "G-single-item", "G-nonadjacent-item", "G2-item", "G-single-item"+x, "G-nonadjacent-item"+x)
	}
	slices.Sort(all)
	return all
}

// TestNamesByDefinition compares the cycles that are named, and every edge of
// the evidence, with what the definitions give.
func TestNamesByDefinition(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(1500) {
		txns := small(t, seed, false)
		if seed%3 == 0 {
			txns = busy(t, seed)
		}
		n := newNaive(txns, "realtime")
		want := n.names("realtime")
		r := Check(context.Background(), build(t, txns), StrictSerializable, Options{})
		var got []string
		for _, e := range r.Evidence {
			if len(e.Edges) == 0 {
				continue
			}
			got = append(got, e.Anomaly)
			for _, edge := range e.Edges {
				a, b := position(txns, e.Txns[edge.From].ID), position(txns, e.Txns[edge.To].ID)
				if !n.kinds[[2]int{a, b}][edge.Kind] {
					t.Fatalf("seed %d: no %s edge from T%d to T%d: %s%s", seed, edge.Kind,
						e.Txns[edge.From].ID, e.Txns[edge.To].ID, edge.Text, show(txns))
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: found %v, want %v%s", seed, got, want, show(txns))
		}
		seen[strings.Join(got, " ")]++
	}
	t.Log(seen)
}

func position(txns []Txn, id int64) int {
	return slices.IndexFunc(txns, func(t Txn) bool { return t.ID == id })
}

// busy returns a history of seven transactions of a database that keeps
// nothing or little.
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
