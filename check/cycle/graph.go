package cycle

import (
	"context"

	"assay/check/cycle/acyclic"
)

// edgeKind is a set of reasons why one transaction is before another.
type edgeKind uint8

const (
	// ww: the second overwrote, or appended right after, a write of the first.
	ww edgeKind = 1 << iota
	// wr: the second read a write of the first.
	wr
	// rw: the first read a state that the second overwrote.
	rw
	// process: the same client ran the first before the second.
	process
	// realtime: the first was acknowledged before the second began.
	realtime

	// free leads on from an auxiliary node; it continues the edge that entered the node.
	free edgeKind = 0
)

// dependencies are the kinds in which the second saw, or built on, the first.
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

// graph is a directed graph: the edges of node v lead to to[start[v]:start[v+1]].
type graph struct {
	start []int32
	to    []int32
	kind  []edgeKind
}

func (g *graph) nodes() int { return len(g.start) - 1 }

func (g *graph) along(kinds edgeKind) func(v, n int32) (int32, bool) {
	return func(v, n int32) (int32, bool) {
		switch e := g.start[v] + n; {
		case e == g.start[v+1]:
			return 0, false
		case g.kind[e] != free && g.kind[e]&kinds == 0:
			return v, true // which says nothing
		default:
			return g.to[e], true
		}
	}
}

func (g *graph) components(ctx context.Context, kinds edgeKind, visit func(members []int32)) bool {
	return acyclic.Visit(ctx, g.nodes(), g.along(kinds), visit)
}
