package cycle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/history"
	"assay/internal/expect"
)

// partition returns, for each transaction, the lowest one in cycles with it.
func partition(l *edgeList) []int32 {
	least := make([]int32, l.txns)
	l.build().components(context.Background(), ww|wr|rw|process|realtime, func(members []int32) {
		txns := slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(members), func(v int32) bool { return v >= l.txns })))
		for _, v := range txns {
			least[v] = txns[0]
		}
	})
	return least
}

// An auxiliary node between two sets means the same as all the edges that it stands for.
func TestJoin(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 9))
		const n = 60
		pick := func() []int32 {
			var set []int32
			for v := range int32(n) {
				if r.IntN(2) == 0 {
					set = append(set, v)
				}
			}
			return set
		}
		before, after := pick(), pick()
		if seed%2 == 0 { // none on both sides, so that the rest decides
			after = slices.DeleteFunc(after, func(v int32) bool { return slices.Contains(before, v) })
		}
		few, all := newEdgeList(n), newEdgeList(n)
		for range r.IntN(n / 2) {
			a, b := r.Int32N(n), r.Int32N(n)
			few.add(a, b, ww)
			all.add(a, b, ww)
		}
		few.join(before, after, rw)
		for _, a := range before {
			for _, b := range after {
				all.add(a, b, rw)
			}
		}
		if pairs := len(before) * len(after); pairs > fewPairs+4*(len(before)+len(after)) && len(few.edges) > pairs/2 {
			t.Fatalf("seed %d: %d edges instead of %d", seed, len(few.edges), len(all.edges))
		}
		if got, want := partition(few), partition(all); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

// The order of time over auxiliary nodes means the same as all its pairs.
func TestRealtimeNodes(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 10))
		var b Builder
		const n = 25
		for id := range int64(n) {
			at := r.Int64N(40)
			if err := b.Add(Txn{
				ID: id, Process: int32(id), Invoke: at, Complete: at + r.Int64N(15), Outcome: history.Outcome(r.IntN(4)),
			}); err != nil {
				t.Fatal(err)
			}
		}
		h := b.History()
		l := newEdgeList(n)
		l.addRealtime(h)
		g := l.build()
		if len(l.edges) > 3*n {
			t.Fatalf("seed %d: %d edges for %d transactions", seed, len(l.edges), n)
		}
		for a := range int32(n) {
			reached := map[int32]bool{}
			follow(g, a, reached)
			for c := range int32(n) {
				want := h.committed(a) && h.possible(c) && h.complete(a) < h.invoke(c)
				if reached[c] != want && a != c {
					t.Fatalf("seed %d: from %d to %d: %v, want %v", seed, a, c, reached[c], want)
				}
			}
		}
	}
}

func follow(g *graph, v int32, reached map[int32]bool) {
	for e := g.start[v]; e < g.start[v+1]; e++ {
		if w := g.to[e]; !reached[w] {
			reached[w] = true
			follow(g, w, reached)
		}
	}
}

// A key on which all transactions contradict each other does not take quadratic time.
func TestHotKey(t *testing.T) {
	const n = 20000
	for _, registers := range []bool{false, true} {
		var b Builder
		for id := range int64(n) {
			op := Op{Kind: Append, Key: 1, Value: id}
			if registers {
				op.Kind = Write
			}
			err := b.Add(Txn{
				ID: id, Invoke: id, Complete: id + n, Outcome: history.Committed,
				Ops: []Op{{Kind: ReadNothing, Key: 1}, op},
			})
			expect.NoError(t, err)
		}
		r := Check(context.Background(), b.History(), StrictSerializable, Options{})
		if got := fmt.Sprint(r.Anomalies); got != "[G2-item lost-update]" {
			t.Errorf("registers %v: found %s", registers, got)
		}
		if r.Size.Dependencies > 4*n || r.Size.Components != 1 {
			t.Errorf("registers %v: %+v", registers, r.Size)
		}
		for _, e := range r.Evidence {
			if len(e.Edges) > 2 {
				t.Errorf("a cycle of %d where two suffice", len(e.Edges))
			}
		}
	}
}
