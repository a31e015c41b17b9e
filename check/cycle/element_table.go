package cycle

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

// elemTable finds the entry of an element.
type elemTable struct {
	entries []entry
	index   map[int64]int32
}

// reset empties the table for n elements. To clear a map that held far more would take longer than
// a new one.
func (t *elemTable) reset(n int) {
	t.entries = t.entries[:0]
	if t.index == nil || len(t.index) > 8*n {
		t.index = make(map[int64]int32, n)
	} else {
		clear(t.index)
	}
}

// find returns the number of an element's entry, or -1.
func (t *elemTable) find(elem int64) int32 {
	if e, known := t.index[elem]; known {
		return e
	}
	return -1
}

// put is find that makes a missing entry.
func (t *elemTable) put(elem int64) int32 {
	e, known := t.index[elem]
	if !known {
		e = int32(len(t.entries))
		t.index[elem] = e
		t.entries = append(t.entries, entry{elem: elem, writer: -1, position: unplaced})
	}
	return e
}
