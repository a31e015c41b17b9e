package cycle

import "assay/check/cycle/acyclic"

type reason struct {
	kind     edgeKind
	key      int32 // among constraints.keys, -1 for none
	from, to int32
	// a and b are versions of key; a ww or rw edge needs a before b.
	a, b int32
	// known is one plus the index in keyOrder.known of the pair that proves this order, or 0. via
	// is the transaction whose read shows it, or noTxn.
	known, via int32
}

// constraints express a rule on a history as a graph that must have no cycle of certain kinds. The
// nodes depend on the rule:
//
//	serial, singleItem, updates  each transaction
//	snapshot, prefix             the start of each, then the commit of each
//	monotonicView, statements    each transaction, then each operation
//	updateAtomic                 each transaction, then each as seen, then each as seer
//	cursor                       each transaction, then each version as overwritten, then each
//	                             version as written after a read of the key
//
// and then auxiliary nodes.
type constraints struct {
	h     *History
	rule  rule
	keys  []keyOrder
	txns  int32
	nodes int32
	edges []acyclic.Edge
	why   []reason // by tag
	// room bounds the edges. Beyond it full is set, and no answer is possible.
	room int
	full bool
	only []bool
	// offset is, by key, the number of versions of the keys before it. upon is true for each
	// version whose writer had read the key.
	offset []int32
	total  int32
	upon   []bool
}

// newConstraints adds all edges that do not depend on a choice.
func (in *inference) newConstraints(keys []keyOrder, j judgement) *constraints {
	h := in.h
	c := &constraints{
		h: h, rule: j.rule, keys: keys, txns: int32(h.Len()), nodes: int32(h.Len()), room: edgeRoom + 16*len(h.ops),
	}
	// Most histories have fewer edges. Growing these slices step by step would copy gigabytes.
	c.reserve(min(2*len(h.ops)+4*h.Len(), c.room))
	c.number()
	switch j.rule {
	case snapshot, prefix:
		c.nodes += c.txns
		for t := range c.txns {
			c.link(t, c.commit(t), false, c.tag(reason{key: -1}))
		}
	case monotonicView, statements, allStatements:
		c.addEvents()
	case updateAtomic:
		c.nodes += 2 * c.txns
	case cursor:
		c.nodes += 2 * c.total
	}
	for i := range keys {
		c.addKey(int32(i))
	}
	c.addOutside(j.extra)
	return c
}

// addEvents adds a node for each operation, linked in the order of its transaction.
func (c *constraints) addEvents() {
	ops := c.h.ops
	c.nodes += int32(len(ops))
	before := noTxn
	for n, o := range ops {
		i := int32(n)
		if o.txn == before {
			c.link(c.event(i-1), c.event(i), false, c.tag(reason{key: -1}))
		}
		before = o.txn
		if c.rule != monotonicView && i+1 == c.h.first[o.txn+1] {
			c.link(c.event(i), c.commit(o.txn), false, c.tag(reason{key: -1}))
		}
	}
}

func (c *constraints) firstWrite(op int32) int32 {
	ops := c.h.ops
	of := ops[op]
	first := op
	for i := op; i >= c.h.first[of.txn]; i-- {
		if o := ops[i]; o.key() == of.key() && (o.kind() == Append || o.kind() == Write) {
			first = i
		}
	}
	return first
}

// events reports whether operations have nodes.
func (c *constraints) events() bool {
	return c.rule == monotonicView || c.rule == statements || c.rule == allStatements
}

func (c *constraints) number() {
	c.only = make([]bool, c.txns)
	for t := range c.only {
		c.only[t] = true
	}
	c.offset = make([]int32, len(c.keys))
	for i := range c.keys {
		c.offset[i] = c.total
		c.total += int32(len(c.keys[i].writers))
		for _, t := range c.keys[i].writers[1:] {
			c.only[t] = false
		}
	}
	if c.rule != cursor {
		return
	}
	c.upon = make([]bool, c.total)
	for i := range c.keys {
		k := &c.keys[i]
		for _, r := range k.reads {
			if r.own > 0 {
				c.upon[c.offset[i]+r.own] = true
			}
		}
	}
}

func (c *constraints) commit(t int32) int32 {
	if c.rule == snapshot || c.rule == prefix {
		return c.txns + t
	}
	return t
}

func (c *constraints) event(op int32) int32 { return c.txns + op }
func (c *constraints) seen(t int32) int32   { return c.txns + t }
func (c *constraints) seer(t int32) int32   { return 2*c.txns + t }

func (c *constraints) overwritten(key, v int32) int32 { return c.txns + c.offset[key] + v }
func (c *constraints) written(key, v int32) int32     { return c.txns + c.total + c.offset[key] + v }

func (c *constraints) owner(node int32) int32 {
	n := c.txns
	switch {
	case node < n:
		return node
	case (c.rule == snapshot || c.rule == prefix) && node < 2*n:
		return node - n
	case c.rule == updateAtomic && node < 3*n:
		return node % n
	case c.events() && node < n+int32(len(c.h.ops)):
		return c.h.ops[node-n].txn
	case c.rule == cursor && node < n+2*c.total:
		at := (node - n) % c.total
		key := len(c.offset) - 1
		for c.offset[key] > at {
			key--
		}
		return c.keys[key].writers[at-c.offset[key]]
	default:
		return noTxn
	}
}

