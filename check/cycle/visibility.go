package cycle

import (
	"context"

	"assay/check/cycle/acyclic"
)

// visibility judges the rules atomic, monotonicAtomic and causal: who sees a
// transaction and reads a key that it wrote reads what it wrote or a later
// version. Whom a transaction sees does not depend on the order of versions, so
// each read orders some of them, once and for all, and what is left is that
// these orders have no cycle with who read from whom: the saturation of Biswas
// and Enea (OOPSLA 2019), which takes a single round here.
type visibility struct {
	c   *constraints
	ctx context.Context
	// reads and writes have by transaction what it read and wrote.
	reads, writes [][]keyVersion
	// forced are pairs that are linked already.
	forced map[versionPair]bool
	// session has the order of each client, if that counts.
	session *edgeList
	// cycle is a contradiction that does not need any order, and cases is in how
	// many transactions there is one, if that was counted.
	cycle []acyclic.Edge
	cases int64
}

// keyVersion is a version of a key and the operation concerned.
type keyVersion struct{ key, version, op int32 }

// newVisibility puts down who read from whom and which versions are in order.
func (in *inference) newVisibility(ctx context.Context, keys []keyOrder, j judgement) *visibility {
	n := int32(in.h.Len())
	c := &constraints{h: in.h, rule: j.rule, keys: keys, txns: n, nodes: n, room: edgeRoom + 16*len(in.h.ops)}
	v := &visibility{
		c: c, ctx: ctx, reads: make([][]keyVersion, n), writes: make([][]keyVersion, n), forced: map[versionPair]bool{},
	}
	for i := range keys {
		k, key := &keys[i], int32(i)
		for version := int32(1); version < int32(len(k.writers)); version++ {
			t := k.writers[version]
			v.writes[t] = append(v.writes[t], keyVersion{key, version, k.writes[version]})
			if version > 1 && version <= k.chain {
				c.overwrite(key, version-1, version, nil, noTxn)
			} else if version > k.chain && k.chain > 0 {
				c.overwrite(key, k.chain, version, nil, noTxn)
			}
		}
		for _, r := range k.reads {
			v.reads[r.txn] = append(v.reads[r.txn], keyVersion{key, r.version, r.op})
			if r.version > 0 {
				c.read(key, r)
			}
		}
		for i := range k.known {
			c.overwrite(key, k.known[i].a, k.known[i].b, &k.known[i].edge, noTxn)
		}
	}
	if j.extra == process {
		v.session = newEdgeList(int(n), int(n))
		v.session.addProcess(in.h)
		c.addOutside(process)
	}
	return v
}

// judge returns a contradiction, or nil.
func (v *visibility) judge(only []bool) []acyclic.Edge {
	if v.c.rule == causal {
		v.judgeCausal(only)
	} else {
		v.judgeAtomic(only)
	}
	if v.cycle != nil {
		return v.cycle
	}
	return acyclic.Cycle(v.ctx, int(v.c.nodes), v.c.edges)
}

// judgeAtomic looks at whom each transaction reads from. only leaves out those
// that are known to be in no cycle, if it is not nil.
func (v *visibility) judgeAtomic(only []bool) {
	for t := range v.c.txns {
		if v.c.full || t%4096 == 0 && v.ctx.Err() != nil {
			return
		}
		if len(v.reads[t]) < 2 || only != nil && !only[t] {
			continue
		}
		if v.missed(t) {
			v.cases++
		}
	}
}

// missed says that t missed a part of what it sees.
func (v *visibility) missed(t int32) bool {
	for _, by := range v.reads[t] {
		k := &v.c.keys[by.key]
		first := max(by.version, 1)
		if by.version <= k.chain {
			first = 1 // a list shows all that was appended before
		}
		for version := first; version <= by.version; version++ {
			seen := k.writers[version]
			if seen != t && v.compare(t, seen, keyVersion{by.key, version, by.op}) {
				return true
			}
		}
	}
	return false
}

// compare holds what t reads against what seen wrote, of which t sees by. It
// returns true, and keeps the first case, if t missed some of that.
func (v *visibility) compare(t, seen int32, by keyVersion) bool {
	for _, w := range v.writes[seen] {
		for _, r := range v.reads[t] {
			if r.key != w.key || v.c.rule == monotonicAtomic && r.op <= by.op || !v.late(t, r, w.version) {
				continue
			}
			if v.cycle == nil {
				v.cycle = []acyclic.Edge{
					v.edge(reason{kind: rw, key: r.key, from: t, to: seen, a: r.version, b: w.version, via: noTxn}),
					v.edge(reason{kind: wr, key: by.key, from: seen, to: t, a: by.version, b: by.version, via: noTxn}),
				}
			}
			return true
		}
	}
	return false
}

func (v *visibility) edge(r reason) acyclic.Edge {
	return acyclic.Edge{From: r.from, To: r.to, Tag: v.c.tag(r)}
}

// late says that the version that t read is known to come before another, which
// t sees. If their order is open, the other is put first.
func (v *visibility) late(t int32, r keyVersion, version int32) bool {
	k := &v.c.keys[r.key]
	if r.version == version {
		return false
	}
	if r.version <= k.chain {
		return version > r.version
	}
	p := versionPair{r.key, version, r.version}
	if version > k.chain && !v.forced[p] {
		v.forced[p] = true
		v.c.overwrite(r.key, version, r.version, nil, t)
	}
	return false
}

// lanes is how many writers are followed at a time.
const lanes = 256

// mask has a bit for each of them.
type mask [lanes / 64]uint64

