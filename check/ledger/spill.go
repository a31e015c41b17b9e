package ledger

import "unsafe"

// spill gives room for pages: in memory up to a limit, and then in a file without a name,
// which the system writes and reads as it needs memory for other things. Transfers are looked
// at in about the order of time, so that of those far from the present one little is needed.
// Where there can be no such file, all is memory.
type spill struct {
	// folder is where the file is made; empty if there is to be none.
	folder      string
	limit, kept int64 // bytes of memory
	file        *spillFile
	rest        []page // what is left of the file's last extent
}

const (
	pageSize = int64(unsafe.Sizeof(page{}))
	// extent is by how much the file grows, in pages.
	extent = 64 << 20 / int(pageSize)
)

// page is an empty page.
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

// ofFile is a page in the file, nil if it cannot be had.
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

// close gives the file back. Its pages must not be used any more.
func (s *spill) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.close()
	s.file, s.rest, s.folder = nil, nil, ""
	return err
}
