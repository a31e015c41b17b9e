package acyclic

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// problem is a random graph with alternatives.
type problem struct {
	nodes int
	edges []Edge
	sides [][2][]Edge
}

func random(r *rand.Rand) problem {
	p := problem{nodes: 3 + r.IntN(6)}
	edge := func() Edge {
		a, b := int32(r.IntN(p.nodes)), int32(r.IntN(p.nodes-1))
		if b >= a {
			b++
		}
		return Edge{From: a, To: b, Private: r.IntN(3) == 0}
	}
	for range r.IntN(p.nodes) {
		p.edges = append(p.edges, edge())
	}
	for range 1 + r.IntN(7) {
		var sides [2][]Edge
		for i := range sides {
			for range 1 + r.IntN(3) {
				sides[i] = append(sides[i], edge())
			}
		}
		p.sides = append(p.sides, sides)
	}
	return p
}

// forbidden looks for a forbidden cycle by the definition: the transitive closure of the public
// edges closes one of the edges.
func forbidden(nodes int, edges []Edge) bool {
	reach := make([][]bool, nodes)
	for v := range reach {
		reach[v] = make([]bool, nodes)
	}
	for _, e := range edges {
		if !e.Private {
			reach[e.From][e.To] = true
		}
	}
	for m := range nodes {
		for a := range nodes {
			for b := range nodes {
				reach[a][b] = reach[a][b] || reach[a][m] && reach[m][b]
			}
		}
	}
	for _, e := range edges {
		if reach[e.To][e.From] {
			return true
		}
	}
	return false
}

// possible tries all choices of the alternatives in which.
func (p problem) possible(which []int32) bool {
	for choice := range 1 << len(which) {
		edges := append([]Edge(nil), p.edges...)
		for i, v := range which {
			edges = append(edges, p.sides[v][choice>>i&1]...)
		}
		if !forbidden(p.nodes, edges) {
			return true
		}
	}
	return false
}

func TestSolveAgreesWithAllChoices(t *testing.T) {
	counts := map[Result]int{}
	for seed := range uint64(5000) {
		p := random(rand.New(rand.NewPCG(seed, 1)))
		var all []int32
		for v := range p.sides {
			all = append(all, int32(v))
		}
		cycle := Cycle(context.Background(), p.nodes, p.edges)
		cycles := Cycles(context.Background(), p.nodes, p.edges, make([]int64, p.nodes), 2)
		if bad := forbidden(p.nodes, p.edges); (cycle != nil) != bad || (cycles != nil) != bad {
			t.Fatalf("seed %d: cycle %v and cycles %v of %v", seed, cycle, cycles, p.edges)
		}
		if cycle != nil {
			for _, c := range append(cycles, cycle) {
				checkCycle(t, c)
			}
			continue
		}
		s := New(p.nodes, p.edges, make([]int64, p.nodes))
		got := p.solve(s)
		counts[got]++
		want := p.possible(all)
		if want != (got == Possible) || !want != (got == Impossible) {
			t.Fatalf("seed %d: %v, want possible %v", seed, got, want)
		}
		if got == Impossible {
			if p.possible(s.Core()) {
				t.Fatalf("seed %d: the core %v is possible", seed, s.Core())
			}
			continue
		}
		checkPossible(t, seed, p, s)
	}
	if counts[Possible] < 500 || counts[Impossible] < 500 {
		t.Errorf("only %v", counts)
	}
}

// solve decides every alternative, and then forbids the choices that close a private edge.
func (p problem) solve(s *Solver) Result {
	for i, sides := range p.sides {
		for side := range sides {
			for j := range sides[side] {
				sides[side][j].Tag = int32(2*i + side) // its literal
			}
		}
		s.Add(slices.Clone(sides[0]), slices.Clone(sides[1]))
	}
	return s.Solve(context.Background(), func() (Literal, bool) {
		if v, some := s.Undecided(0); some {
			return Literal(2 * v), true
		}
		edges, rank := append([]Edge(nil), p.edges...), make([]int64, p.nodes)
		for i := range edges {
			edges[i].Tag = -1
		}
		for v := range p.sides {
			edges = append(edges, p.sides[v][sideOf(int32(v), s.value[v])&1]...)
		}
		for v := range rank {
			rank[v] = int64(s.Position(int32(v)))
		}
		for _, cycle := range Cycles(context.Background(), p.nodes, edges, rank, 4) {
			var sides []Literal
			for _, e := range cycle {
				if e.Tag >= 0 {
					sides = append(sides, Literal(e.Tag))
				}
			}
			s.Forbid(sides)
		}
		return 0, false
	})
}

func checkPossible(t *testing.T, seed uint64, p problem, s *Solver) {
	t.Helper()
	edges := append([]Edge(nil), p.edges...)
	for v := range p.sides {
		if s.value[v] == 0 {
			t.Fatalf("seed %d: %d is not chosen", seed, v)
		}
		edges = append(edges, p.sides[v][sideOf(int32(v), s.value[v])&1]...)
	}
	if forbidden(p.nodes, edges) {
		t.Fatalf("seed %d: what was chosen has a cycle", seed)
	}
	for _, e := range edges {
		if !e.Private && s.Position(e.From) > s.Position(e.To) {
			t.Fatalf("seed %d: the order breaks %v", seed, e)
		}
	}
}

func checkCycle(t *testing.T, cycle []Edge) {
	t.Helper()
	private := 0
	for i, e := range cycle {
		if next := cycle[(i+1)%len(cycle)]; e.To != next.From {
			t.Fatalf("%v is no cycle", cycle)
		}
		if e.Private {
			private++
		}
	}
	if private > 1 {
		t.Fatalf("%v has %d private edges", cycle, private)
	}
}

func TestSolveEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := New(2, nil, make([]int64, 2))
	v := s.Add([]Edge{{From: 0, To: 1}}, []Edge{{From: 1, To: 0}})
	got := s.Solve(ctx, func() (Literal, bool) { return Literal(2 * v), true })
	if got != Undecided {
		t.Errorf("got %v", got)
	}
}

func TestNewRefusesACycle(t *testing.T) {
	if s := New(2, []Edge{{From: 0, To: 1}, {From: 1, To: 0}}, make([]int64, 2)); s != nil {
		t.Error("a cycle was taken for an order")
	}
}

func TestLuby(t *testing.T) {
	for i, want := range []int{1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8} {
		if got := luby(i + 1); got != want {
			t.Errorf("luby(%d) is %d, want %d", i+1, got, want)
		}
	}
}
