package cycle

import (
	"cmp"
	"slices"

	"assay/check/cycle/acyclic"
)

// judgeCausal follows which transaction sees which over any number of reads, some chains at a time.
func (v *visibility) judgeCausal(only []bool) {
	f := v.newFlow()
	if f == nil {
		return // a cycle of who read from whom is found without the versions
	}
	f.cover()
	f.index(only)
	for from := int32(0); from < f.chains; from += lanes {
		f.follow(from)
		for key := range int32(len(v.c.keys)) {
			f.compare(key, from)
			if v.cycle != nil || v.c.full || key%1024 == 0 && v.ctx.Err() != nil {
				return
			}
		}
	}
}

const lanes = 16

// clock is the place in each lane's chain of the last transaction seen, not counting itself, or -1.
type clock [lanes]int32

// flow is the graph of which transaction sees which. Its nodes are the transactions, and then each
// version of a list, from which an edge leads to the next version.
//
// Chains of transactions cover the graph, in which each transaction sees the one before. One
// number for each chain then says how much a transaction sees. Of a key's writes in a chain only
// the last one seen matters. This is AWDIT's algorithm for causal consistency (Moldrup and
// Pavlogiannis, PLDI 2025), whose chains are the sessions.
type flow struct {
	v             *visibility
	graph         *graph
	order         []int32 // of all nodes, those first that are seen by others
	offset        []int32 // by key, of the nodes of its versions
	chain, place  []int32
	chains        int32
	clocks        []clock        // by node
	reads, writes groups[keyUse] // by key
	// passed is, for each version of the current key, the place in each chain up to which writes
	// are known to precede it.
	passed []clock
	// begun is, by key, its first write in a chain not followed yet.
	begun []int32
}

type keyUse struct{ chain, place, version, txn int32 }

func (v *visibility) newFlow() *flow {
	f := &flow{v: v, offset: make([]int32, len(v.c.keys))}
	l := newEdgeList(int(v.c.txns))
	if v.session != nil {
		for _, e := range v.session.edges {
			l.add(e.from, e.to, process)
		}
	}
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
			case r.version > 0: // even if the reader had appended it
				l.add(f.offset[key]+r.version, r.txn, wr)
			}
		}
	}
	f.graph = l.build()
	cyclic := false
	f.graph.components(v.ctx, wr|process, func(members []int32) {
		cyclic = cyclic || len(members) > 1
		f.order = append(f.order, members...)
	})
	if cyclic || len(f.order) < int(l.nodes) {
		return nil
	}
	slices.Reverse(f.order)
	return f
}

// cover makes the chains. A transaction is followed by the first transaction that sees it directly
// and is in no chain. If the client's order counts, that is the client's next.
func (f *flow) cover() {
	n := f.v.c.txns
	f.chain, f.place = make([]int32, n), make([]int32, n)
	for t := range f.chain {
		f.chain[t] = -1
	}
	for _, t := range f.order {
		if t >= n || len(f.v.reads.of(t))+len(f.v.writes.of(t)) == 0 {
			continue
		}
		if f.chain[t] < 0 {
			f.chain[t] = f.chains
			f.chains++
		}
		for _, next := range f.graph.to[f.graph.start[t]:f.graph.start[t+1]] {
			if next < n && f.chain[next] < 0 {
				f.chain[next], f.place[next] = f.chain[t], f.place[t]+1
				break
			}
		}
	}
}

// index sorts the reads and writes of each key by chain and place. only, if not nil, selects the
// readers.
func (f *flow) index(only []bool) {
	v := f.v
	sorted := make([]int32, 0, len(f.chain))
	for _, node := range f.order {
		if node < v.c.txns && f.chain[node] >= 0 {
			sorted = append(sorted, node)
		}
	}
	slices.SortStableFunc(sorted, func(a, b int32) int { return cmp.Compare(f.chain[a], f.chain[b]) })
	readers := sorted
	if only != nil {
		readers = slices.DeleteFunc(slices.Clone(sorted), func(t int32) bool { return !only[t] })
	}
	f.reads, f.writes = f.byKey(readers, &v.reads), f.byKey(sorted, &v.writes)
	f.clocks, f.begun = make([]clock, f.graph.nodes()), make([]int32, len(v.c.keys))
}

