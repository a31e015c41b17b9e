package cycle

import "math/bits"

// position is the place of an element, or of a read's last element, in a list: 0 for the first.
type position = int32

const (
	// beforeAll is the position of a read of the empty list.
	beforeAll position = -1
	// unplaced is an element that the longest read does not hold.
	unplaced position = -2
)

type entry struct {
	elem int64
	// writer is the operation that wrote it, as an index of the key's operations, or -1.
	writer   int32
	position position
	// seen means that a committed transaction read it.
	seen bool
}

// elemTable finds the entry of an element. It is reused for one key after the other.
type elemTable struct {
	entries []entry
	slots   []slot
	round   int32
	shift   int
}

type slot struct{ round, entry int32 }

func (t *elemTable) reset(n int) {
	t.entries = t.entries[:0]
	t.round++
	if want := max(16, 1<<bits.Len(uint(2*n))); len(t.slots) < want || t.round < 0 {
		t.slots, t.round = make([]slot, want), 1
	}
	t.shift = 64 - bits.Len(uint(len(t.slots)-1))
}

func (t *elemTable) find(elem int64) int32 {
	for i := t.hash(elem); ; i = (i + 1) & (len(t.slots) - 1) {
		s := t.slots[i]
		if s.round != t.round {
			return -1
		}
		if t.entries[s.entry].elem == elem {
			return s.entry
		}
	}
}

func (t *elemTable) put(elem int64) int32 {
	i := t.hash(elem)
	for ; t.slots[i].round == t.round; i = (i + 1) & (len(t.slots) - 1) {
		if e := t.slots[i].entry; t.entries[e].elem == elem {
			return e
		}
	}
	if 2*len(t.entries) >= len(t.slots) {
		t.grow()
		return t.put(elem)
	}
	e := int32(len(t.entries))
	t.entries = append(t.entries, entry{elem: elem, writer: -1, position: unplaced})
	t.slots[i] = slot{t.round, e}
	return e
}

func (t *elemTable) grow() {
	t.slots, t.round = make([]slot, 2*len(t.slots)), 1
	t.shift--
	for e := range t.entries {
		i := t.hash(t.entries[e].elem)
		for t.slots[i].round == t.round {
			i = (i + 1) & (len(t.slots) - 1)
		}
		t.slots[i] = slot{t.round, int32(e)}
	}
}

// hash is Knuth's multiplicative hashing, with 2^64 divided by the golden ratio.
func (t *elemTable) hash(elem int64) int {
	return int(uint64(elem) * 0x9e3779b97f4a7c15 >> t.shift)
}
