package cycle

type keyState struct {
	key        int32
	ops        []int32 // the key's operations
	kept       []op    // the same, copied, since each is looked at many times
	table      elemTable
	sameWrites []int32
}

func (in *inference) openKey(s *keyState, key int32) {
	ops := in.byKey.of(key)
	s.key, s.ops, s.sameWrites = key, ops, nil
	s.kept = s.kept[:0]
	for _, o := range ops {
		s.kept = append(s.kept, in.h.ops[o])
	}
	s.table.reset(len(s.ops))
}

// visits calls visit for each transaction on the key, with the range of its operations.
func (s *keyState) visits(visit func(txn int32, from, to int)) {
	for from := 0; from < len(s.kept); {
		txn := s.kept[from].txn
		to := from + 1
		for to < len(s.kept) && s.kept[to].txn == txn {
			to++
		}
		visit(txn, from, to)
		from = to
	}
}

// enterWriter sets the writer of i's value. Of two, a failed one is ignored: it was tried again.
func (in *inference) enterWriter(s *keyState, i int32) {
	op := s.kept[i]
	e := &s.table.entries[s.table.put(op.val)]
	if e.writer >= 0 {
		if !in.h.possible(op.txn) {
			return
		}
		if other := s.ops[e.writer]; in.h.possible(in.h.ops[other].txn) {
			s.sameWrites = []int32{other, s.ops[i]}
			return
		}
	}
	e.writer = i
}

func (in *inference) writer(s *keyState, e int32) int32 {
	return s.kept[s.table.entries[e].writer].txn
}

// effective reports whether a transaction that may have taken effect wrote e.
func (in *inference) effective(s *keyState, e int32) bool {
	return s.table.entries[e].writer >= 0 && in.h.possible(in.writer(s, e))
}
