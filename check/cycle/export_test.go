package cycle

import "context"

// Replays reports whether a replay of a history over registers found an order.
func (h *History) Replays(ctx context.Context) bool {
	_, found := h.replays(ctx)
	return found
}

// Part makes a history of some operations of another, as a reduction does.
func Part(h *History, o Options, model Model, operations []int32) *History {
	r := reduction{h: h, o: o, model: model, taken: make([]bool, len(h.ops))}
	all := make([]int32, len(h.ops))
	for i := range all {
		all[i] = int32(i)
	}
	r.index(all)
	return r.build(operations)
}

func (h *History) Operations() int { return len(h.ops) }
