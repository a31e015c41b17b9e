package acyclic

import (
	"container/heap"
	"slices"
)

// arc is an edge as one of its ends sees it.
type arc struct {
	node    int32
	literal Literal
}

// graph holds the public edges in a topological order. The order outlives edges that are removed.
type graph struct {
	out, in  [][]arc // public
	position []int32 // by node
	moved    []int32 // nodes, since Moved was called
	log      []Edge  // what was inserted, in its order

	mark   []int32 // by node: the round in which it was seen
	via    []arc   // by node: from where
	round  int32
	ahead  []int32
	behind []int32
}

// newGraph gives the arc of edge i the literal of i. It omits the arcs into a node: only a graph to
// which edges are added needs them (see linkBack).
func newGraph(nodes int, edges []Edge, literal func(i int) Literal) graph {
	g := graph{
		out:      arcsRoom(nodes, edges, func(e Edge) int32 { return e.From }),
		position: make([]int32, nodes), mark: make([]int32, nodes), via: make([]arc, nodes),
	}
	for i, e := range edges {
		if !e.Private {
			g.out[e.From] = append(g.out[e.From], arc{e.To, literal(i)})
		}
	}
	return g
}

func (g *graph) linkBack(edges []Edge, literal func(i int) Literal) {
	g.in = arcsRoom(len(g.out), edges, func(e Edge) int32 { return e.To })
	for i, e := range edges {
		if !e.Private {
			g.in[e.To] = append(g.in[e.To], arc{e.From, literal(i)})
		}
	}
}

func arcsRoom(nodes int, edges []Edge, end func(Edge) int32) [][]arc {
	count, total := make([]int32, nodes), int32(0)
	for _, e := range edges {
		if !e.Private {
			count[end(e)]++
			total++
		}
	}
	arcs, room := make([][]arc, nodes), make([]arc, total)
	for v, n := range count {
		arcs[v], room = room[:0:n], room[n:]
	}
	return arcs
}

// Position is a node's place in the current order.
func (g *graph) Position(node int32) int32 { return g.position[node] }

// Moved returns the nodes whose position changed since the last call.
func (g *graph) Moved() []int32 {
	moved := g.moved
	g.moved = nil
	return moved
}

func (g *graph) link(e Edge, l Literal) {
	g.out[e.From] = append(g.out[e.From], arc{e.To, l})
	g.in[e.To] = append(g.in[e.To], arc{e.From, l})
}

func (g *graph) undo(mark int) {
	for i := len(g.log) - 1; i >= mark; i-- {
		e := g.log[i]
		g.out[e.From] = g.out[e.From][:len(g.out[e.From])-1]
		g.in[e.To] = g.in[e.To][:len(g.in[e.To])-1]
	}
	g.log = g.log[:mark]
}

// insert adds a public edge. If the edge closes a cycle, insert adds nothing and returns the
// literals of the cycle, at least l.
func (g *graph) insert(e Edge, l Literal) []Literal {
	if g.position[e.From] > g.position[e.To] {
		if broken := g.reorder(e); broken != nil {
			return append(broken, l)
		}
	}
	g.log = append(g.log, e)
	g.link(e, l)
	return nil
}

// reach looks for a public path, no further than the end's position. ahead gets the nodes seen.
func (g *graph) reach(from, to int32) bool {
	limit := g.position[to]
	g.round++
	g.ahead = append(g.ahead[:0], from)
	g.mark[from], g.via[from] = g.round, arc{-1, static}
	for i := 0; i < len(g.ahead); i++ {
		v := g.ahead[i]
		if v == to {
			return true
		}
		for _, a := range g.out[v] {
			if g.mark[a.node] != g.round && g.position[a.node] <= limit {
				g.mark[a.node], g.via[a.node] = g.round, arc{v, a.literal}
				g.ahead = append(g.ahead, a.node)
			}
		}
	}
	return false
}

func (g *graph) way(literals []Literal, to int32) []Literal {
	for v := to; g.via[v].node >= 0; v = g.via[v].node {
		if l := g.via[v].literal; l != static {
			literals = append(literals, l)
		}
	}
	return literals
}

// reorder makes the order allow a public edge, or returns the literals of a path back.
func (g *graph) reorder(e Edge) []Literal {
	if g.reach(e.To, e.From) {
		return g.way(make([]Literal, 0, 8), e.From)
	}
	limit := g.position[e.To]
	g.round++
	g.behind = append(g.behind[:0], e.From)
	g.mark[e.From] = g.round
	for i := 0; i < len(g.behind); i++ {
		for _, a := range g.in[g.behind[i]] {
			if g.mark[a.node] != g.round && g.position[a.node] > limit {
				g.mark[a.node] = g.round
				g.behind = append(g.behind, a.node)
			}
		}
	}
	by := func(a, b int32) int { return int(g.position[a] - g.position[b]) }
	slices.SortFunc(g.ahead, by)
	slices.SortFunc(g.behind, by)
	nodes := append(g.behind, g.ahead...)
	places := make([]int32, len(nodes))
	for i, v := range nodes {
		places[i] = g.position[v]
	}
	slices.Sort(places)
	for i, v := range nodes {
		g.position[v] = places[i]
	}
	g.behind = nodes[:len(g.behind)]
	g.moved = append(g.moved, nodes...)
	return nil
}

// sort makes the first topological order: among the nodes that can come next, the lowest rank
// does. It returns false if there is a cycle.
func (g *graph) sort(rank []int64) bool {
	waiting := make([]int32, len(g.out))
	for _, arcs := range g.out {
		for _, a := range arcs {
			waiting[a.node]++
		}
	}
	ready := &byRank{rank: rank}
	for v, n := range waiting {
		if n == 0 {
			ready.nodes = append(ready.nodes, int32(v))
		}
	}
	heap.Init(ready)
	place := int32(0)
	for len(ready.nodes) > 0 {
		v := heap.Pop(ready).(int32)
		g.position[v] = place
		place++
		for _, a := range g.out[v] {
			if waiting[a.node]--; waiting[a.node] == 0 {
				heap.Push(ready, a.node)
			}
		}
	}
	return int(place) == len(g.out)
}

type byRank struct {
	rank  []int64
	nodes []int32
}

func (h *byRank) Len() int { return len(h.nodes) }
func (h *byRank) Less(i, j int) bool {
	a, b := h.nodes[i], h.nodes[j]
	return h.rank[a] < h.rank[b] || h.rank[a] == h.rank[b] && a < b
}
func (h *byRank) Swap(i, j int) { h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i] }
func (h *byRank) Push(x any)    { h.nodes = append(h.nodes, x.(int32)) }
func (h *byRank) Pop() any {
	last := h.nodes[len(h.nodes)-1]
	h.nodes = h.nodes[:len(h.nodes)-1]
	return last
}
