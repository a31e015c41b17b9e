package cycle

import (
	"cmp"
	"context"
	"slices"

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
	// reads and writes are what each transaction read and wrote, sorted by key.
	reads, writes grouped
	// forced are pairs of transactions that are linked already.
	forced elemTable
	// session has the order of each client, if that counts.
	session *edgeList
	// cycle is a contradiction that does not need any order, and cases is in how
	// many transactions there is one, if that was counted.
	cycle []acyclic.Edge
	cases int64
	// met has by transaction who saw it last, plus one, and byOp are reads, for a
	// moment; steps counts what was compared.
	met   []int32
	byOp  []keyVersion
	steps int64
}

// keyVersion is a version of a key and the operation that read or wrote it.
type keyVersion struct{ key, version, op int32 }

// grouped are versions sorted by transaction: those of t are
// all[start[t]:start[t+1]].
type grouped struct {
	all   []keyVersion
	start []int32
}

func (g *grouped) of(txn int32) []keyVersion { return g.all[g.start[txn]:g.start[txn+1]] }

// group sorts what each calls visit with by transaction; each is called twice and
// must do the same.
func group(txns int32, each func(visit func(txn int32, v keyVersion))) grouped {
	// Counted two positions up and summed one position up, as in edgeList.build.
	g := grouped{start: make([]int32, txns+2)}
	each(func(txn int32, _ keyVersion) { g.start[txn+2]++ })
	for t := range txns {
		g.start[t+2] += g.start[t+1]
	}
	g.all = make([]keyVersion, g.start[txns+1])
	each(func(txn int32, v keyVersion) {
		g.all[g.start[txn+1]] = v
		g.start[txn+1]++
	})
	return g
}

// newVisibility puts down who read from whom and which versions are in order.
func (in *inference) newVisibility(ctx context.Context, keys []keyOrder, j judgement) *visibility {
	n := int32(in.h.Len())
	c := &constraints{h: in.h, rule: j.rule, keys: keys, txns: n, nodes: n, room: edgeRoom + 16*in.h.ops.len()}
	v := &visibility{c: c, ctx: ctx}
	v.reads = group(n, func(visit func(int32, keyVersion)) {
		for i := range keys {
			for _, r := range keys[i].reads {
				visit(r.txn, keyVersion{int32(i), r.version, r.op})
			}
		}
	})
	v.writes = group(n, func(visit func(int32, keyVersion)) {
		for i := range keys {
			for version := int32(1); version < int32(len(keys[i].writers)); version++ {
				visit(keys[i].writers[version], keyVersion{int32(i), version, keys[i].writes[version]})
			}
		}
	})
	c.reserve(len(v.reads.all) + len(v.writes.all) + int(n))
	for i := range keys {
		k, key := &keys[i], int32(i)
		for version := int32(1); version < int32(len(k.writers)); version++ {
			if version > 1 && version <= k.chain {
				c.overwrite(key, version-1, version, 0, noTxn)
			} else if version > k.chain && k.chain > 0 {
				c.overwrite(key, k.chain, version, 0, noTxn)
			}
		}
		for _, r := range k.reads {
			if r.version > 0 {
				c.read(key, r)
			}
		}
		for i := range k.known {
			c.overwrite(key, k.known[i].a, k.known[i].b, int32(i)+1, noTxn)
		}
	}
	if j.extra == process {
		v.session = newEdgeList(int(n))
		v.session.addProcess(in.h)
		c.addOutside(process)
	}
	v.forced.reset(int(n))
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
	v.met = make([]int32, v.c.txns)
	for t := range v.c.txns {
		if v.c.full || t%4096 == 0 && v.ctx.Err() != nil {
			return
		}
		if len(v.reads.of(t)) < 2 || only != nil && !only[t] {
			continue
		}
		if v.missed(t) {
			v.cases++
		}
	}
}

// missed says that t missed a part of what it sees. Each transaction that it sees
// is looked at once: from the first operation of t on that saw any of it.
func (v *visibility) missed(t int32) bool {
	v.byOp = append(v.byOp[:0], v.reads.of(t)...)
	slices.SortFunc(v.byOp, func(a, b keyVersion) int { return cmp.Compare(a.op, b.op) })
	for _, by := range v.byOp {
		k := &v.c.keys[by.key]
		first := max(by.version, 1)
		if by.version <= k.chain {
			first = 1 // a list shows all that was appended before
		}
		for version := first; version <= by.version; version++ {
			seen := k.writers[version]
			if seen == t || v.met[seen] == t+1 {
				continue
			}
			v.met[seen] = t + 1
			if v.compare(t, seen, keyVersion{by.key, version, by.op}) {
				return true
			}
		}
	}
	return false
}

// compare holds what t reads against what seen wrote, of which t sees by. It
// returns true, and keeps the first case, if t missed some of that. The fewer of
// the two are looked for among the others, which makes it O(n^1.5) for all of n
// operations (Moldrup and Pavlogiannis, PLDI 2025, lemma on read atomic).
func (v *visibility) compare(t, seen int32, by keyVersion) bool {
	reads, writes := v.reads.of(t), v.writes.of(seen)
	for len(reads) > 0 && len(writes) > 0 {
		v.steps++
		r, w := reads[0], writes[0]
		switch {
		case r.key < w.key:
			reads = skipTo(reads, w.key)
		case w.key < r.key:
			writes = skipTo(writes, r.key)
		default:
			reads = reads[1:]
			if v.c.rule == monotonicAtomic && r.op <= by.op || !v.readOlder(t, r, w.version) {
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

// skipTo leaves out what is of keys before key, in steps that are doubled until
// they are too long.
func skipTo(sorted []keyVersion, key int32) []keyVersion {
	step := 1
	for step < len(sorted) && sorted[step].key < key {
		step *= 2
	}
	from, to := step/2, min(step+1, len(sorted))
	at, _ := slices.BinarySearchFunc(sorted[from:to], key, func(v keyVersion, key int32) int { return cmp.Compare(v.key, key) })
	return sorted[from+at:]
}

func (v *visibility) edge(r reason) acyclic.Edge {
	return acyclic.Edge{From: r.from, To: r.to, Tag: v.c.tag(r)}
}

// readOlder says that the version that t read is known to come before another, which
// t sees. If their order is open, the other is put first.
func (v *visibility) readOlder(t int32, r keyVersion, version int32) bool {
	k := &v.c.keys[r.key]
	if r.version == version {
		return false
	}
	if r.version <= k.chain {
		return version > r.version
	}
	if version > k.chain && v.force(k.writers[version], k.writers[r.version]) {
		v.c.overwrite(r.key, version, r.version, 0, t)
	}
	return false
}

// force reports whether two transactions are to be linked, which they are once.
func (v *visibility) force(from, to int32) bool {
	known := len(v.forced.entries)
	v.forced.put(int64(from)<<32 | int64(to))
	return len(v.forced.entries) > known
}
