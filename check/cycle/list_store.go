package cycle

import "slices"

// listStore keeps a list for each key in a few large arrays without pointers, which cost the
// garbage collector nothing: a history has hundreds of thousands of lists. A list that outgrows its
// room moves to a larger one and frees its own.
type listStore struct {
	lists  []storedList // by dense key
	chunks [][]int64
	used   int       // of the last chunk
	free   [][]int64 // where there is room, by size class
}

// storedList is where a list begins (chunk and place), its length, and the size class of its room.
type storedList struct {
	begin int64
	len   int32
	class int32
}

const (
	placeBits = 16
	chunkRoom = 1 << placeBits
)

// classRoom is the number of elements in a room: 2, 3, 4, 6, 8, 12 and so on.
func classRoom(class int32) int { return (2 + int(class&1)) << (class / 2) }

func (s *listStore) of(key int32) []int64 {
	l := s.lists[key]
	if l.len == 0 {
		return nil
	}
	return s.chunks[l.begin>>placeBits][l.begin%chunkRoom:][:l.len:l.len]
}

func (s *listStore) extend(key int32, elements []int64) {
	l := s.lists[key]
	size := int(l.len) + len(elements)
	if l.len == 0 || size > classRoom(l.class) {
		class := l.class
		for classRoom(class) < size {
			class++
		}
		begin := s.room(class)
		if l.len > 0 {
			copy(s.chunks[begin>>placeBits][begin%chunkRoom:], s.of(key))
			s.free[l.class] = append(s.free[l.class], l.begin)
		}
		l.begin, l.class = begin, class
	}
	copy(s.chunks[l.begin>>placeBits][l.begin%chunkRoom+int64(l.len):], elements)
	l.len = int32(size)
	s.lists[key] = l
}

// room returns the place of a free room of this size class.
func (s *listStore) room(class int32) int64 {
	if int(class) >= len(s.free) {
		s.free = append(s.free, slices.Repeat([][]int64{nil}, int(class)+1-len(s.free))...)
	}
	if free := s.free[class]; len(free) > 0 {
		s.free[class] = free[:len(free)-1]
		return free[len(free)-1]
	}
	size := classRoom(class)
	if last := len(s.chunks) - 1; last < 0 || s.used+size > len(s.chunks[last]) {
		room := 64 // a short history takes little
		if last >= 0 {
			room = min(chunkRoom, 4*len(s.chunks[last]))
		}
		s.chunks, s.used = append(s.chunks, make([]int64, max(size, room))), 0
	}
	s.used += size
	return int64(len(s.chunks)-1)<<placeBits | int64(s.used-size)
}
