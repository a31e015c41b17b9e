package cycle

import (
	"context"
	"math"
)

// classify names the cycles of the graph. extra is process or realtime if there are such edges,
// and otherwise 0. It returns false if ctx ended first.
//
// For each component it reports the anomalies that do not follow from others there. It looks for
// one kind after the other, from the worst to the mildest. So the search for one may assume that
// the kinds that imply it are absent.
func (in *inference) classify(ctx context.Context, extra edgeKind, r *Report) bool {
	g := in.edges.build()
	k := cutter{g: g, txns: in.edges.txns}
	best := map[anomaly]loop{}
	whole := true
	done := g.components(ctx, ww|wr|rw|extra, func(members []int32) {
		if len(members) == 1 || !whole {
			return
		}
		r.Size.Components++
		n := &namer{search: newSearch(ctx, k.cut(members)), in: in, best: best}
		n.nameCycles(0)
		if extra != 0 {
			n.nameCycles(extra)
		}
		whole = !n.stopped
	})
	for a, l := range best {
		e := in.cycleEvidence(l)
		e.Anomaly = a.String()
		in.cases.kept[a] = &e
	}
	return done && whole
}

type namer struct {
	*search
	in    *inference
	best  map[anomaly]loop // of all components
	found anomalySet       // in this one, with all that follows
	short loop
}

func variant(plain anomaly, extra edgeKind) anomaly {
	first := map[edgeKind]anomaly{process: g0Process, realtime: g0Realtime}[extra]
	switch {
	case extra == 0:
		return plain
	case plain == g0:
		return first
	default: // those of a suffix follow each other as g1c and the rest do
		return first + 1 + plain - g1c
	}
}

// nameCycles looks for the five kinds of cycle. Edges of the kind extra are allowed in them. The
// cycles without such edges must be named before, so that each cycle found needs them.
func (n *namer) nameCycles(extra edgeKind) {
	look := func(plain anomaly, find func()) {
		a := variant(plain, extra)
		if n.stopped || n.found.has(a) {
			return
		}
		n.short = loop{}
		find()
		if len(n.short.txns) == 0 {
			return
		}
		n.found |= set(a).implied()
		n.in.cases.count[a]++
		if known, some := n.best[a]; !some || len(n.short.txns) < len(known.txns) {
			for i, v := range n.short.txns {
				n.short.txns[i] = n.c.global[v]
			}
			n.best[a] = n.short
		}
	}
	look(g0, func() { n.findDependent(ww|extra, ww) })
	look(g1c, func() { n.findDependent(dependencies|extra, wr) })
	if n.found.has(variant(gSingleItem, extra)) && n.found.has(variant(gNonadjacentItem, extra)) {
		return
	}
	nonadjacent, whole := n.c.nonadjacent(n.ctx, dependencies|extra)
	n.stopped = n.stopped || !whole
	look(gSingleItem, func() { n.findSingle(dependencies|extra, nonadjacent) })
	look(gNonadjacentItem, func() { n.findNonadjacent(dependencies|extra, nonadjacent) })
	look(g2Item, func() { n.findAdjacent(dependencies | rw | extra) })
}

// effort bounds the edges examined for a shorter cycle after the first.
const effort = 1 << 21

func (n *namer) enough(since int64) bool {
	return n.stopped || len(n.short.txns) == 2 || len(n.short.txns) > 0 && n.work-since > effort
}

// limit is the most steps that may close a cycle of so many steps, to make it the shortest so far.
func (n *namer) limit(steps int) int {
	if len(n.short.txns) == 0 {
		return math.MaxInt
	}
	return len(n.short.txns) - steps - 1
}

// eachStart calls visit for each edge from a transaction that has kind, and no kind in but.
func (n *namer) eachStart(kind, but edgeKind, visit func(v, w int32)) {
	since := n.work
	for v := range n.c.txns {
		for e := n.c.start[v]; e < n.c.start[v+1]; e++ {
			if n.enough(since) {
				return
			}
			if n.c.kind[e]&kind != 0 && n.c.kind[e]&but == 0 {
				visit(v, n.c.to[e])
			}
		}
	}
}