// edgeRoom is the number of edges allowed besides some for each operation.
const edgeRoom = 1 << 22

func (c *constraints) reserve(n int) {
	c.edges, c.why = make([]acyclic.Edge, 0, n), make([]reason, 0, n)
}

func (c *constraints) tag(r reason) int32 {
	if c.full {
		return 0
	}
	c.why = append(c.why, r)
	return int32(len(c.why) - 1)
}

func (c *constraints) link(from, to int32, private bool, tag int32) {
	if c.full = c.full || len(c.why) > c.room; from != to && !c.full {
		c.edges = append(c.edges, acyclic.Edge{From: from, To: to, Private: private, Tag: tag})
	}
}

// collect returns the edges that add links, without keeping them.
func (c *constraints) collect(add func()) []acyclic.Edge {
	kept := c.edges
	c.edges = nil
	add()
	edges := c.edges
	c.edges = kept
	return edges
}

// pair returns the edges that follow if version a comes before version b.
func (c *constraints) pair(key, a, b int32) []acyclic.Edge {
	return c.collect(func() { c.order(key, a, b, 0, noTxn) })
}

// order adds the edges that follow if version a comes before version b.
func (c *constraints) order(key, a, b, known, via int32) {
	k := &c.keys[key]
	if a > 0 {
		c.overwrite(key, a, b, known, via)
	}
	for _, r := range k.readsOf(a) {
		c.miss(key, r, a, b, known)
	}
}

// overwrite adds the edges between the writers of two versions.
func (c *constraints) overwrite(key, a, b, known, via int32) {
	k := &c.keys[key]
	x, y := k.writers[a], k.writers[b]
	t := c.tag(reason{kind: ww, key: key, from: x, to: y, a: a, b: b, known: known, via: via})
	switch c.rule {
	case snapshot:
		c.link(c.commit(x), y, false, t)
	case prefix:
		c.link(c.commit(x), c.commit(y), false, t)
	case monotonicView:
		c.link(x, y, false, t)
		c.link(x, c.event(k.writes[b]), false, t)
	case allStatements:
		c.link(x, y, false, t)
		c.link(x, c.event(c.firstWrite(k.writes[b])), false, t)
	case updateAtomic:
		c.link(x, y, false, t)
		c.link(c.seen(x), c.seer(y), false, t)
	case cursor:
		c.link(x, y, false, t)
		if c.upon[c.offset[key]+b] {
			c.link(c.overwritten(key, a), c.written(key, b), false, t)
		}
	default:
		c.link(x, y, false, t)
	}
}

// miss adds the edge from a reader of version a to the writer of the later version b.
func (c *constraints) miss(key int32, r access, a, b, known int32) {
	k := &c.keys[key]
	y := k.writers[b]
	if r.txn == y {
		return
	}
	from, to, private := c.missing(key, r, b)
	if from < 0 {
		return
	}
	c.link(from, to, private, c.tag(reason{kind: rw, key: key, from: r.txn, to: y, a: a, b: b, known: known, via: noTxn}))
}

// missing returns the nodes of an rw edge and whether it is private; -1 if the rule has none.
func (c *constraints) missing(key int32, r access, b int32) (from, to int32, private bool) {
	k := &c.keys[key]
	y := k.writers[b]
	switch c.rule {
	case snapshot, prefix:
		return r.txn, c.commit(y), false
	case singleItem:
		return r.txn, y, true
	case updates:
		return r.txn, y, c.only[r.txn]
	case monotonicView:
		return c.event(r.op), y, true
	case statements, allStatements:
		return c.event(r.op), y, false
	case updateAtomic:
		return c.seer(r.txn), c.seen(y), true
	case cursor:
		if r.own == 0 {
			return -1, -1, false
		}
		return c.written(key, r.own), c.overwritten(key, b), true
	case serial:
		return r.txn, y, false
	default:
		return -1, -1, false
	}
}

func (c *constraints) read(key int32, r access) {
	x := c.keys[key].writers[r.version]
	t := c.tag(reason{kind: wr, key: key, from: x, to: r.txn, a: r.version, b: r.version, via: noTxn})
	c.link(c.commit(x), r.txn, false, t)
	switch c.rule {
	case monotonicView, statements, allStatements:
		c.link(x, c.event(r.op), false, t)
	case updateAtomic:
		c.link(c.seen(x), c.seer(r.txn), false, t)
	}
}

// transitive reports whether the rule follows paths over several transactions, so that edges
// between neighbouring versions suffice. A transaction that read a version and wrote the next has
// no edge to itself. This loses nothing: the next overwriter follows by ww, and must not lead back
// anyway.
func (c *constraints) transitive() bool { return c.rule != updateAtomic && c.rule != cursor }

func (c *constraints) addOutside(extra edgeKind) {
	if extra == 0 {
		return
	}
	l := newEdgeList(int(c.txns))
	if extra == process {
		l.addProcess(c.h)
	} else {
		l.addRealtime(c.h)
	}
	shift := c.nodes - c.txns
	for _, e := range l.edges {
		from, to := e.from, e.to
		r := reason{kind: e.kind, key: -1, from: from, to: to, via: noTxn}
		if from < c.txns {
			from = c.commit(from)
		} else {
			from += shift
		}
		if to >= c.txns {
			to += shift
		}
		c.link(from, to, false, c.tag(r))
	}
	c.nodes += l.nodes - c.txns
}
