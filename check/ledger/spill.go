package ledger

import "unsafe"

// spill gives room for what is kept of each transfer: of memory up to a limit, and then
// of a file without a name, which the system writes and reads by pages as it needs memory
// for other things. Transfers are looked at in about the order of time, so that of those far
// from the present one little is needed. Where there can be no such file, all is memory.
type spill struct {
	// folder is where the file is made; empty if there is to be none.
	folder       string
	limit, given int64 // bytes of memory
	file         *spillFile
	// rest is what is left of the file's last extent, memory of the last slab of memory.
	rest, memory []byte
}

// extent is by how much the file grows, in bytes.
const extent = 64 << 20

// A slab of memory is as large as all before it, within these bounds, in bytes.
const (
	leastSlab = 64 << 10
	mostSlab  = 16 << 20
)

// allocate gives room for n values, zeroed. T has no pointers, and n values fit an extent.
func allocate[T any](s *spill, n int) []T {
	var value T
	size := n * int(unsafe.Sizeof(value))
	var room []byte
	if s.folder != "" && s.given+int64(size) > s.limit {
		room = s.ofFile(size)
	}
	if room == nil {
		room = s.ofMemory(size)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(room))), n)
}

// ofMemory gives room in memory, at a multiple of eight bytes.
func (s *spill) ofMemory(size int) []byte {
	if whole := wholeWords(size); len(s.memory) < whole {
		s.memory = make([]byte, max(whole, int(min(max(s.given, leastSlab), mostSlab))))
	}
	s.given += int64(size)
	return cut(&s.memory, size)
}

// ofFile gives room in the file, at a multiple of eight bytes; nil, from then on, where it
// cannot be had.
func (s *spill) ofFile(size int) []byte {
	var err error
	if s.file == nil {
		s.file, err = newSpillFile(s.folder)
	}
	if err == nil && len(s.rest) < wholeWords(size) {
		s.rest, err = s.file.grow(extent)
	}
	if err != nil {
		s.folder = ""
		return nil
	}
	return cut(&s.rest, size)
}

// cut takes room off the front of what is left, in whole words.
func cut(left *[]byte, size int) []byte {
	room := (*left)[:size:size]
	*left = (*left)[wholeWords(size):]
	return room
}

// wholeWords is a size in bytes, rounded up to a multiple of eight.
func wholeWords(size int) int { return (size + 7) &^ 7 }

// close gives the file back. What was given of it must not be used any more.
func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.close()
	s.file, s.rest, s.folder = nil, nil, ""
	return err
}
