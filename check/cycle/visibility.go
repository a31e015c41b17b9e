package cycle

import (
	"cmp"
	"context"
	"slices"

	"assay/check/cycle/acyclic"
)

// visibility judges the rules atomic, monotonicAtomic and causal: a transaction that sees another
// and reads a key that the other wrote must read that write or a later version. Which transactions
// it sees does not depend on the order of versions. So each read orders some versions once and for
// all. The rule holds if these orders and the reads have no cycle: the saturation of Biswas and
// Enea (OOPSLA 2019), which takes a single round here.
type visibility struct {
	c   *constraints
	ctx context.Context
	// reads and writes are those of each transaction, sorted by key.
	reads, writes groups[keyVersion]
	// forced are pairs of transactions that are linked already.
	forced map[[2]int32]bool
	// session has the order of each client, if that counts.
	session *edgeList
	// cycle is a contradiction in any order. cases counts the transactions with one, if counted.
	cycle []acyclic.Edge
	cases int64
	// met is, by transaction, one plus the last that saw it; byOp is scratch memory. steps counts
	// comparisons.
	met   []int32
	byOp  []keyVersion
	steps int64
}

type keyVersion struct{ key, version, op int32 }

func (in *inference) newVisibility(ctx context.Context, keys []keyOrder, j judgement) *visibility {
	n := int32(in.h.Len())
	c := &constraints{h: in.h, rule: j.rule, keys: keys, txns: n, nodes: n, room: edgeRoom + 16*len(in.h.ops)}
	v := &visibility{c: c, ctx: ctx, forced: map[[2]int32]bool{}}
	v.reads = group(int(n), func(visit func(int32, keyVersion)) {
		for i := range keys {
			for _, r := range keys[i].reads {
				visit(r.txn, keyVersion{int32(i), r.version, r.op})
			}
		}
	})
	v.writes = group(int(n), func(visit func(int32, keyVersion)) {
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
	return v
}

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

// judgeAtomic examines the transactions that each transaction reads from. only, if not nil,
// excludes transactions known to be in no cycle.
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

// missed reports whether t missed a part of what it sees. It examines each seen transaction once:
// at the first operation of t that saw any of it.
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

// compare compares the reads of t with the writes of seen, which t sees by an operation. It returns
// true, and keeps the first case, if t missed a write. It looks up the fewer of the two among the
// others, which makes O(n^1.5) for n operations in total (Moldrup and Pavlogiannis, PLDI 2025,
// lemma on read atomic).
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

// skipTo skips keys before key, in steps that double until they are too long.
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

// readOlder reports whether the version that t read is known to precede another that t sees. If
// their order is open, it puts the version that was read later.
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

// force reports whether two transactions must be linked, which happens once.
func (v *visibility) force(from, to int32) bool {
	pair := [2]int32{from, to}
	known := v.forced[pair]
	v.forced[pair] = true
	return !known
}
