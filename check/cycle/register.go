package cycle

type registerState struct {
	keyState
	// read is each operation's version read; noVersion if no transaction is known to have left it.
	read []version
	// intermediate is true for each write that its transaction followed by another.
	intermediate []bool
	updated      []int32 // by version: the first transaction that read and wrote it, plus one
	uses         []use
	// edges are sorted by their origin.
	edges []versionEdge
	// readers is, by version, one plus the first operation that read it. nextReader is, by
	// operation, the next one that read the same.
	readers, nextReader []int32
}

// version is a state of a register: 0 for the initial one, or else an entry's number plus one.
type version = int32

const (
	initial   version = 0
	noVersion version = -1
)

// use is the first and the last version of a register that a transaction saw or left, for others.
type use struct {
	txn         int32
	first, last version
	// read is the version read before the first write, or noVersion.
	read  version
	wrote bool
}

func (in *inference) readRegister(key int32) *registerState {
	s := &in.register
	in.openKey(&s.keyState, key)
	s.read = append(s.read[:0], make([]version, len(s.ops))...)
	s.intermediate = append(s.intermediate[:0], make([]bool, len(s.ops))...)
	s.edges, s.uses = s.edges[:0], s.uses[:0]
	for i := range s.kept {
		if s.kept[i].kind() == Write {
			in.enterWriter(&s.keyState, int32(i))
		}
	}
	s.visits(func(_ int32, from, to int) {
		wrote := false
		for i := to - 1; i >= from; i-- {
			if s.kept[i].kind() == Write {
				s.intermediate[i], wrote = wrote, true
			}
		}
	})
	for i := range s.kept {
		if op := s.kept[i]; op.kind() == ReadValue {
			e := s.table.put(op.val)
			s.table.entries[e].seen = true
			s.read[i] = noVersion
			if in.effective(&s.keyState, e) && !s.intermediate[s.table.entries[e].writer] {
				s.read[i] = e + 1
			}
		}
	}
	s.visits(func(txn int32, from, to int) { in.use(s, txn, from, to) })
	s.readers = append(s.readers[:0], make([]int32, len(s.table.entries)+1)...)
	s.nextReader = append(s.nextReader[:0], make([]int32, len(s.ops))...)
	for i := len(s.ops) - 1; i >= 0; i-- {
		if v := s.read[i]; v != noVersion && s.kept[i].kind() != Write {
			s.nextReader[i] = s.readers[v]
			s.readers[v] = int32(i) + 1
		}
	}
	return s
}

func (in *inference) use(s *registerState, txn int32, from, to int) {
	if !in.h.possible(txn) {
		return
	}
	u := use{txn: txn, first: noVersion, last: noVersion, read: noVersion}
	for i := from; i < to; i++ {
		if op := s.kept[i]; op.kind() == Write && !s.intermediate[i] {
			u.last, u.wrote = s.table.find(op.val)+1, true
		}
	}
	if s.kept[from].kind() == Write {
		u.first = u.last
	} else {
		u.first, u.read = s.read[from], s.read[from]
		if !u.wrote {
			u.last = u.first
		}
	}
	s.uses = append(s.uses, u)
}

func (in *inference) inferRegister(key int32) {
	s := in.readRegister(key)
	s.visits(func(txn int32, from, to int) {
		if in.h.committed(txn) {
			in.judgeInside(s, from, to)
		}
	})
	if s.sameWrites != nil {
		in.setAmbiguous(key, s.sameWrites[0], s.sameWrites[1])
		return
	}
	s.updated = append(s.updated[:0], make([]int32, len(s.table.entries)+1)...)
	s.visits(func(txn int32, from, to int) {
		if in.h.committed(txn) {
			in.judgeFutureValue(s, txn, from, to)
		}
	})
	for i := range s.kept {
		if s.kept[i].kind() == ReadValue {
			in.judgeValue(s, i)
		}
	}
	for _, u := range s.uses {
		in.judgeRegisterUpdate(s, u)
	}
	in.orderVersions(s, func(cycle []versionEdge) {
		in.contradicted = in.contradicted || in.assumes(cycle)
		in.cases.add(cyclicVersions, func() Evidence { return in.cyclicEvidence(s, cycle) })
	})
	in.linkRegister(s)
}

// judgeInside looks for a read that differs from the transaction's own previous read or write. If
// it differs from a write, no model allows it.
func (in *inference) judgeInside(s *registerState, from, to int) {
	last, wrote := int32(-1), int32(-1)
	for i := from; i < to; i++ {
		o := s.ops[i]
		if in.h.ops[o].kind() == Write {
			last, wrote = o, o
			continue
		}
		if last >= 0 && !in.sameValue(last, o) {
			before, kind := last, internal
			if wrote >= 0 && !in.sameValue(wrote, o) {
				kind = ownUnseen
			}
			in.cases.add(kind, func() Evidence { return in.internalRegisterEvidence(before, o) })
		}
		last = o
	}
}

