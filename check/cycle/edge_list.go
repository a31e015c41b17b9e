package cycle

type edge struct {
	from, to int32
	kind     edgeKind
}

// edgeList collects edges between nodes: transactions first, then auxiliary nodes. An auxiliary
// node says that all nodes with an edge to it precede all to which it leads, in few edges.
type edgeList struct {
	edges []edge
	txns  int32
	nodes int32
	data  int // edges of kinds ww, wr and rw
	side  []int32
	round int32
}

func newEdgeList(txns int) *edgeList { return &edgeList{txns: int32(txns), nodes: int32(txns)} }

func (l *edgeList) add(from, to int32, kind edgeKind) {
	e := edge{from, to, kind}
	if n := len(l.edges); from == to || n > 0 && e == l.edges[n-1] {
		return
	}
	l.edges = append(l.edges, e)
	if kind&(ww|wr|rw) != 0 {
		l.data++
	}
}

func (l *edgeList) node() int32 {
	l.nodes++
	return l.nodes - 1
}

// fewPairs bounds the direct edges between two sets. Beyond it an auxiliary node joins them.
const fewPairs = 64

// join adds an edge from each of before to each of after, but not from a transaction to itself.
//
// If there are many, they lead over an auxiliary node, which must not lead from a transaction to
// itself. So transactions on both sides are joined in a ring, forwards and backwards. Neighbours
// then still contradict each other, and all are in one component, although not each pair is joined.
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

// split divides transactions by side and names each once.
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

// build sorts the edges by origin. Edges of one node stay in the order in which they were added.
func (l *edgeList) build() *graph {
	g := &graph{start: make([]int32, l.nodes+2), to: make([]int32, len(l.edges)), kind: make([]edgeKind, len(l.edges))}
	// Counts are two positions up, and summed one position up. While the edges are filled in,
	// start[v+1] is where v's next edge goes; in the end it is the end of v.
	for _, e := range l.edges {
		g.start[e.from+2]++
	}
	for v := 2; v < len(g.start); v++ {
		g.start[v] += g.start[v-1]
	}
	for _, e := range l.edges {
		at := g.start[e.from+1]
		g.start[e.from+1]++
		g.to[at], g.kind[at] = e.to, e.kind
	}
	g.start = g.start[:l.nodes+1]
	return g
}
