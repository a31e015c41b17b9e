package recorded

// chunkedList is a list that grows without copying, so it takes little more than its elements.
type chunkedList[T any] struct {
	chunks [][]T
	len    int32
}

const (
	chunkBits = 10
	chunkLen  = 1 << chunkBits
)

func (l *chunkedList[T]) add(v T) {
	if l.len%chunkLen == 0 {
		l.chunks = append(l.chunks, make([]T, 0, chunkLen))
	}
	last := &l.chunks[l.len>>chunkBits]
	*last = append(*last, v)
	l.len++
}

// at returns an element, whose address does not change.
func (l *chunkedList[T]) at(i int32) *T { return &l.chunks[i>>chunkBits][i%chunkLen] }
