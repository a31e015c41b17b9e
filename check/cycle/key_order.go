package cycle

import (
	"context"
	"slices"
)

// noTxn is no transaction, such as the writer of the initial state.
const noTxn = int32(-1)

// keyOrder holds the writers and readers of one key by versions: what each transaction that took
// effect left behind. Version 0 is the initial state.
type keyOrder struct {
	key int32
	// writers, values and writes are, by version, the transaction, the value (of a list the last
	// element) and the operation.
	writers []int32
	values  []int64
	writes  []int32
	// chain is the last of the versions from 0 on whose order the reads of a list show. Later
	// versions are free: they follow in an unknown order.
	chain int32
	// reads are of other transactions' writes: those of version v are reads[first[v]:first[v+1]].
	reads []access
	first []int32
	// known are pairs of free versions whose order is known.
	known []knownOrder
}

// access is one read of another transaction's write.
type access struct {
	txn, version int32
	op           int32 // of the history
	own          int32 // the version that txn wrote itself, or 0
}

type knownOrder struct {
	a, b int32
	edge versionEdge
}

func (k *keyOrder) readsOf(version int32) []access {
	return k.reads[k.first[version]:k.first[version+1]]
}

func (k *keyOrder) free() int { return len(k.writers) - 1 - int(k.chain) }

// accesses collects the writers and readers of each key. The history must have nothing that read
// committed forbids. It returns false if ctx ended first.
func (in *inference) accesses(ctx context.Context) ([]keyOrder, bool) {
	keys := make([]keyOrder, 0, len(in.h.keys))
	took := make([]bool, in.h.Len())
	for t := range took {
		took[t] = in.h.committed(int32(t))
	}
	for key := range int32(len(in.h.keys)) {
		if key%1024 == 0 && ctx.Err() != nil {
			return nil, false
		}
		k := keyOrder{key: key, writers: []int32{noTxn}, values: []int64{0}, writes: []int32{-1}}
		if in.h.kinds[key] == Write {
			in.accessRegister(&k)
		} else {
			in.accessList(&k)
		}
		for _, r := range k.reads {
			if r.version > 0 {
				took[k.writers[r.version]] = true
			}
		}
		for v := int32(1); v <= k.chain; v++ {
			took[k.writers[v]] = true
		}
		keys = append(keys, k)
	}
	wrote := make([]int32, in.h.Len())
	for i := range keys {
		keys[i].finish(took)
		keys[i].linkOwn(wrote)
	}
	return keys, true
}

func (k *keyOrder) add(txn int32, value int64, op int32) int32 {
	k.writers, k.values, k.writes = append(k.writers, txn), append(k.values, value), append(k.writes, op)
	return int32(len(k.writers) - 1)
}

// finish drops unseen versions of transactions of unknown outcome: the rest is as possible without.
func (k *keyOrder) finish(took []bool) {
	number := make([]int32, len(k.writers))
	kept := int32(1)
	for v := int32(1); v < int32(len(k.writers)); v++ {
		if !took[k.writers[v]] {
			number[v] = -1
			continue
		}
		number[v] = kept
		k.writers[kept], k.values[kept], k.writes[kept] = k.writers[v], k.values[v], k.writes[v]
		kept++
	}
	k.writers, k.values, k.writes = k.writers[:kept], k.values[:kept], k.writes[:kept]
	for i := range k.reads {
		k.reads[i].version = number[k.reads[i].version]
	}
	known := k.known[:0]
	for _, p := range k.known {
		if p.a, p.b = number[p.a], number[p.b]; p.a > 0 && p.b > 0 {
			known = append(known, p)
		}
	}
	k.known = known
	slices.SortStableFunc(k.reads, func(a, b access) int { return int(a.version - b.version) })
	k.first = make([]int32, kept+1)
	for _, r := range k.reads {
		k.first[r.version+1]++
	}
	for v := range kept {
		k.first[v+1] += k.first[v]
	}
}

// linkOwn sets the readers' own versions. wrote must have a 0 for each transaction.
func (k *keyOrder) linkOwn(wrote []int32) {
	for v := int32(len(k.writers)) - 1; v > 0; v-- {
		wrote[k.writers[v]] = v
	}
	for i := range k.reads {
		k.reads[i].own = wrote[k.reads[i].txn]
	}
	for _, t := range k.writers[1:] {
		wrote[t] = 0
	}
}

func (in *inference) accessRegister(k *keyOrder) {
	s := in.readRegister(k.key)
	number := make([]int32, len(s.table.entries)+1)
	for e := range int32(len(s.table.entries)) {
		if w := s.table.entries[e].writer; in.effective(&s.keyState, e) && !s.intermediate[w] {
			number[e+1] = k.add(in.writer(&s.keyState, e), s.table.entries[e].elem, s.ops[w])
		}
	}
	for i, o := range s.ops {
		op := s.kept[i]
		if op.kind() == Write || s.read[i] == noVersion || !in.h.committed(op.txn) {
			continue
		}
		if v := number[s.read[i]]; k.writers[v] != op.txn {
			k.reads = append(k.reads, access{txn: op.txn, version: v, op: o})
		}
	}
	in.orderVersions(s, func([]versionEdge) {})
	for _, e := range s.edges {
		if e.from != initial {
			k.known = append(k.known, knownOrder{number[e.from], number[e.to], e})
		}
	}
}

func (in *inference) accessList(k *keyOrder) {
	s := in.readList(k.key)
	unseen := map[int32]int32{}          // by transaction the version that nobody saw
	place := make([]int32, len(s.order)) // to version
	for p, e := range s.order {
		if in.effective(&s.keyState, e) {
			txn, op := in.writer(&s.keyState, e), s.ops[s.table.entries[e].writer]
			if k.chain > 0 && k.writers[k.chain] == txn {
				k.values[k.chain], k.writes[k.chain] = s.table.entries[e].elem, op
			} else {
				k.chain = k.add(txn, s.table.entries[e].elem, op)
			}
		}
		place[p] = k.chain
	}
	for i, o := range s.ops {
		op := s.kept[i]
		if op.kind() != Append {
			if s.at[i] == unplaced {
				continue
			}
			v := int32(0)
			if s.at[i] != beforeAll {
				v = place[s.at[i]]
			}
			if v > 0 && k.writers[v] == op.txn {
				v-- // its own part
			}
			k.reads = append(k.reads, access{txn: op.txn, version: v, op: o})
			continue
		}
		if s.at[i] != unplaced || !in.h.possible(op.txn) {
			continue
		}
		switch last := int32(len(k.writers) - 1); {
		case k.chain > 0 && k.writers[k.chain] == op.txn:
			k.values[k.chain], k.writes[k.chain] = op.val, o
		case last > k.chain && k.writers[last] == op.txn:
			k.values[last], k.writes[last] = op.val, o
		default:
			unseen[op.txn] = k.add(op.txn, op.val, o)
		}
	}
	for _, e := range in.assumedOrder(s) {
		if e.from > s.end() {
			k.known = append(k.known, knownOrder{unseen[e.first], unseen[e.second], e})
		}
	}
}