// findDependent looks for a cycle of edges of the kinds deps that has an edge of kind.
func (n *namer) findDependent(deps, kind edgeKind) {
	order, whole := n.c.order(n.ctx, deps)
	n.stopped = n.stopped || !whole
	n.eachStart(kind, 0, func(v, w int32) {
		if order[v] == order[w] {
			n.try(query{from: w, deps: deps, avoid: -1, limit: n.limit(1)}, v, kind)
		}
	})
}

// findSingle looks for a cycle of edges of the kinds deps and one rw edge.
func (n *namer) findSingle(deps edgeKind, nonadjacent []int32) {
	order, whole := n.c.order(n.ctx, deps)
	n.stopped = n.stopped || !whole
	n.eachStart(rw, dependencies, func(v, w int32) {
		if order[w] >= order[v] && nonadjacent[2*v] == nonadjacent[2*w+1] {
			n.try(query{from: w, deps: deps, avoid: -1, limit: n.limit(1)}, v, rw)
		}
	})
}

// findNonadjacent looks for a cycle without adjacent rw edges. A closed walk that passes a
// transaction twice is no cycle. If there is such a walk and no cycle, it consists of a cycle of
// dependencies and an adjacent pair, which are reported instead.
func (n *namer) findNonadjacent(deps edgeKind, nonadjacent []int32) {
	n.eachStart(rw, dependencies, func(v, w int32) {
		if nonadjacent[2*v] == nonadjacent[2*w+1] {
			n.try(query{from: w, deps: deps, avoid: -1, nonadjacent: true, limit: n.limit(1)}, v, rw)
		}
	})
}

// try looks for the rest of a cycle that begins with an edge of this kind from v to q.from, and
// keeps the cycle if it is the shortest.
func (n *namer) try(q query, v int32, kind edgeKind) {
	path := n.path(q, v)
	if path == nil {
		return
	}
	l := n.c.walk(path, q.deps)
	// The path ends with v, where the loop begins.
	n.keep(loop{
		txns:  append([]int32{v}, l.txns[:len(l.txns)-1]...),
		kinds: append([]edgeKind{kind}, l.kinds...),
	})
}

func (n *namer) keep(l loop) {
	if l.simple() && (len(n.short.txns) == 0 || len(l.txns) < len(n.short.txns)) {
		n.short = l
	}
}

// findAdjacent looks for a cycle with two rw edges in a row and any edges of the kinds all. For
// each transaction b with an outgoing rw edge it looks for the shortest path from that edge's end
// to a transaction with an rw edge to b. The path avoids b.
func (n *namer) findAdjacent(all edgeKind) {
	back := n.c.reverse()
	var goals []int32
	from := int32(-1)
	n.eachStart(rw, dependencies, func(b, w int32) {
		if b != from {
			goals, from = n.entering(back, b, goals[:0]), b
		}
		n.work += int64(len(goals))
		if len(goals) == 0 {
			return
		}
		q := query{from: w, deps: all, avoid: b, limit: n.limit(2)}
		if path := n.path(q, goals...); path != nil {
			l := n.c.walk(path, all)
			n.keep(loop{txns: append(l.txns, b), kinds: append(l.kinds, rw, rw)})
		}
	})
}

// entering returns the transactions with an rw edge, and no dependency, to b.
func (n *namer) entering(back *graph, b int32, found []int32) []int32 {
	for e := back.start[b]; e < back.start[b+1]; e++ {
		v, kind := back.to[e], back.kind[e]
		n.work++
		if !n.c.aux(v) {
			if kind&rw != 0 && kind&dependencies == 0 {
				found = append(found, v)
			}
			continue
		}
		for i := back.start[v]; i < back.start[v+1]; i++ {
			if back.kind[i]&rw != 0 {
				found = append(found, back.to[i])
			}
		}
	}
	return found
}
