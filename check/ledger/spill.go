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
	// rest is what is left of the file's last extent.
	rest []byte
}

// extent is by how much the file grows, in bytes.
const extent = 64 << 20

// allocate gives room for n values, zeroed. T has no pointers, and n values fit an extent.
func allocate[T any](s *spill, n int) []T {
	var value T
	size := n * int(unsafe.Sizeof(value))
	if s.folder == "" || s.given+int64(size) <= s.limit {
		s.given += int64(size)
		return make([]T, n)
	}
	room := s.ofFile(size)
	if room == nil {
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(room))), n)
}

// ofFile gives room in the file, at a multiple of eight bytes; nil, from then on, where it
// cannot be had.
func (s *spill) ofFile(size int) []byte {
	size = (size + 7) &^ 7
	var err error
	if s.file == nil {
		s.file, err = newSpillFile(s.folder)
	}
	if err == nil && len(s.rest) < size {
		s.rest, err = s.file.grow(extent)
	}
	if err != nil {
		s.folder = ""
		return nil
	}
	room := s.rest[:size:size]
	s.rest = s.rest[size:]
	return room
}

// close gives the file back. What was given of it must not be used any more.
func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.close()
	s.file, s.rest, s.folder = nil, nil, ""
	return err
}
