package cycle

import (
	"cmp"
	"slices"
)

func (l *edgeList) addProcess(h *History) {
	h.eachSession(h.begun(), func(before, t int32) { l.add(before, t, process) })
}

// begun returns the transactions that may have taken effect, by invocation.
func (h *History) begun() []int32 {
	return h.byTime(h.invoke, func(t int32) bool { return h.possible(t) })
}

// eachSession visits each committed transaction with its client's next; begun has all, in order.
func (h *History) eachSession(begun []int32, visit func(before, t int32)) {
	last := map[int32]int32{}
	for _, t := range begun {
		if before, some := last[h.process(t)]; some && h.complete(before) <= h.invoke(t) {
			visit(before, t)
		}
		if h.committed(t) {
			last[h.process(t)] = t
		}
	}
}

// addRealtime adds which transactions were acknowledged before which others began. These are n²
// pairs, but auxiliary nodes make them O(n) edges. There is a node for each moment at which a
// transaction begins after an acknowledgment. Each acknowledged transaction leads to the next such
// moment. Each moment leads to the next, and to the transactions that begin there.
//
// A client's transaction precedes its next even if it was acknowledged at the moment at which that
// began.
func (l *edgeList) addRealtime(h *History) {
	begun := h.begun()
	acknowledged := h.byTime(h.complete, h.committed)
	const none = int32(-1)
	moment, next := none, 0
	for _, t := range begun {
		from := next
		for next < len(acknowledged) && h.complete(acknowledged[next]) < h.invoke(t) {
			next++
		}
		if next > from {
			before := moment
			moment = l.node()
			if before != none {
				l.add(before, moment, free)
			}
			for _, a := range acknowledged[from:next] {
				l.add(a, moment, realtime)
			}
		}
		if moment != none {
			l.add(moment, t, free)
		}
	}
	l.addSameMoment(h, begun, acknowledged)
}

// addSameMoment joins a client's transaction acknowledged at the very moment its next began.
func (l *edgeList) addSameMoment(h *History, begun, acknowledged []int32) {
	same, next := false, 0
	for _, t := range begun {
		for next < len(acknowledged) && h.complete(acknowledged[next]) < h.invoke(t) {
			next++
		}
		same = same || next < len(acknowledged) && h.complete(acknowledged[next]) == h.invoke(t)
	}
	if !same {
		return
	}
	h.eachSession(begun, func(before, t int32) {
		if h.complete(before) == h.invoke(t) {
			l.add(before, t, realtime)
		}
	})
}

// byTime returns the wanted transactions, stably sorted by the given times.
func (h *History) byTime(time func(txn int32) int64, wanted func(txn int32) bool) []int32 {
	order := make([]int32, 0, h.Len())
	for t := range int32(h.Len()) {
		if wanted(t) {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(time(a), time(b)) })
	return order
}