func (m *mask) has(i int) bool { return m[i/64]>>(i%64)&1 != 0 }

// judgeCausal follows who sees whom over any number of reads, the versions of
// a few keys at a time.
func (v *visibility) judgeCausal(only []bool) {
	f := v.newFlow()
	if f == nil {
		return // a cycle of who read from whom is found without the versions
	}
	var batch []keyVersion
	for key := range v.c.keys {
		k := &v.c.keys[key]
		for version := int32(1); version < int32(len(k.writers)); version++ {
			batch = append(batch, keyVersion{int32(key), version, 0})
			if len(batch) == lanes {
				f.follow(batch, only)
				batch = batch[:0]
			}
			if v.cycle != nil || v.c.full || v.ctx.Err() != nil {
				return
			}
		}
	}
	f.follow(batch, only)
}

// flow is the graph of who sees whom: the transactions, then a node for each
// version of a list, which is seen with all that follow.
type flow struct {
	v      *visibility
	graph  *graph
	order  []int32
	offset []int32 // by key, of the nodes of its versions
	masks  []mask
}

func (v *visibility) newFlow() *flow {
	f := &flow{v: v, offset: make([]int32, len(v.c.keys))}
	l := newEdgeList(int(v.c.txns), 2*len(v.c.h.ops))
	for key := range v.c.keys {
		k := &v.c.keys[key]
		f.offset[key] = l.nodes - 1
		for version := int32(1); version <= k.chain; version++ {
			node := l.node()
			if version > 1 {
				l.add(node-1, node, wr)
			}
			l.add(k.writers[version], node, wr)
		}
		for _, r := range k.reads {
			switch {
			case r.version > k.chain:
				l.add(k.writers[r.version], r.txn, wr)
			case r.version > 0:
				f.list(l, int32(key), r)
			}
		}
	}
	if v.session != nil {
		for i, from := range v.session.from {
			l.add(from, v.session.to[i], process)
		}
	}
	f.graph = l.build()
	f.masks = make([]mask, l.nodes)
	cyclic := false
	f.graph.components(v.ctx, wr|process, func(members []int32) {
		cyclic = cyclic || len(members) > 1
		f.order = append(f.order, members...)
	})
	if cyclic || len(f.order) < int(l.nodes) {
		return nil
	}
	return f
}

// list links the versions that a read of a list shows; its own is among them if
// it appended to the list before it read it.
func (f *flow) list(l *edgeList, key int32, r access) {
	l.add(f.offset[key]+r.version, r.txn, wr)
}

// follow finds who sees the versions of a batch, and holds what these read
// against them.
func (f *flow) follow(batch []keyVersion, only []bool) {
	v := f.v
	clear(f.masks)
	begin := map[int32]int{} // by key, where its versions begin in the batch
	wrote := map[int32][]int{}
	for i, b := range batch {
		if _, some := begin[b.key]; !some {
			begin[b.key] = i
		}
		t := v.c.keys[b.key].writers[b.version]
		wrote[t] = append(wrote[t], i)
	}
	// The order has those that are reached first.
	for i := len(f.order) - 1; i >= 0; i-- {
		node := f.order[i]
		m := f.masks[node]
		for _, bit := range wrote[node] {
			m[bit/64] |= 1 << (bit % 64)
		}
		if m == (mask{}) {
			continue
		}
		for _, to := range f.graph.to[f.graph.start[node]:f.graph.start[node+1]] {
			for w := range m {
				f.masks[to][w] |= m[w]
			}
		}
	}
	for t := range v.c.txns {
		if f.masks[t] == (mask{}) || only != nil && !only[t] {
			continue
		}
		for _, r := range v.reads[t] {
			if from, some := begin[r.key]; some {
				f.compare(t, r, batch, from)
			}
			if v.cycle != nil {
				return
			}
		}
	}
}

func (f *flow) compare(t int32, r keyVersion, batch []keyVersion, from int) {
	v := f.v
	k := &v.c.keys[r.key]
	var before mask
	if r.version > k.chain {
		before = f.masks[k.writers[r.version]]
	}
	for i := from; i < len(batch) && batch[i].key == r.key; i++ {
		seen := k.writers[batch[i].version]
		if !f.masks[t].has(i) || seen == t || before.has(i) {
			continue
		}
		if v.late(t, r, batch[i].version) {
			v.cycle = f.close(t, seen, r, batch[i].version)
			return
		}
	}
}

// close returns the cycle of t, which missed what seen wrote, and those over
// which t sees it.
func (f *flow) close(t, seen int32, r keyVersion, version int32) []acyclic.Edge {
	v := f.v
	var edges []acyclic.Edge
	for key := range v.c.keys {
		k := &v.c.keys[key]
		for _, a := range k.reads {
			first := a.version
			if a.version <= k.chain {
				first = 1
			}
			for i := max(first, 1); i <= a.version; i++ {
				if k.writers[i] != a.txn {
					edges = append(edges, v.edge(reason{kind: wr, key: int32(key), from: k.writers[i], to: a.txn, a: i, b: a.version, via: noTxn}))
				}
			}
		}
	}
	if v.session != nil {
		for i, from := range v.session.from {
			edges = append(edges, v.edge(reason{kind: process, key: -1, from: from, to: v.session.to[i], via: noTxn}))
		}
	}
	missed := v.edge(reason{kind: rw, key: r.key, from: t, to: seen, a: r.version, b: version, via: noTxn})
	missed.Private = true
	return acyclic.Cycle(v.ctx, int(v.c.txns), append(edges, missed))
}
