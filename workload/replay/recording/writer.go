package recording

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// runBytes is how many bytes of lines a Writer keeps before it sorts them and puts them
// aside in a file.
const runBytes = 64 << 20

// Writer brings the records of sessions together. Its memory does not grow with their number,
// but with that of the sessions that are cut. It is used by one goroutine.
type Writer struct {
	folder string
	limit  int
	lines  []byte
	index  []entry
	runs   []*os.File
	number map[int64]uint32 // of the sessions that are not over: how many records
	cut    map[int64]uint32
}

// entry is one line: lines[from:to].
type entry struct {
	session  int64
	number   uint32
	from, to int
}

// NewWriter keeps what it puts aside in the folder, in files that it removes.
func NewWriter(folder string) *Writer {
	return &Writer{folder: folder, limit: runBytes, number: map[int64]uint32{}, cut: map[int64]uint32{}}
}

// Add adds a session's next record. One that cannot be written, because a text of it is not
// UTF-8, is an ErrText.
func (w *Writer) Add(r *Record) error {
	from := len(w.lines)
	lines, err := r.appendTo(w.lines)
	if err != nil {
		w.lines = w.lines[:from]
		return fmt.Errorf("%w: %w", ErrText, err)
	}
	w.lines = lines
	n := w.number[r.Session]
	if r.Disconnect {
		delete(w.number, r.Session)
	} else {
		w.number[r.Session] = n + 1
	}
	w.index = append(w.index, entry{r.Session, n, from, len(w.lines)})
	if len(w.lines)+len(w.index)*40 < w.limit {
		return nil
	}
	return w.putAside()
}

// ErrText is a text that cannot be in the file.
var ErrText = errors.New("the text is not UTF-8")

// Cut leaves out all records of a session until now but the first, its connection.
func (w *Writer) Cut(session int64) { w.cut[session] = w.number[session] }

func (w *Writer) sort() {
	slices.SortStableFunc(w.index, func(a, b entry) int { return cmp.Compare(a.session, b.session) })
}

// putAside writes what is kept into a file of its own, in order.
func (w *Writer) putAside() error {
	w.sort()
	file, err := os.CreateTemp(w.folder, ".assay-capture-*")
	if err != nil {
		return fmt.Errorf("keep records aside: %w", err)
	}
	_ = os.Remove(file.Name()) // it is there while it is open; systems that refuse have it removed by Close
	w.runs = append(w.runs, file)
	out := bufio.NewWriterSize(file, 1<<20)
	var head []byte
	for _, e := range w.index {
		head = binary.AppendUvarint(head[:0], uint64(e.session))
		head = binary.AppendUvarint(head, uint64(e.number))
		head = binary.AppendUvarint(head, uint64(e.to-e.from))
		_, _ = out.Write(head) // Flush has the error
		_, _ = out.Write(w.lines[e.from:e.to])
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("keep records aside: %w", err)
	}
	w.lines, w.index = w.lines[:0], w.index[:0]
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// Close removes what was put aside.
func (w *Writer) Close() error {
	var all error
	for _, f := range w.runs {
		all = errors.Join(all, f.Close())
		if err := os.Remove(f.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	w.runs = nil
	return all
}

// WriteTo writes the file: the head, and all records, session by session.
func (w *Writer) WriteTo(to io.Writer, head *Head) error {
	out := bufio.NewWriterSize(to, 1<<20)
	line, err := head.line()
	if err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	_, _ = out.Write(line) // Flush has the error
	w.sort()
	sources := sources{&source{kept: w}}
	for _, f := range w.runs {
		sources = append(sources, &source{file: bufio.NewReaderSize(f, 256<<10)})
	}
	// Of equal sessions the earlier run comes first; what is in memory came last.
	for i, s := range sources {
		if s.order = i; i == 0 {
			s.order = len(sources)
		}
	}
	sources = slices.DeleteFunc(sources, func(s *source) bool {
		more, failed := s.next()
		err = errors.Join(err, failed)
		return !more
	})
	heap.Init(&sources)
	for len(sources) > 0 && err == nil {
		s := sources[0]
		if s.number == 0 || s.number >= w.cut[s.session] {
			_, _ = out.Write(s.line)
		}
		var more bool
		if more, err = s.next(); more {
			heap.Fix(&sources, 0)
		} else {
			heap.Pop(&sources)
		}
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("write the recording: %w", err)
	}
	return nil
}

// source is one sorted run.
type source struct {
	kept  *Writer // what is in memory; nil for a file
	at    int
	file  *bufio.Reader
	order int

	session int64
	number  uint32
	line    []byte
}

func (s *source) next() (more bool, err error) {
	if s.kept != nil {
		if s.at == len(s.kept.index) {
			return false, nil
		}
		e := s.kept.index[s.at]
		s.at++
		s.session, s.number, s.line = e.session, e.number, s.kept.lines[e.from:e.to]
		return true, nil
	}
	session, err := binary.ReadUvarint(s.file)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	number, err2 := binary.ReadUvarint(s.file)
	length, err3 := binary.ReadUvarint(s.file)
	if err = errors.Join(err, err2, err3); err != nil {
		return false, err
	}
	s.session, s.number = int64(session), uint32(number)
	s.line = slices.Grow(s.line[:0], int(length))[:length]
	_, err = io.ReadFull(s.file, s.line)
	return err == nil, err
}

// sources is a heap of runs.
type sources []*source

func (s sources) Len() int { return len(s) }
func (s sources) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].session, s[j].session), cmp.Compare(s[i].order, s[j].order)) < 0
}
func (s sources) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *sources) Push(x any)   { *s = append(*s, x.(*source)) }
func (s *sources) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}
