package cycle

import (
	"iter"
	"math"
	"slices"
)

const chunkLen = 1 << 14

// chunkedList is a list that grows without copying, so it takes little more than its elements.
type chunkedList[T any] struct {
	chunks [][]T // with room for elements to come
	last   []T   // of chunks
	len    int
}

func (p *chunkedList[T]) add(v T) {
	i := p.len % chunkLen
	if i == len(p.last) || i == 0 {
		p.grow(i)
	}
	p.last[i] = v
	p.len++
}

// grow makes room after the last chunk, which has used elements, or is full if used is 0.
func (p *chunkedList[T]) grow(used int) {
	room := chunkLen
	if used > 0 || p.len == 0 { // a short history takes little
		room = min(chunkLen, max(16, 4*used))
	}
	full := p.last
	p.last = make([]T, room)
	if used > 0 {
		copy(p.last, full)
		p.chunks = p.chunks[:0]
	}
	p.chunks = append(p.chunks, p.last)
}

func (p *chunkedList[T]) at(i int32) T { return p.chunks[uint32(i)/chunkLen][uint32(i)%chunkLen] }

func (p *chunkedList[T]) set(i int32, v T) { p.chunks[i/chunkLen][i%chunkLen] = v }

func (p *chunkedList[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		left := p.len
		for _, chunk := range p.chunks {
			for _, v := range chunk[:min(left, len(chunk))] {
				if !yield(v) {
					return
				}
			}
			left -= len(chunk)
		}
	}
}

func (p *chunkedList[T]) clone() chunkedList[T] {
	c := chunkedList[T]{len: p.len}
	for _, chunk := range p.chunks {
		c.last = slices.Clone(chunk)
		c.chunks = append(c.chunks, c.last)
	}
	return c
}

// numbers holds whole numbers, in 32 bits each if all are 0 to 2^32-2 or the largest of 64 bits,
// which often stands for never.
type numbers struct {
	narrow chunkedList[uint32]
	wide   chunkedList[int64]
}

func (n *numbers) at(i int32) int64 {
	if n.wide.len > 0 {
		return n.wide.at(i)
	}
	return widen(n.narrow.at(i))
}

func widen(v uint32) int64 {
	if v != math.MaxUint32 {
		return int64(v)
	}
	return math.MaxInt64
}

func (n *numbers) add(v int64) {
	switch {
	case n.wide.len > 0:
		n.wide.add(v)
	case v >= 0 && v < math.MaxUint32:
		n.narrow.add(uint32(v))
	case v == math.MaxInt64:
		n.narrow.add(math.MaxUint32)
	default:
		for v := range n.narrow.all() {
			n.wide.add(widen(v))
		}
		n.narrow = chunkedList[uint32]{}
		n.wide.add(v)
	}
}
