package cycle

import "slices"

// listState is the order of a list's elements as its reads show it.
type listState struct {
	keyState
	// longest is the longest list that a committed transaction read (among equals the last), and
	// longestOp the operation that read it, or -1. A list only grows, so every other read must be
	// a prefix of it.
	longest   []int64
	longestOp int32
	// order has the entries of the longest's elements, each once.
	order []int32
	// at is each operation's position: of the element appended, or of the last element read.
	at []position
	// prefix is true for each operation that read a prefix of longest.
	prefix []bool
	// clean is the length of longest before an element that is repeated, failed, or never written.
	clean int
	// repeats is the length of longest up to its first repeated element.
	repeats int
	// next and previous are, for each position, the writer of the nearest later and earlier
	// element whose transaction may have taken effect, or -1. next is shifted by one, for
	// beforeAll.
	next, previous []int32
	scratch        listScratch
}

// readList fills in.list for the key.
//
// An append whose element is in no committed read comes after longest, whose read would have shown
// it.
func (in *inference) readList(key int32) *listState {
	s := &in.list
	in.openKey(&s.keyState, key)
	s.longest, s.longestOp = nil, -1
	s.at = append(s.at[:0], make([]position, len(s.ops))...)
	s.prefix = append(s.prefix[:0], make([]bool, len(s.ops))...)
	for i, o := range s.ops {
		switch op := s.kept[i]; op.kind() {
		case Append:
			in.enterWriter(&s.keyState, int32(i))
		case ReadList:
			if op.len() >= len(s.longest) {
				s.longest, s.longestOp = in.h.list(op), o
			}
		}
	}
	in.orderElements(s)
	for i := range s.kept {
		switch op := s.kept[i]; op.kind() {
		case Append:
			s.at[i] = s.table.entries[s.table.find(op.val)].position
		case ReadList:
			in.placeRead(s, i, in.h.list(op))
		default:
			s.at[i], s.prefix[i] = beforeAll, true
		}
	}
	return s
}

func (in *inference) orderElements(s *listState) {
	s.order = s.order[:0]
	s.clean, s.repeats = len(s.longest), len(s.longest)
	for i, elem := range s.longest {
		e := s.table.put(elem)
		entry := &s.table.entries[e]
		entry.seen = true
		if entry.position != unplaced {
			s.clean, s.repeats = min(s.clean, i), min(s.repeats, i)
			continue
		}
		if entry.writer < 0 || !in.h.possible(in.writer(&s.keyState, e)) {
			s.clean = min(s.clean, i)
		}
		entry.position = position(len(s.order))
		s.order = append(s.order, e)
	}
	n := len(s.order)
	s.next = append(s.next[:0], make([]int32, n+1)...)
	s.previous = append(s.previous[:0], make([]int32, n+1)...)
	s.next[n], s.previous[0] = -1, -1
	for p := n - 1; p >= 0; p-- {
		s.next[p] = s.next[p+1]
		if in.effective(&s.keyState, s.order[p]) {
			s.next[p] = s.order[p]
		}
	}
	for p := range n {
		s.previous[p+1] = s.previous[p]
		if in.effective(&s.keyState, s.order[p]) {
			s.previous[p+1] = s.order[p]
		}
	}
}

func (in *inference) placeRead(s *listState, i int, list []int64) {
	if &list[0] == &s.longest[0] || slices.Equal(list, s.longest[:len(list)]) {
		s.prefix[i] = true
		if len(list) <= s.repeats {
			s.at[i] = position(len(list) - 1)
			return
		}
	} else {
		for _, elem := range list {
			s.table.entries[s.table.put(elem)].seen = true
		}
	}
	s.at[i] = s.table.entries[s.table.put(list[len(list)-1])].position
}

func (s *listState) lastEntry(i int, list []int64) int32 {
	if s.prefix[i] && len(list) <= s.repeats {
		return s.order[len(list)-1]
	}
	return s.table.find(list[len(list)-1])
}

func (in *inference) inferList(key int32) {
	s := in.readList(key)
	if s.sameWrites != nil {
		in.setAmbiguous(key, s.sameWrites[0], s.sameWrites[1])
		s.visits(func(txn int32, from, to int) {
			if in.h.committed(txn) {
				in.judgeInternal(s, txn, from, to)
			}
		})
		in.judgeCounts(s)
		return
	}
	s.scratch.reset(len(s.ops), len(s.longest))
	s.visits(func(txn int32, from, to int) { in.lookInside(s, txn, from, to) })
	for i := range s.kept {
		if s.kept[i].kind() == ReadList {
			in.judgeRead(s, i)
		}
	}
	in.judgeOrder(s)
	in.linkList(s)
	in.assumeOrder(s)
	in.findStale(s)
}

func (in *inference) linkList(s *listState) {
	for p := 1; p < len(s.order); p++ {
		e, before := s.order[p], s.previous[p]
		if before >= 0 && in.effective(&s.keyState, e) {
			in.edges.add(in.writer(&s.keyState, before), in.writer(&s.keyState, e), ww)
		}
	}
	in.before, in.after = in.before[:0], in.after[:0]
	last := s.previous[len(s.order)]
	for i := range s.kept {
		op := s.kept[i]
		switch {
		case op.kind() != Append:
			in.linkRead(s, i)
		case s.at[i] == unplaced && in.h.possible(op.txn):
			in.after = append(in.after, op.txn)
			if last >= 0 {
				in.edges.add(in.writer(&s.keyState, last), op.txn, ww)
			}
		}
	}
	in.unseen = max(in.unseen, len(in.after))
	in.edges.join(in.before, in.after, rw)
}

// linkRead adds the edges of one read: from the writer of its last element, and to the next append.
// If no next append is known, the read precedes all unseen appends.
func (in *inference) linkRead(s *listState, i int) {
	op := s.kept[i]
	if list := in.h.list(op); list != nil {
		e := s.lastEntry(i, list)
		if in.effective(&s.keyState, e) {
			in.edges.add(in.writer(&s.keyState, e), op.txn, wr)
		}
	}
	if s.at[i] == unplaced {
		return
	}
	if next := s.next[s.at[i]+1]; next >= 0 {
		in.edges.add(op.txn, in.writer(&s.keyState, next), rw)
	} else if n := len(in.before); n == 0 || in.before[n-1] != op.txn {
		in.before = append(in.before, op.txn)
	}
}
