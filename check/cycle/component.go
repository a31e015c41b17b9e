package cycle

import (
	"context"

	"assay/check/cycle/acyclic"
)

// component is a set of transactions in cycles with each other, with the auxiliary nodes between
// them, as a graph of its own. Its nodes are numbered from 0, transactions first. Between two nodes
// is one edge with all its kinds.
type component struct {
	graph
	global []int32 // node to its number in the whole graph
	txns   int32
	back   *graph // the same edges the other way round, once it is needed
}

func (c *component) aux(v int32) bool { return v >= c.txns }

type cutter struct {
	g     *graph
	txns  int32
	local []int32 // node to its number in the component that is cut, plus one
	seen  []int32 // where the edge to a node is, plus one
}

// cut returns the component of these members. Components do not overlap, so local is not cleared.
func (k *cutter) cut(members []int32) *component {
	if k.local == nil {
		k.local, k.seen = make([]int32, k.g.nodes()), make([]int32, k.g.nodes())
	}
	c := &component{global: make([]int32, 0, len(members))}
	for _, v := range members {
		if v < k.txns {
			c.global = append(c.global, v)
		}
	}
	c.txns = int32(len(c.global))
	for _, v := range members {
		if v >= k.txns {
			c.global = append(c.global, v)
		}
	}
	for i, v := range c.global {
		k.local[v] = int32(i) + 1
	}
	c.start = make([]int32, 1, len(c.global)+1)
	for _, v := range c.global {
		begin := int32(len(c.to))
		for e := k.g.start[v]; e < k.g.start[v+1]; e++ {
			w, kind := k.g.to[e], k.g.kind[e]
			if k.local[w] == 0 || !c.has(k.local[w]-1, w) {
				continue
			}
			if at := k.seen[w] - 1; at >= begin && at < int32(len(c.to)) && c.to[at] == k.local[w]-1 {
				c.kind[at] |= kind
				continue
			}
			c.to, c.kind = append(c.to, k.local[w]-1), append(c.kind, kind)
			k.seen[w] = int32(len(c.to))
		}
		c.start = append(c.start, int32(len(c.to)))
	}
	return c
}

// has reports whether v, which is w in the whole graph, belongs to this component: local still
// holds the numbers of earlier components.
func (c *component) has(v, w int32) bool {
	return int(v) < len(c.global) && c.global[v] == w
}

func (c *component) reverse() *graph {
	if c.back == nil {
		l := newEdgeList(0)
		l.nodes = int32(c.nodes())
		for v := range l.nodes {
			for e := c.start[v]; e < c.start[v+1]; e++ {
				l.edges = append(l.edges, edge{c.to[e], v, c.kind[e]})
			}
		}
		c.back = l.build()
	}
	return c.back
}

// order numbers the components of c with only the edges of these kinds. A node's number is at
// least that of any node reachable from it, and equal only if there is a path back.
func (c *component) order(ctx context.Context, kinds edgeKind) (number []int32, whole bool) {
	number, _ = acyclic.Numbers(ctx, c.nodes(), c.along(kinds))
	return number, number != nil
}

// nonadjacent is order for a graph in which paths follow deps, and rw edges but not two in a row.
// Node 2v is v, and 2v+1 is v entered by rw. Snapshot isolation holds only if no rw edge lies
// within a component of it (Cerone and Gotsman, PODC 2016, theorem 10).
func (c *component) nonadjacent(ctx context.Context, deps edgeKind) (number []int32, whole bool) {
	l := newEdgeList(0)
	l.nodes = 2 * int32(c.nodes())
	for v := range int32(c.nodes()) {
		for e := c.start[v]; e < c.start[v+1]; e++ {
			w, kind := c.to[e], c.kind[e]
			if c.aux(v) {
				l.add(2*v, 2*w, free)
				l.add(2*v+1, 2*w+1, free)
				continue
			}
			if kind&deps != 0 {
				l.add(2*v, 2*w, ww)
				l.add(2*v+1, 2*w, ww)
			}
			if kind&rw != 0 {
				l.add(2*v, 2*w+1, ww)
			}
		}
	}
	number, _ = acyclic.Numbers(ctx, int(l.nodes), l.build().along(ww))
	return number, number != nil
}