// judgeFutureValue looks for a read of a value that the transaction writes only later.
func (in *inference) judgeFutureValue(s *registerState, txn int32, from, to int) {
	for i := from; i < to; i++ {
		o := s.ops[i]
		op := in.h.ops[o]
		if op.kind() != ReadValue {
			continue
		}
		w := s.table.entries[s.table.find(op.val)].writer
		if w > int32(i) && w < int32(to) {
			in.cases.add(futureRead, func() Evidence { return in.futureEvidence(txn, o, s.ops[w]) })
		}
	}
}

// sameValue reports whether operation b read what a read or wrote.
func (in *inference) sameValue(a, b int32) bool {
	x, y := in.h.ops[a], in.h.ops[b]
	nothing := x.kind() == ReadNothing
	return nothing == (y.kind() == ReadNothing) && (nothing || x.val == y.val)
}

func (in *inference) judgeValue(s *registerState, i int) {
	o := s.ops[i]
	op := in.h.ops[o]
	e := s.table.find(op.val)
	w := s.table.entries[e].writer
	switch {
	case w < 0:
		in.cases.add(garbageRead, func() Evidence { return in.garbageEvidence(o, op.val) })
	case !in.h.possible(in.writer(&s.keyState, e)):
		in.cases.add(g1a, func() Evidence { return in.abortedEvidence(o, s.ops[w]) })
	default:
		if s.intermediate[w] && in.writer(&s.keyState, e) != op.txn {
			in.cases.add(g1b, func() Evidence { return in.intermediateEvidence(o, s.ops[w]) })
		}
		in.edges.add(in.writer(&s.keyState, e), op.txn, wr)
	}
}

// judgeRegisterUpdate looks for two committed transactions that read the same version and then both
// wrote.
func (in *inference) judgeRegisterUpdate(s *registerState, u use) {
	if u.read == noVersion || !u.wrote {
		return
	}
	if other := s.updated[u.read]; other != 0 {
		in.cases.add(lostUpdate, func() Evidence {
			var value []int64
			if u.read != initial {
				value = []int64{s.table.entries[u.read-1].elem}
			}
			return in.updateEvidence(s.key, other-1, u.txn, value)
		})
		return
	}
	s.updated[u.read] = u.txn + 1
}

// linkRegister adds the rw edges from the readers of each version to the writers of the next
// versions, and the ww edges between the writers.
//
// A version that follows from a read and a write of one transaction gives no ww edge, unless that
// is assumed. The wr edge from the version read proves more, because it rests on no order of
// versions.
func (in *inference) linkRegister(s *registerState) {
	for from := 0; from < len(s.edges); {
		to := from
		v := s.edges[from].from
		in.before, in.after = in.before[:0], in.after[:0]
		for ; to < len(s.edges) && s.edges[to].from == v; to++ {
			w := in.writer(&s.keyState, s.edges[to].to-1)
			in.after = append(in.after, w)
			if v != initial && (s.edges[to].source != writeFollowsRead || in.o.WritesFollowReads) {
				in.edges.add(in.writer(&s.keyState, v-1), w, ww)
			}
		}
		for i := s.readers[v]; i != 0; i = s.nextReader[i-1] {
			in.before = append(in.before, s.kept[i-1].txn)
		}
		in.edges.join(in.before, in.after, rw)
		in.findStaleRegister(s, v)
		from = to
	}
}

// findStaleRegister looks for readers of a version that in.after replaced before they began.
func (in *inference) findStaleRegister(s *registerState, v version) {
	soonest := int32(-1)
	for _, t := range in.after {
		if in.h.committed(t) && (soonest < 0 || in.h.complete(t) < in.h.complete(soonest)) {
			soonest = t
		}
	}
	if soonest < 0 {
		return
	}
	for i := s.readers[v]; i != 0; i = s.nextReader[i-1] {
		o := s.ops[i-1]
		if in.h.complete(soonest) < in.h.invoke(in.h.ops[o].txn) {
			in.findings.add(staleRead, func() Evidence { return in.staleEvidence(o, in.lastWrite(s, soonest)) })
		}
	}
}

func (in *inference) lastWrite(s *registerState, txn int32) int32 {
	for i, o := range s.ops {
		if op := s.kept[i]; op.txn == txn && op.kind() == Write && !s.intermediate[i] {
			return o
		}
	}
	return -1
}
