package cycle

import "context"

// edgeKind describes why one transaction is before another; a pair can have
// several reasons, so the kinds are bits.
type edgeKind uint8

const (
	// ww: the second overwrote, or appended right after, what the first wrote.
	ww edgeKind = 1 << iota
	// wr: the second read what the first wrote.
	wr
	// rw: the first read a state that the second overwrote.
	rw
	// process: the same client ran the first before the second.
	process
	// realtime: the first was acknowledged before the second was begun.
	realtime

	// free leads from an auxiliary node onwards; it belongs to the edge by
	// which the node was entered.
	free edgeKind = 0
)

// dependencies are the kinds that mean that the second saw, or built on, the
// first.
const dependencies = ww | wr

func (k edgeKind) String() string {
	switch k {
	case ww:
		return "ww"
	case wr:
		return "wr"
	case rw:
		return "rw"
	case process:
		return "process"
	case realtime:
		return "realtime"
	default:
		return "none"
	}
}

// edgeList collects edges between nodes: the transactions first, then
// auxiliary nodes, each of which stands for "whoever leads here is before all
// to whom it leads", so that such a relation takes few edges.
type edgeList struct {
	from, to []int32
	kind     []edgeKind
	txns     int32
	nodes    int32
	data     int // edges of kinds ww, wr and rw
	side     []int32
	round    int32
}

func newEdgeList(txns, room int) *edgeList {
	return &edgeList{
		from: make([]int32, 0, room), to: make([]int32, 0, room), kind: make([]edgeKind, 0, room),
		txns: int32(txns), nodes: int32(txns),
	}
}

func (l *edgeList) add(from, to int32, kind edgeKind) {
	if from == to {
		return
	}
	if n := len(l.from) - 1; n >= 0 && l.from[n] == from && l.to[n] == to && l.kind[n] == kind {
		return
	}
	l.from, l.to, l.kind = append(l.from, from), append(l.to, to), append(l.kind, kind)
	if kind&(ww|wr|rw) != 0 {
		l.data++
	}
}

// node makes an auxiliary node.
func (l *edgeList) node() int32 {
	l.nodes++
	return l.nodes - 1
}

// fewPairs is how many edges may join two sets before a node is put between
// them.
const fewPairs = 64

// join adds an edge from each of before to each of after, but not from one to
// itself.
//
// Where these would be many, a node goes between, which must not lead from a
// transaction to itself. So those on both sides are joined to each other in a
// ring, forwards and backwards: neighbours still contradict each other, and
// all are in one component, though not each with each.
func (l *edgeList) join(before, after []int32, kind edgeKind) {
	if int64(len(before))*int64(len(after)) <= int64(fewPairs+4*(len(before)+len(after))) {
		for _, a := range before {
			for _, b := range after {
				l.add(a, b, kind)
			}
		}
		return
	}
	onlyBefore, both, onlyAfter := l.split(before, after)
	l.through(onlyBefore, onlyAfter, kind)
	l.through(onlyBefore, both, kind)
	l.through(both, onlyAfter, kind)
	for i, a := range both {
		b := both[(i+1)%len(both)]
		l.add(a, b, kind)
		l.add(b, a, kind)
	}
}

func (l *edgeList) through(before, after []int32, kind edgeKind) {
	if len(before) == 0 || len(after) == 0 {
		return
	}
	n := l.node()
	for _, a := range before {
		l.add(a, n, kind)
	}
	for _, b := range after {
		l.add(n, b, free)
	}
}

// split sorts transactions by the side on which they are; each is named once.
func (l *edgeList) split(before, after []int32) (onlyBefore, both, onlyAfter []int32) {
	if l.side == nil {
		l.side = make([]int32, l.txns)
	}
	l.round += 3
	left, joined, right := l.round, l.round+1, l.round+2
	for _, a := range before {
		l.side[a] = left
	}
	for _, b := range after {
		switch l.side[b] {
		case left:
			l.side[b] = joined
			both = append(both, b)
		case joined, right:
		default:
			l.side[b] = right
			onlyAfter = append(onlyAfter, b)
		}
	}
	for _, a := range before {
		if l.side[a] == left {
			l.side[a] = joined
			onlyBefore = append(onlyBefore, a)
		}
	}
	return onlyBefore, both, onlyAfter
}

// graph is a directed graph: the edges of node v lead to
// to[start[v]:start[v+1]].
type graph struct {
	start []int32
	to    []int32
	kind  []edgeKind
}

// build sorts the edges by where they come from.
func (l *edgeList) build() *graph {
	g := &graph{kind: make([]edgeKind, len(l.to))}
	g.start, g.to = l.successors(func(edge, at int32) { g.kind[at] = l.kind[edge] })
	return g
}

// successors are the nodes to which the edges of each node lead: those of v are
// to[start[v]:start[v+1]]. It calls placed, if it is not nil, with the number of
// each edge and where in to it is.
func (l *edgeList) successors(placed func(edge, at int32)) (start, to []int32) {
	start, to = make([]int32, l.nodes+2), make([]int32, len(l.to))
	// Counted two positions up, summed one position up: while the edges are filled
	// in, start[v+1] is where the next of v goes, and ends as the end of v.
	for _, f := range l.from {
		start[f+2]++
	}
	for v := 2; v < len(start); v++ {
		start[v] += start[v-1]
	}
	for i, f := range l.from {
		at := start[f+1]
		start[f+1]++
		to[at] = l.to[i]
		if placed != nil {
			placed(int32(i), at)
		}
	}
	return start[:l.nodes+1], to
}

func (g *graph) nodes() int { return len(g.start) - 1 }

// done marks a node whose component is known.
const done = int32(1<<31 - 1)

// frame is a node that is being explored, and its next edge.
type frame struct{ node, edge int32 }

// components calls visit with each strongly connected component of the edges
// of the given kinds, a component after all that can be reached from it. The
// slice is reused. It stops early, with false, when ctx ends.
//
// It is Tarjan's algorithm (SIAM J. Comput. 1972) without recursion.
func (g *graph) components(ctx context.Context, kinds edgeKind, visit func(members []int32)) bool {
	n := g.nodes()
	number := make([]int32, n) // 0 for not seen, then the order of seeing, then done
	low := make([]int32, n)
	var path []frame
	var open []int32
	seen, steps := int32(0), 0
	enter := func(v int32) {
		seen++
		number[v], low[v] = seen, seen
		open = append(open, v)
		path = append(path, frame{v, g.start[v]})
	}
	for root := range int32(n) {
		if number[root] != 0 {
			continue
		}
		enter(root)
		for len(path) > 0 {
			if steps++; steps%65536 == 0 && ctx.Err() != nil {
				return false
			}
			f := &path[len(path)-1]
			v := f.node
			if f.edge < g.start[v+1] {
				w, kind := g.to[f.edge], g.kind[f.edge]
				f.edge++
				switch {
				case kind != free && kind&kinds == 0:
				case number[w] == 0:
					enter(w)
				case number[w] < low[v]:
					low[v] = number[w]
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1].node
				low[parent] = min(low[parent], low[v])
			}
			if low[v] == number[v] {
				open = closeComponent(open, v, number, visit)
			}
		}
	}
	return true
}

// closeComponent takes the component of v off the open nodes.
func closeComponent(open []int32, v int32, number []int32, visit func([]int32)) []int32 {
	at := len(open) - 1
	for open[at] != v {
		at--
	}
	for _, w := range open[at:] {
		number[w] = done
	}
	visit(open[at:])
	return open[:at]
}
