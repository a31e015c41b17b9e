package ledger

import "iter"

// byStart visits the operations with an entry, as owners, by when they were first started;
// operations of one client stay in their order. All entries must have an operation, and each
// operation with a row must have an entry.
func (o *operations) byStart() iter.Seq[uint32] {
	var clients clientHeap
	blocks := o.sorted()
	for from, to := 0, 0; from < len(blocks); from = to {
		for to < len(blocks) && blocks[to].key.client() == blocks[from].key.client() {
			to++
		}
		if c := (clientOrder{blocks: blocks[from:to], at: -1}); c.next() {
			clients = append(clients, c)
		}
	}
	return func(visit func(uint32) bool) {
		left := append(clientHeap(nil), clients...)
		for i := len(left)/2 - 1; i >= 0; i-- {
			left.sink(i)
		}
		for len(left) > 0 && visit(left[0].owner()) {
			if !left[0].next() {
				last := len(left) - 1
				left[0] = left[last]
				left = left[:last]
			}
			left.sink(0)
		}
	}
}

type clientOrder struct {
	start  int64    // of the operation
	blocks []*block // the first is its block
	at     int      // its position there
}

func (c *clientOrder) owner() uint32 { return c.blocks[0].number<<blockBits | uint32(c.at) }

func (c *clientOrder) next() bool {
	for len(c.blocks) > 0 {
		b := c.blocks[0]
		for c.at++; c.at < blockOps; c.at++ {
			if b.states[c.at].rows() > 0 {
				c.start, _ = b.page[c.at].span()
				return true
			}
		}
		c.blocks, c.at = c.blocks[1:], -1
	}
	return false
}

type clientHeap []clientOrder

func (h clientHeap) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if h[child].start < h[least].start {
				least = child
			}
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
