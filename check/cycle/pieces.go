package cycle

import "math"

// pieceLen is how many elements are kept together.
const pieceLen = 1 << 14

// pieces is a long list that grows without being copied: while it grows it takes
// what its elements take.
type pieces[T any] struct {
	full [][]T
	last []T
	len  int
}

func (p *pieces[T]) add(v T) {
	if len(p.last) == cap(p.last) {
		if p.last != nil && cap(p.last) == pieceLen {
			p.full = append(p.full, p.last)
			p.last = make([]T, 0, pieceLen)
		} else { // a short history takes little
			p.last = append(make([]T, 0, min(pieceLen, max(16, 4*cap(p.last)))), p.last...)
		}
	}
	p.last = append(p.last, v)
	p.len++
}

// flat returns the elements in one array and forgets them.
func (p *pieces[T]) flat() []T {
	all := make([]T, 0, p.len)
	for _, piece := range p.full {
		all = append(all, piece...)
	}
	all = append(all, p.last...)
	*p = pieces[T]{}
	return all
}

// numbers are whole numbers, of 32 bits each if all are from 0 to 2^32-2 or the
// largest of 64 bits, which many a history means by never.
type numbers struct {
	narrow []uint32
	wide   []int64
}

func (n *numbers) at(i int32) int64 {
	if n.wide != nil {
		return n.wide[i]
	}
	if v := n.narrow[i]; v != math.MaxUint32 {
		return int64(v)
	}
	return math.MaxInt64
}

// numberPieces are numbers while they are collected.
type numberPieces struct {
	narrow pieces[uint32]
	wide   pieces[int64]
}

func (p *numberPieces) add(v int64) {
	switch {
	case p.wide.len > 0:
		p.wide.add(v)
	case v >= 0 && v < math.MaxUint32:
		p.narrow.add(uint32(v))
	case v == math.MaxInt64:
		p.narrow.add(math.MaxUint32)
	default:
		before := numbers{narrow: p.narrow.flat()}
		for i := range int32(len(before.narrow)) {
			p.wide.add(before.at(i))
		}
		p.wide.add(v)
	}
}

func (p *numberPieces) flat() numbers {
	if p.wide.len > 0 {
		return numbers{wide: p.wide.flat()}
	}
	return numbers{narrow: p.narrow.flat()}
}
