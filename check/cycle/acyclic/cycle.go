package acyclic

import (
	"context"
	"slices"
)

// effort bounds the edges examined for a shorter cycle after the first.
const effort = 1 << 22

type finder struct {
	ctx   context.Context
	edges []Edge
	start []int32
	next  []int32 // indices of edges, sorted by From
	all   []int32 // component of all edges, by node
	order []int32 // component of public edges, such that what can be reached has no larger a number
	round int32
	seen  []int32
	via   []int32 // edge by which a node was reached
	queue []int32
	work  int
	best  []Edge
}

// Cycle returns a forbidden cycle of these edges; nil if there is none or ctx ended first. It is
// short, but not always the shortest. Its private edge, if any, comes first.
func Cycle(ctx context.Context, nodes int, edges []Edge) []Edge {
	var best []Edge
	newFinder(ctx, nodes, edges).each(func(f *finder) bool {
		best = f.best
		return len(best) == 2 || f.work > effort
	})
	return best
}

// Cycles returns at most the given number of forbidden cycles that begin with different edges.
// It returns none only if there is no forbidden cycle or ctx ended first.
//
// It is quick if the public edges have a topological order close to rank: then the path that
// closes a private edge lies between its ends.
func Cycles(ctx context.Context, nodes int, edges []Edge, rank []int64, most int) [][]Edge {
	var all [][]Edge
	g := newGraph(nodes, edges, func(i int) Literal { return Literal(i) })
	if !g.sort(rank) {
		newFinder(ctx, nodes, edges).each(func(f *finder) bool {
			all = append(all, f.best)
			f.best = nil
			return len(all) == most
		})
		return all
	}
	for i, e := range edges {
		if i%1024 == 0 && ctx.Err() != nil {
			return all
		}
		if !e.Private || g.position[e.To] > g.position[e.From] || e.From == e.To || !g.reach(e.To, e.From) {
			continue
		}
		cycle := []Edge{e}
		for v := e.From; v != e.To; v = g.via[v].node {
			cycle = append(cycle, edges[g.via[v].literal])
		}
		slices.Reverse(cycle[1:])
		if all = append(all, cycle); len(all) == most {
			return all
		}
	}
	return all
}

func newFinder(ctx context.Context, nodes int, edges []Edge) *finder {
	f := &finder{ctx: ctx, edges: edges, seen: make([]int32, nodes), via: make([]int32, nodes)}
	f.arrange(nodes)
	f.all = f.components(func(Edge) bool { return true })
	f.order = f.components(func(e Edge) bool { return !e.Private })
	return f
}

// each calls visit for each new best cycle, until visit returns true.
func (f *finder) each(visit func(*finder) bool) {
	for i, e := range f.edges {
		if f.all[e.From] != f.all[e.To] || e.From == e.To {
			continue
		}
		if e.Private && f.order[e.To] < f.order[e.From] || !e.Private && f.order[e.To] != f.order[e.From] {
			continue
		}
		if f.close(int32(i)) && visit(f) || f.ctx.Err() != nil {
			return
		}
	}
}

func (f *finder) arrange(nodes int) {
	f.start = make([]int32, nodes+1)
	for _, e := range f.edges {
		f.start[e.From+1]++
	}
	for v := range nodes {
		f.start[v+1] += f.start[v]
	}
	at := append([]int32(nil), f.start[:nodes]...)
	f.next = make([]int32, len(f.edges))
	for i, e := range f.edges {
		f.next[at[e.From]] = int32(i)
		at[e.From]++
	}
}

