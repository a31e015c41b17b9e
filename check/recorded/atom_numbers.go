package recorded

import "assay/history/exchange"

// atomNumbers assigns numbers to atoms. Most atoms are whole numbers, which take the least memory.
type atomNumbers struct {
	whole map[int64]int32
	other map[exchange.Atom]int32
}

func newAtomNumbers() atomNumbers {
	return atomNumbers{whole: map[int64]int32{}, other: map[exchange.Atom]int32{}}
}

func (n atomNumbers) numberOf(a exchange.Atom) (number int32, known bool) {
	if a.Kind == exchange.Number {
		number, known = n.whole[a.Int]
	} else {
		number, known = n.other[a]
	}
	return number, known
}

func (n atomNumbers) set(a exchange.Atom, number int32) {
	if a.Kind == exchange.Number {
		n.whole[a.Int] = number
	} else {
		n.other[a] = number
	}
}
