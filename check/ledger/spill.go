package ledger

import "unsafe"

// spill allocates pages: in memory up to a limit, and then in an unnamed file, which the system
// pages out. Transfers are used roughly in the order of time, so few pages are in use at a time.
// If there can be no file, everything is in memory.
type spill struct {
	// folder gets the file; empty for none.
	folder      string
	limit, kept int64 // bytes of memory
	file        *spillFile
	rest        []page // what is left of the file's last extent
}

const (
	pageSize = int64(unsafe.Sizeof(page{}))
	extent   = 64 << 20 / int(pageSize)
)

func (s *spill) page() *page {
	if s.folder != "" && s.kept+pageSize > s.limit {
		if p := s.ofFile(); p != nil {
			return p
		}
		s.folder = ""
	}
	s.kept += pageSize
	return new(page)
}

func (s *spill) ofFile() *page {
	var err error
	if s.file == nil {
		s.file, err = newSpillFile(s.folder)
	}
	if err == nil && len(s.rest) == 0 {
		var room []byte
		room, err = s.file.grow(extent * int(pageSize))
		s.rest = unsafe.Slice((*page)(unsafe.Pointer(unsafe.SliceData(room))), len(room)/int(pageSize))
	}
	if err != nil {
		return nil
	}
	p := &s.rest[0]
	s.rest = s.rest[1:]
	return p
}

// close frees the file. Its pages must not be used afterwards.
func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.close()
	s.file, s.rest, s.folder = nil, nil, ""
	return err
}
