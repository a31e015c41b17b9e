package cycle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// relation is a graph as a table: why a is before b.
type relation [][]edgeKind

func newRelation(n int) relation {
	r := make(relation, n)
	for a := range r {
		r[a] = make([]edgeKind, n)
	}
	return r
}

// cycles calls visit with the edge kinds of each cycle of at least two nodes, in each reading; rw
// counts only without a dependency.
func (r relation) cycles(visit func(nodes []int, kinds []edgeKind)) {
	var extend func(nodes []int, kinds []edgeKind)
	extend = func(nodes []int, kinds []edgeKind) {
		last := nodes[len(nodes)-1]
		for b := nodes[0]; b < len(r); b++ {
			if b == last || b != nodes[0] && slices.Contains(nodes, b) {
				continue
			}
			for kind := ww; kind <= realtime; kind <<= 1 {
				if r[last][b]&kind == 0 || kind == rw && r[last][b]&dependencies != 0 {
					continue
				}
				if more := append(slices.Clip(kinds), kind); b == nodes[0] {
					visit(nodes, more)
				} else {
					extend(append(slices.Clip(nodes), b), more)
				}
			}
		}
	}
	for a := range r {
		extend([]int{a}, nil)
	}
}

func nameOf(kinds []edgeKind) anomaly {
	var all edgeKind
	rws, adjacent := 0, false
	for i, k := range kinds {
		all |= k
		if k == rw {
			rws++
			adjacent = adjacent || kinds[(i+1)%len(kinds)] == rw
		}
	}
	plain := g0
	switch {
	case rws == 1:
		plain = gSingleItem
	case adjacent:
		plain = g2Item
	case rws > 1:
		plain = gNonadjacentItem
	case all&wr != 0:
		plain = g1c
	}
	return variant(plain, all&(process|realtime))
}

// least returns the anomalies of s that follow from no other in s. A cycle follows from one of the
// same or a worse kind that needs no more than it.
func least(s anomalySet) anomalySet {
	kinds := []anomaly{g0, g1c, gSingleItem, gNonadjacentItem, g2Item}
	worse := [][2]int{{0, 1}, {2, 3}, {2, 4}, {3, 4}, {0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}}
	needs := []edgeKind{0, process, realtime}
	rest := s
	for _, w := range worse {
		for i, x := range needs {
			for j, y := range needs {
				a, b := variant(kinds[w[0]], x), variant(kinds[w[1]], y)
				if a != b && i <= j && s.has(a) {
					rest &^= set(b)
				}
			}
		}
	}
	return rest
}

func TestNamesOfRandomGraphs(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(30000) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := 2 + r.IntN(6)
		extra := []edgeKind{0, process, realtime}[r.IntN(3)]
		table := newRelation(n)
		l := newEdgeList(n)
		for range r.IntN(3 * n) {
			a, b := r.IntN(n), r.IntN(n)
			kind := []edgeKind{ww, wr, rw, rw, rw, extra}[r.IntN(6)]
			// Edges of time alone make no cycle.
			if a == b || kind == 0 || kind == extra && a > b {
				continue
			}
			table[a][b] |= kind
		}
		for a := range table {
			for b, kinds := range table[a] {
				addKinds(l, int32(a), int32(b), kinds, r.IntN(3) == 0)
			}
		}
		want := wantNames(table)
		in := &inference{h: &History{}, edges: l}
		got := namesIn(t, in, extra, table)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: found %v, want %v in %d", seed, got, want, table)
		}
		for _, w := range want {
			seen[w]++
		}
	}
	for a := range foundAnomalies {
		if table := fmt.Sprint(a); len(loopNames()[a]) > 0 && seen[table] < 5 {
			t.Errorf("%v occurred only %d times", a, seen[table])
		}
	}
}

// addKinds adds the edges from a to b. Some go over auxiliary nodes, as those of time do, and rw
// edges if there are many.
func addKinds(l *edgeList, a, b int32, kinds edgeKind, over bool) {
	for kind := ww; kind <= realtime; kind <<= 1 {
		switch {
		case kinds&kind == 0:
		case over && (kind == realtime || kind == rw && kinds&dependencies == 0):
			l.through([]int32{a}, []int32{b}, kind)
		default:
			l.add(a, b, kind)
		}
	}
}

func loopNames() map[anomaly]string {
	names := map[anomaly]string{}
	for _, plain := range []anomaly{g0, g1c, gSingleItem, gNonadjacentItem, g2Item} {
		for _, extra := range []edgeKind{0, process, realtime} {
			names[variant(plain, extra)] = variant(plain, extra).String()
		}
	}
	return names
}

// wantNames lists, by component, the anomalies that do not follow from the others.
func wantNames(table relation) []string {
	var all []struct {
		nodes []int
		found anomalySet
	}
	table.cycles(func(nodes []int, kinds []edgeKind) {
		all = append(all, struct {
			nodes []int
			found anomalySet
		}{nodes, set(nameOf(kinds))})
	})
	for merged := true; merged; { // cycles that share a node are in one component
		merged = false
		for i := range all {
			for j := i + 1; j < len(all); j++ {
				if slices.ContainsFunc(all[i].nodes, func(v int) bool { return slices.Contains(all[j].nodes, v) }) {
					all[i].nodes = append(slices.Clip(all[i].nodes), all[j].nodes...)
					all[i].found |= all[j].found
					all = slices.Delete(all, j, j+1)
					merged = true
					j--
				}
			}
		}
	}
	var names []string
	for _, c := range all {
		names = append(names, least(c.found).names()...)
	}
	slices.Sort(names)
	return names
}

// namesIn lists the findings, each as often as components have it, and checks each cycle with the
// table.
func namesIn(t *testing.T, in *inference, extra edgeKind, table relation) []string {
	t.Helper()
	g := in.edges.build()
	k := cutter{g: g, txns: in.edges.txns}
	var names []string
	g.components(context.Background(), ww|wr|rw|extra, func(members []int32) {
		if len(members) == 1 {
			return
		}
		n := &namer{search: newSearch(context.Background(), k.cut(members)), in: in, best: map[anomaly]loop{}}
		n.nameCycles(0)
		if extra != 0 {
			n.nameCycles(extra)
		}
		for a, l := range n.best {
			names = append(names, a.String())
			if nameOf(l.kinds) != a || !l.simple() || len(l.txns) != len(l.kinds) {
				t.Fatalf("%v is not the name of %v", a, l)
			}
			for i, v := range l.txns {
				if w := l.txns[(i+1)%len(l.txns)]; table[v][w]&l.kinds[i] == 0 {
					t.Fatalf("no %v edge from %d to %d in %d", l.kinds[i], v, w, table)
				}
			}
		}
	})
	slices.Sort(names)
	return names
}
