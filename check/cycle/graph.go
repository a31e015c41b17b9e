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

// graph is a directed graph: the edges of node v lead to
// to[start[v]:start[v+1]].
type graph struct {
	start []int32
	to    []int32
	kind  []edgeKind
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