// byKey sorts the reads or writes of transactions by key, and keeps their order otherwise.
func (f *flow) byKey(txns []int32, of *groups[keyVersion]) groups[keyUse] {
	return group(len(f.v.c.keys), func(visit func(int32, keyUse)) {
		for _, t := range txns {
			for _, v := range of.of(t) {
				visit(v.key, keyUse{f.chain[t], f.place[t], v.version, t})
			}
		}
	})
}

// follow computes the clocks for the chains from chain on.
func (f *flow) follow(chain int32) {
	for i := range f.clocks {
		f.clocks[i] = nothingSeen
	}
	for _, node := range f.order {
		m := f.reached(node, chain)
		for _, to := range f.graph.to[f.graph.start[node]:f.graph.start[node+1]] {
			other := &f.clocks[to]
			for lane := range m {
				other[lane] = max(other[lane], m[lane])
			}
		}
	}
}

var nothingSeen = clock{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}

// reached is the clock of a transaction that sees a node: the node itself counts.
func (f *flow) reached(node, chain int32) clock {
	m := f.clocks[node]
	if node < f.v.c.txns {
		if lane := f.chain[node] - chain; lane >= 0 && lane < lanes {
			m[lane] = f.place[node]
		}
	}
	return m
}

// compare compares the reads of a key with the last write of it that each reader sees in some
// chains. Along each chain readers see more and more. So one walk finds all their last writes, in
// O(n k) steps for n operations and k chains.
func (f *flow) compare(key, chain int32) {
	writes, reads := f.writes.of(key), f.reads.of(key)
	from := f.begun[key]
	to := from
	var begin, end [lanes]int32
	var room [lanes]int32
	active := room[:0]
	for ; int(to) < len(writes) && writes[to].chain < chain+lanes; to++ {
		lane := writes[to].chain - chain
		if len(active) == 0 || active[len(active)-1] != lane {
			begin[lane] = to
			active = append(active, lane)
		}
		end[lane] = to + 1
	}
	f.begun[key] = to
	if len(active) == 0 || len(reads) == 0 {
		return
	}
	k := &f.v.c.keys[key]
	f.passed = f.passed[:0]
	for version, writer := range k.writers {
		before := nothingSeen
		if int32(version) > k.chain {
			before = f.reached(writer, chain)
		}
		f.passed = append(f.passed, before)
	}
	var next [lanes]int32
	reader := int32(-1)
	for _, r := range reads {
		if r.chain != reader {
			reader, next = r.chain, begin
		}
		sees, passed := &f.clocks[r.txn], &f.passed[r.version]
		for _, lane := range active {
			at := next[lane]
			for at < end[lane] && writes[at].place <= sees[lane] {
				at++
			}
			f.v.steps += int64(at-next[lane]) + 1
			next[lane] = at
			if at == begin[lane] || writes[at-1].place <= passed[lane] {
				continue
			}
			last := writes[at-1]
			passed[lane] = last.place
			if read := (keyVersion{key: key, version: r.version}); f.v.readOlder(r.txn, read, last.version) {
				f.v.cycle = f.close(r.txn, last.txn, read, last.version)
				return
			}
		}
	}
}

// close returns the cycle of t, which missed a write of seen, and of the path over which t sees it.
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
		for _, e := range v.session.edges {
			edges = append(edges, v.edge(reason{kind: process, key: -1, from: e.from, to: e.to, via: noTxn}))
		}
	}
	missed := v.edge(reason{kind: rw, key: r.key, from: t, to: seen, a: r.version, b: version, via: noTxn})
	missed.Private = true
	return acyclic.Cycle(v.ctx, int(v.c.txns), append(edges, missed))
}
