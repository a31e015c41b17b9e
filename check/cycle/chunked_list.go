package cycle

import (
	"math"
	"slices"
)

// chunkLen is how many elements are kept together.
const chunkLen = 1 << 14

// chunkedList is a long list that grows without being copied: while it grows it takes
// what its elements take.
type chunkedList[T any] struct {
	full [][]T
	last []T
	len  int
}

func (p *chunkedList[T]) add(v T) {
	if len(p.last) == cap(p.last) {
		if p.last != nil && cap(p.last) == chunkLen {
			p.full = append(p.full, p.last)
			p.last = make([]T, 0, chunkLen)
		} else { // a short history takes little
			p.last = append(make([]T, 0, min(chunkLen, max(16, 4*cap(p.last)))), p.last...)
		}
	}
	p.last = append(p.last, v)
	p.len++
}

// chunks are all elements, in so many pieces.
func (p *chunkedList[T]) chunks() [][]T { return append(slices.Clip(p.full), p.last) }

// each calls visit with each element.
func (p *chunkedList[T]) each(visit func(T)) {
	for _, chunk := range p.chunks() {
		for _, v := range chunk {
			visit(v)
		}
	}
}

// flat returns the elements in one array and forgets them.
func (p *chunkedList[T]) flat() []T {
	all := make([]T, 0, p.len)
	for _, chunk := range p.chunks() {
		all = append(all, chunk...)
	}
	*p = chunkedList[T]{}
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
	return widen(n.narrow[i])
}

func widen(v uint32) int64 {
	if v != math.MaxUint32 {
		return int64(v)
	}
	return math.MaxInt64
}

// numberList are numbers while they are collected.
type numberList struct {
	narrow chunkedList[uint32]
	wide   chunkedList[int64]
}

func (p *numberList) add(v int64) {
	switch {
	case p.wide.len > 0:
		p.wide.add(v)
	case v >= 0 && v < math.MaxUint32:
		p.narrow.add(uint32(v))
	case v == math.MaxInt64:
		p.narrow.add(math.MaxUint32)
	default:
		p.narrow.each(func(v uint32) { p.wide.add(widen(v)) })
		p.narrow = chunkedList[uint32]{}
		p.wide.add(v)
	}
}

// each calls visit with each number.
func (p *numberList) each(visit func(int64)) {
	p.narrow.each(func(v uint32) { visit(widen(v)) })
	p.wide.each(visit)
}

func (p *numberList) flat() numbers {
	if p.wide.len > 0 {
		return numbers{wide: p.wide.flat()}
	}
	return numbers{narrow: p.narrow.flat()}
}
