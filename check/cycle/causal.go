package cycle

import (
	"cmp"
	"slices"

	"assay/check/cycle/acyclic"
)

// judgeCausal follows who sees whom over any number of reads, a few chains of
// writers at a time.
func (v *visibility) judgeCausal(only []bool) {
	f := v.newFlow()
	if f == nil {
		return // a cycle of who read from whom is found without the versions
	}
	f.cover()
	f.index()
	for from := int32(0); from < f.chains; from += lanes {
		f.follow(from, only)
		if v.cycle != nil || v.c.full || v.ctx.Err() != nil {
			return
		}
	}
}

// lanes is how many chains are followed at a time.
const lanes = 16

// clock has of some chains how far a transaction sees each: the place in it of the
// last whom it sees, itself not counted, or -1.
type clock [lanes]int32

// flow is the graph of who sees whom: the transactions, then a node for each
// version of a list, which is seen with all that follow. It is covered by chains
// of transactions of which each sees the one before it, so that how much a
// transaction sees is one number a chain, and of the writes of a key in a chain
// the last that it sees is enough: AWDIT's algorithm for causal consistency
// (Moldrup and Pavlogiannis, PLDI 2025), whose chains are the sessions.
type flow struct {
	v      *visibility
	graph  *graph
	order  []int32 // of all nodes, those first that are seen by others
	offset []int32 // by key, of the nodes of its versions
	// chain and place have by transaction where it is.
	chain, place []int32
	chains       int32
	clocks       []clock // by node
	// writes of key k in each chain that has any are segments[first[k]:first[k+1]].
	segments []segment
	first    []int32
	written  []keyVersion
}

// segment is written[from:to], what a chain wrote of a key in its order.
type segment struct{ chain, from, to int32 }

func (v *visibility) newFlow() *flow {
	f := &flow{v: v, offset: make([]int32, len(v.c.keys))}
	l := newEdgeList(int(v.c.txns), 2*len(v.c.h.ops))
	if v.session != nil {
		for i, from := range v.session.from {
			l.add(from, v.session.to[i], process)
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
			case r.version > 0:
				f.list(l, int32(key), r)
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

// cover makes the chains: a transaction goes on to the first whom it leads to and
// who is in none, which is the next of its client if that order counts.
func (f *flow) cover() {
	n := f.v.c.txns
	f.chain, f.place = make([]int32, n), make([]int32, n)
	for t := range f.chain {
		f.chain[t] = -1
	}
	for _, t := range f.order {
		if t >= n || len(f.v.reads[t])+len(f.v.writes[t]) == 0 {
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

// index sorts the writes of each key by chain and place.
func (f *flow) index() {
	for key := range f.v.c.keys {
		f.first = append(f.first, int32(len(f.segments)))
		k := &f.v.c.keys[key]
		begin := len(f.written)
		for version := int32(1); version < int32(len(k.writers)); version++ {
			f.written = append(f.written, keyVersion{int32(key), version, k.writers[version]})
		}
		slices.SortFunc(f.written[begin:], func(a, b keyVersion) int {
			return cmp.Or(cmp.Compare(f.chain[a.op], f.chain[b.op]), cmp.Compare(f.place[a.op], f.place[b.op]))
		})
		for i := begin; i < len(f.written); i++ {
			if c := f.chain[f.written[i].op]; i == begin || f.segments[len(f.segments)-1].chain != c {
				f.segments = append(f.segments, segment{c, int32(i), int32(i)})
			}
			f.segments[len(f.segments)-1].to++
		}
	}
	f.first = append(f.first, int32(len(f.segments)))
	f.clocks = make([]clock, f.graph.nodes())
}

// list links the versions that a read of a list shows; its own is among them if
// it appended to the list before it read it.
func (f *flow) list(l *edgeList, key int32, r access) {
	l.add(f.offset[key]+r.version, r.txn, wr)
}

// follow finds how far each transaction sees some chains, and holds what it read
// against what these wrote.
func (f *flow) follow(chain int32, only []bool) {
	v := f.v
	for i := range f.clocks {
		for lane := range f.clocks[i] {
			f.clocks[i][lane] = -1
		}
	}
	for _, node := range f.order {
		m := f.clocks[node]
		if node < v.c.txns {
			if lane := f.chain[node] - chain; lane >= 0 && lane < lanes {
				m[lane] = f.place[node]
			}
		}
		for _, to := range f.graph.to[f.graph.start[node]:f.graph.start[node+1]] {
			other := &f.clocks[to]
			for lane := range m {
				other[lane] = max(other[lane], m[lane])
			}
		}
	}
	for t := range v.c.txns {
		if only != nil && !only[t] {
			continue
		}
		for _, r := range v.reads[t] {
			if f.compare(t, r, chain) {
				return
			}
		}
	}
}

// compare holds a read of t against the last write of its key that t sees in each
// of some chains. It returns true if t missed one.
func (f *flow) compare(t int32, r keyVersion, chain int32) bool {
	segments := f.segments[f.first[r.key]:f.first[r.key+1]]
	at, _ := slices.BinarySearchFunc(segments, chain, func(s segment, c int32) int { return cmp.Compare(s.chain, c) })
	writer := f.v.c.keys[r.key].writers[r.version]
	for _, s := range segments[at:] {
		lane := s.chain - chain
		if lane >= lanes {
			break
		}
		known := int32(-1) // how far who wrote what was read sees the chain, itself counted
		if writer != noTxn && r.version > f.v.c.keys[r.key].chain {
			if known = f.clocks[writer][lane]; f.chain[writer] == s.chain {
				known = f.place[writer]
			}
		}
		sees := f.clocks[t][lane]
		if sees <= known {
			continue
		}
		writes := f.written[s.from:s.to]
		next, _ := slices.BinarySearchFunc(writes, sees+1, func(w keyVersion, place int32) int { return cmp.Compare(f.place[w.op], place) })
		if next == 0 || f.place[writes[next-1].op] <= known {
			continue
		}
		if last := writes[next-1]; f.v.late(t, r, last.version) {
			f.v.cycle = f.close(t, last.op, r, last.version)
			return true
		}
	}
	return false
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
