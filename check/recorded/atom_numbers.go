package recorded

import (
	"slices"

	"assay/history/exchange"
)

// wholeNumbers assigns numbers to whole numbers. Most histories count values and offsets up from
// zero: without leaps each takes four bytes. The zero value is empty.
type wholeNumbers struct {
	dense  []int32 // one more than the number, 0 for none
	sparse map[int64]int32
	count  int
}

func (w *wholeNumbers) numberOf(v int64) (number int32, known bool) {
	if uint64(v) < uint64(len(w.dense)) && w.dense[v] != 0 {
		return w.dense[v] - 1, true
	}
	if len(w.sparse) == 0 {
		return 0, false
	}
	number, known = w.sparse[v]
	return number, known
}

// set assigns number, which must not be negative, to a whole number without one.
func (w *wholeNumbers) set(v int64, number int32) {
	const ahead = 1 << 10
	w.count++
	if v < 0 || v >= int64(2*w.count+ahead) {
		if w.sparse == nil {
			w.sparse = map[int64]int32{}
		}
		w.sparse[v] = number
		return
	}
	if more := int(v) + 1 - len(w.dense); more > 0 {
		w.dense = slices.Grow(w.dense, more)[:v+1]
	}
	w.dense[v] = number + 1
}

func (w *wholeNumbers) sorted() (all []int64, numbers []int32) {
	all = make([]int64, 0, w.count)
	for v := range w.sparse {
		all = append(all, v)
	}
	for v, n := range w.dense {
		if n != 0 {
			all = append(all, int64(v))
		}
	}
	slices.Sort(all)
	numbers = make([]int32, len(all))
	for i, v := range all {
		numbers[i], _ = w.numberOf(v)
	}
	return all, numbers
}

// atomNumbers assigns numbers to atoms. Most atoms are whole numbers, which take the least memory.
type atomNumbers struct {
	whole wholeNumbers
	other map[exchange.Atom]int32
}

func newAtomNumbers() atomNumbers { return atomNumbers{other: map[exchange.Atom]int32{}} }

func (n *atomNumbers) numberOf(a exchange.Atom) (number int32, known bool) {
	if a.Kind == exchange.Number {
		return n.whole.numberOf(a.Int)
	}
	number, known = n.other[a]
	return number, known
}

func (n *atomNumbers) set(a exchange.Atom, number int32) {
	if a.Kind == exchange.Number {
		n.whole.set(a.Int, number)
	} else {
		n.other[a] = number
	}
}
