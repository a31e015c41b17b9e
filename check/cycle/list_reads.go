package cycle

import "math"

const never = int64(math.MaxInt64)

func (in *inference) judgeRead(s *listState, i int) {
	o := s.ops[i]
	op := s.kept[i]
	list := in.h.list(op)
	if !s.prefix[i] {
		in.cases.add(incompatibleOrder, func() Evidence { return in.incompatibleEvidence(o, s.longestOp) })
	}
	if !s.prefix[i] || len(list) > s.clean {
		in.judgeElements(s, o, list)
	}
	// The read state must be the last that its writer made.
	e := s.lastEntry(i, list)
	if w := s.table.entries[e].writer; w >= 0 && s.scratch.intermediate[w] && in.writer(&s.keyState, e) != op.txn {
		in.cases.add(g1b, func() Evidence { return in.intermediateEvidence(o, s.ops[w]) })
	}
}

// judgeCounts looks for reads of a list that show an element more often than it was appended, where
// some were appended more than once.
func (in *inference) judgeCounts(s *listState) {
	appended := map[int64]int{}
	for _, op := range s.kept {
		if op.kind() == Append && in.h.possible(op.txn) {
			appended[op.val]++
		}
	}
	for i, o := range s.ops {
		seen := map[int64]int{}
		for _, elem := range in.h.list(s.kept[i]) {
			if seen[elem]++; seen[elem] == max(1, appended[elem])+1 {
				in.cases.add(duplicateElements, func() Evidence { return in.duplicateEvidence(o, elem) })
			}
		}
	}
}

func (in *inference) judgeElements(s *listState, o int32, list []int64) {
	seen := map[int32]bool{}
	for _, elem := range list {
		e := s.table.find(elem)
		if seen[e] {
			in.cases.add(duplicateElements, func() Evidence { return in.duplicateEvidence(o, elem) })
		}
		seen[e] = true
		switch w := s.table.entries[e].writer; {
		case w < 0:
			in.cases.add(garbageRead, func() Evidence { return in.garbageEvidence(o, elem) })
		case !in.h.possible(in.writer(&s.keyState, e)):
			in.cases.add(g1a, func() Evidence { return in.abortedEvidence(o, s.ops[w]) })
		}
	}
}

// judgeOrder looks for a committed append that follows one of a failed transaction, and for appends
// of one transaction in reverse. If others come between the latter, they make a cycle instead.
func (in *inference) judgeOrder(s *listState) {
	failed := int32(-1)
	for p, e := range s.order {
		w := s.table.entries[e].writer
		if w < 0 {
			continue
		}
		txn := in.writer(&s.keyState, e)
		switch {
		case !in.h.possible(txn):
			failed = s.ops[w]
			continue
		case in.h.committed(txn) && failed >= 0:
			before := failed
			in.cases.add(dirtyUpdate, func() Evidence { return in.dirtyEvidence(s.longestOp, before, s.ops[w]) })
			failed = -1
		}
		before := s.previous[p]
		if before >= 0 && in.writer(&s.keyState, before) == txn && s.table.entries[before].writer > w {
			in.cases.add(incompatibleOrder, func() Evidence { return in.reversedEvidence(s.longestOp, txn) })
		}
	}
}

// findStale looks for reads that lack an append acknowledged before they began. These break no
// model that is blind to real time, so they are findings, not anomalies. They rule out strong
// snapshot isolation and strict serializability. There the read is before the append (rw), which is
// before the read (realtime): G-single-item-realtime.
func (in *inference) findStale(s *listState) {
	h := in.h
	begun, latest := int64(-1<<63), int32(-1)
	for i, o := range s.ops {
		if op := s.kept[i]; op.kind() != Append && (latest < 0 || h.invoke(op.txn) > begun) {
			begun, latest = h.invoke(op.txn), o
		}
	}
	// soonest has the first acknowledged append at or after each position.
	soonest := append(in.after[:0], make([]int32, len(s.order)+1)...)
	in.after = soonest
	soonest[len(s.order)] = -1
	for p := len(s.order) - 1; p >= 0; p-- {
		soonest[p] = soonest[p+1]
		if w := s.table.entries[s.order[p]].writer; w >= 0 && in.acknowledged(s, w) < in.acknowledged(s, soonest[p]) {
			soonest[p] = w
		}
	}
	if in.acknowledged(s, soonest[0]) < begun {
		in.noteStale(s, soonest)
	}
	for i, o := range s.ops {
		op := s.kept[i]
		if op.kind() == Append && s.at[i] == unplaced && in.acknowledged(s, int32(i)) < begun &&
			!s.table.entries[s.table.find(op.val)].seen {
			in.findings.add(lostAppend, func() Evidence { return in.lostEvidence(o, latest) })
		}
	}
}

func (in *inference) acknowledged(s *listState, i int32) int64 {
	if i < 0 || !in.h.committed(s.kept[i].txn) {
		return never
	}
	return in.h.complete(s.kept[i].txn)
}

func (in *inference) noteStale(s *listState, soonest []int32) {
	for i, o := range s.ops {
		op := s.kept[i]
		if op.kind() == Append || s.at[i] == unplaced {
			continue
		}
		missed := soonest[s.at[i]+1]
		if in.acknowledged(s, missed) < in.h.invoke(op.txn) {
			in.findings.add(staleRead, func() Evidence { return in.staleEvidence(o, s.ops[missed]) })
		}
	}
}
