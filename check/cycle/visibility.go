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

// keyVersion is a version of a key and the operation concerned, or in flow.written
// the transaction.
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
