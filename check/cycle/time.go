package cycle

// addProcess joins each committed transaction to the next of its client.
func (l *edgeList) addProcess(h *History) {
	last := map[int32]int32{}
	for _, t := range h.byTime(h.invoke, func(t int32) bool { return h.possible(t) }) {
		if before, some := last[h.process[t]]; some && h.complete[before] <= h.invoke[t] {
			l.add(before, t, process)
		}
		if h.committed(t) {
			last[h.process[t]] = t
		}
	}
}

// addRealtime says which transactions were acknowledged before which others
// were begun. These are n² pairs, but an auxiliary node for each moment at
// which somebody is begun after somebody was acknowledged makes them O(n)
// edges: who was acknowledged leads to the next such moment, each moment leads
// to the next, and to those that are begun from then on.
func (l *edgeList) addRealtime(h *History) {
	begun := h.byTime(h.invoke, func(t int32) bool { return h.possible(t) })
	acknowledged := h.byTime(h.complete, h.committed)
	const none = int32(-1)
	moment, next := none, 0
	for _, t := range begun {
		from := next
		for next < len(acknowledged) && h.complete[acknowledged[next]] < h.invoke[t] {
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
}

// byTime returns the transactions that are wanted, sorted by the given times;
// equal ones stay in their order.
func (h *History) byTime(times []int64, wanted func(int32) bool) []int32 {
	order := make([]int32, 0, len(times))
	sorted, last := true, int64(0)
	for t := range int32(len(times)) {
		if !wanted(t) {
			continue
		}
		if len(order) > 0 && times[t] < last {
			sorted = false
		}
		last = times[t]
		order = append(order, t)
	}
	if sorted {
		return order
	}
	return radixSort(order, times)
}

// radixSort sorts by 16 bits at a time, and passes over those that are all
// alike.
func radixSort(order []int32, times []int64) []int32 {
	const bits = 16
	least, most := times[order[0]], times[order[0]]
	for _, t := range order {
		least, most = min(least, times[t]), max(most, times[t])
	}
	spare := make([]int32, len(order))
	count := make([]int32, 1<<bits)
	for shift := 0; shift < 64 && (uint64(most)-uint64(least))>>shift != 0; shift += bits {
		clear(count)
		for _, t := range order {
			count[(uint64(times[t])-uint64(least))>>shift&(1<<bits-1)]++
		}
		sum := int32(0)
		for i, c := range count {
			count[i], sum = sum, sum+c
		}
		for _, t := range order {
			digit := (uint64(times[t]) - uint64(least)) >> shift & (1<<bits - 1)
			spare[count[digit]] = t
			count[digit]++
		}
		order, spare = spare, order
	}
	return order
}
