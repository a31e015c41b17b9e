package cycle

import (
	"slices"
)

type listScratch struct {
	// intermediate is true for each append that its transaction followed by another. No other
	// transaction may read a state that ends in it.
	intermediate []bool
	// updated is, for each length of a prefix of longest, one plus the first transaction that read
	// it and then appended. otherwise is the same for other lists.
	updated   []int32
	otherwise map[uint64][]int32
	own       []int64
}

func (s *listScratch) reset(ops, spine int) {
	s.intermediate = append(s.intermediate[:0], make([]bool, ops)...)
	s.updated = append(s.updated[:0], make([]int32, spine+1)...)
	s.otherwise = nil
}

// lookInside judges one transaction's operations on one list: from to to among the list's.
func (in *inference) lookInside(s *listState, txn int32, from, to int) {
	if to-from == 1 {
		return
	}
	h := in.h
	appended, shown := false, false
	for i := to - 1; i >= from; i-- {
		if s.kept[i].kind() == Append {
			s.scratch.intermediate[i] = appended
			appended = true
			if shown && s.at[i] == unplaced && h.possible(txn) {
				in.cases.add(incompatibleOrder, func() Evidence { return in.reversedEvidence(s.longestOp, txn) })
			}
			shown = shown || s.at[i] != unplaced
		}
	}
	if !appended || !h.committed(txn) {
		if h.committed(txn) {
			in.judgeInternal(s, txn, from, to)
		}
		return
	}
	in.judgeInternal(s, txn, from, to)
	in.judgeFuture(s, txn, from, to)
	in.judgeUpdate(s, txn, from, to)
}

// judgeInternal looks for a read that is not the transaction's previous read followed by its own
// appends since: Cerone's axiom INT. If it lacks own appends, no model allows it.
func (in *inference) judgeInternal(s *listState, txn int32, from, to int) {
	h := in.h
	var base []int64 // what was read last
	known := false   // something was read
	odd := false     // INT is broken
	own := s.scratch.own[:0]
	since := 0 // how many of its own were appended before the last read
	for i := from; i < to; i++ {
		op := s.kept[i]
		if op.kind() == Append {
			own = append(own, op.val)
			continue
		}
		list := h.list(op)
		fresh := own[since:]
		rest := len(list) - len(fresh)
		evidence := func() Evidence { return in.internalEvidence(txn, s.ops[i], base, known, fresh) }
		if !shows(list, own) {
			in.cases.add(ownUnseen, evidence)
			break
		}
		if !odd && (!slices.Equal(list[rest:], fresh) || known && !slices.Equal(list[:rest], base)) {
			odd = true
			in.cases.add(internal, evidence)
		}
		known, base, since = true, list, len(own)
	}
	s.scratch.own = own[:0]
}

// shows reports whether list contains own in order, possibly with other elements between and after.
func shows(list, own []int64) bool {
	for _, element := range list {
		if len(own) > 0 && own[0] == element {
			own = own[1:]
		}
	}
	return len(own) == 0
}

// judgeFuture looks for a read of an element that the transaction appends only later.
func (in *inference) judgeFuture(s *listState, txn int32, from, to int) {
	for j := from + 1; j < to; j++ {
		op := s.kept[j]
		if op.kind() != Append || !s.table.entries[s.table.find(op.val)].seen {
			continue
		}
		for i := from; i < j; i++ {
			read := s.kept[i]
			if s.prefix[i] && (s.at[j] == unplaced || s.at[j] > s.at[i]) {
				continue // beyond the prefix that was read
			}
			if slices.Contains(in.h.list(read), op.val) {
				in.cases.add(futureRead, func() Evidence { return in.futureEvidence(txn, s.ops[i], s.ops[j]) })
				return
			}
		}
	}
}

// judgeUpdate looks for two committed transactions that read the same state of a list and then both
// appended to it: neither saw the other.
func (in *inference) judgeUpdate(s *listState, txn int32, from, to int) {
	first := from
	for first < to && s.kept[first].kind() == Append {
		first++
	}
	if first == to || !slices.ContainsFunc(s.kept[first:to], func(o op) bool { return o.kind() == Append }) {
		return
	}
	list := in.h.list(s.kept[first])
	if s.prefix[first] {
		if other := s.scratch.updated[len(list)]; other != 0 {
			in.cases.add(lostUpdate, func() Evidence { return in.updateEvidence(s.key, other-1, txn, list) })
			return
		}
		s.scratch.updated[len(list)] = txn + 1
		return
	}
	if s.scratch.otherwise == nil {
		s.scratch.otherwise = map[uint64][]int32{}
	}
	sum := hashList(list)
	for _, first := range s.scratch.otherwise[sum] {
		other := in.h.ops[first]
		if slices.Equal(in.h.list(other), list) {
			in.cases.add(lostUpdate, func() Evidence { return in.updateEvidence(s.key, other.txn, txn, list) })
			return
		}
	}
	s.scratch.otherwise[sum] = append(s.scratch.otherwise[sum], s.ops[first])
}

// hashList is FNV-1a over the elements.
func hashList(list []int64) uint64 {
	sum := uint64(14695981039346656037)
	for _, v := range list {
		sum = (sum ^ uint64(v)) * 1099511628211
	}
	return sum
}