// close looks for the shortest public path that closes an edge to a shorter cycle than the best.
func (f *finder) close(first int32) bool {
	e := f.edges[first]
	f.round++
	f.queue = append(f.queue[:0], e.To)
	f.seen[e.To], f.via[e.To] = f.round, -1
	depth, end := 1, 1
	for i := 0; i < len(f.queue); i++ {
		if i == end {
			depth, end = depth+1, len(f.queue)
			if f.best != nil && depth >= len(f.best) {
				return false
			}
		}
		v := f.queue[i]
		if v == e.From {
			return f.keep(first)
		}
		for _, n := range f.next[f.start[v]:f.start[v+1]] {
			f.work++
			if f.work%65536 == 0 && f.ctx.Err() != nil {
				return false
			}
			w := f.edges[n].To
			if f.edges[n].Private || f.seen[w] == f.round || f.order[w] < f.order[e.From] {
				continue
			}
			f.seen[w], f.via[w] = f.round, n
			f.queue = append(f.queue, w)
		}
	}
	return false
}

func (f *finder) keep(first int32) bool {
	cycle := []Edge{f.edges[first]}
	var back []Edge
	for v := f.edges[first].From; f.via[v] >= 0; v = f.edges[f.via[v]].From {
		back = append(back, f.edges[f.via[v]])
	}
	for i := len(back) - 1; i >= 0; i-- {
		cycle = append(cycle, back[i])
	}
	if f.best != nil && len(cycle) >= len(f.best) {
		return false
	}
	f.best = cycle
	return true
}

// Components returns the number of each node's strongly connected component. Components are
// numbered from 1; a component's number is higher than those of all components reachable from it.
func Components(nodes int, edges []Edge) []int32 {
	f := &finder{edges: edges}
	f.arrange(nodes)
	return f.components(func(Edge) bool { return true })
}

func (f *finder) components(wanted func(Edge) bool) []int32 {
	number, _ := Numbers(context.Background(), len(f.start)-1, func(v, n int32) (int32, bool) {
		at := f.start[v] + n
		if at == f.start[v+1] {
			return 0, false
		}
		if e := f.edges[f.next[at]]; wanted(e) {
			return e.To, true
		}
		return v, true // which says nothing
	})
	return number
}

// Numbers is Components of a graph whose edges are kept elsewhere (see Visit). count is the number
// of components. number is nil and count 0 if ctx ended first.
func Numbers(ctx context.Context, nodes int, next func(node, n int32) (to int32, some bool)) (number []int32, count int) {
	number = make([]int32, nodes)
	if !Visit(ctx, nodes, next, func(members []int32) {
		count++
		for _, v := range members {
			number[v] = int32(count)
		}
	}) {
		return nil, 0
	}
	return number, count
}

// Visit calls visit with each strongly connected component of a graph, after all components
// reachable from it. next returns the target of the nth edge of a node, if there is one. The slice
// is reused. Visit returns false if ctx ended first.
//
// It is Tarjan's algorithm (SIAM J. Comput. 1972) without recursion.
func Visit(ctx context.Context, nodes int, next func(node, n int32) (to int32, some bool), visit func(members []int32)) bool {
	const done = int32(1<<31 - 1) // of a node whose component is known
	index, low, at := make([]int32, nodes), make([]int32, nodes), make([]int32, nodes)
	var path, open []int32
	seen, steps := int32(0), 0
	enter := func(v int32) {
		seen++
		index[v], low[v] = seen, seen
		path, open = append(path, v), append(open, v)
	}
	for root := range int32(nodes) {
		if index[root] != 0 {
			continue
		}
		enter(root)
		for len(path) > 0 {
			if steps++; steps%65536 == 0 && ctx.Err() != nil {
				return false
			}
			v := path[len(path)-1]
			if to, some := next(v, at[v]); some {
				if at[v]++; index[to] == 0 {
					enter(to)
				} else {
					low[v] = min(low[v], index[to])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1]
				low[parent] = min(low[parent], low[v])
			}
			if low[v] == index[v] {
				from := len(open) - 1
				for open[from] != v {
					from--
				}
				for _, w := range open[from:] {
					index[w] = done
				}
				visit(open[from:])
				open = open[:from]
			}
		}
	}
	return true
}
