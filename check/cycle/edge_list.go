package cycle

// edge is an edge in eight bytes: its kinds, and 29 bits for each of its ends.
type edge uint64

const (
	kindBits = 5
	nodeBits = 29
	// maxNodes bounds the transactions and the auxiliary nodes of a graph.
	maxNodes = 1 << nodeBits
)

func newEdge(from, to int32, kind edgeKind) edge {
	return edge(from)<<(nodeBits+kindBits) | edge(to)<<kindBits | edge(kind)
}

func (e edge) from() int32    { return int32(e >> (nodeBits + kindBits)) }
func (e edge) to() int32      { return int32(e >> kindBits & (maxNodes - 1)) }
func (e edge) kind() edgeKind { return edgeKind(e & (1<<kindBits - 1)) }

// edgeList collects edges between nodes: the transactions first, then
// auxiliary nodes, each of which stands for "whoever leads here is before all
// to whom it leads", so that such a relation takes few edges.
type edgeList struct {
	// sorted has the edges that were there at the last call of compact, if there
	// was one, and edges those that came after.
	sorted *graph
	edges  chunkedList[edge]
	last   edge
	txns   int32
	nodes  int32
	data   int // edges of kinds ww, wr and rw
	side   []int32
	round  int32
}

func newEdgeList(txns int) *edgeList { return &edgeList{txns: int32(txns), nodes: int32(txns)} }

func (l *edgeList) add(from, to int32, kind edgeKind) {
	e := newEdge(from, to, kind)
	if from == to || e == l.last && l.edges.len > 0 {
		return
	}
	l.last = e
	l.edges.add(e)
	if kind&(ww|wr|rw) != 0 {
		l.data++
	}
}

// len is how many edges there are.
func (l *edgeList) len() int {
	if l.sorted == nil {
		return l.edges.len
	}
	return len(l.sorted.to) + l.edges.len
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

// build sorts the edges by where they come from. Those of one node stay in the
// order in which they were added.
func (l *edgeList) build() *graph {
	g := &graph{start: make([]int32, l.nodes+2), to: make([]int32, l.len()), kind: make([]edgeKind, l.len())}
	// Counted two positions up, summed one position up: while the edges are filled
	// in, start[v+1] is where the next of v goes, and ends as the end of v.
	for e := range l.edges.all() {
		g.start[e.from()+2]++
	}
	before := l.sorted
	if before != nil {
		for v := range before.nodes() {
			g.start[v+2] += before.start[v+1] - before.start[v]
		}
	}
	for v := 2; v < len(g.start); v++ {
		g.start[v] += g.start[v-1]
	}
	if before != nil {
		for v := range before.nodes() {
			from, to, at := before.start[v], before.start[v+1], g.start[v+1]
			copy(g.to[at:], before.to[from:to])
			copy(g.kind[at:], before.kind[from:to])
			g.start[v+1] += to - from
		}
	}
	for e := range l.edges.all() {
		at := g.start[e.from()+1]
		g.start[e.from()+1]++
		g.to[at], g.kind[at] = e.to(), e.kind()
	}
	g.start = g.start[:l.nodes+1]
	return g
}

// compact is build, after which the edges are kept in that form alone.
func (l *edgeList) compact() *graph {
	l.sorted, l.edges = l.build(), chunkedList[edge]{}
	return l.sorted
}
