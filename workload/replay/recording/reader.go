package recording

import (
	"bufio"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
)

// maxLine bounds a line, in bytes.
const maxLine = 64 << 20

// Reader reads a file, or from an offset on.
type Reader struct {
	path   string
	in     *bufio.Reader
	line   int64
	offset int64 // of the next line
	buffer []byte
}

// NewReader reads from a text that begins at this offset, with line number line, from 1.
// buffer is how many bytes are read at once.
func NewReader(path string, from io.Reader, offset, line int64, buffer int) *Reader {
	return &Reader{path: path, in: bufio.NewReaderSize(from, buffer), line: line - 1, offset: offset}
}

// Offset is where the next line begins, and Line its number.
func (r *Reader) Offset() int64 { return r.offset }
func (r *Reader) Line() int64   { return r.line + 1 }

func (r *Reader) wrong(reason string) error {
	return &FormatError{Path: r.path, Line: r.line, Reason: reason}
}

// Head reads the first line.
func (r *Reader) Head() (*Head, error) {
	line, err := r.next()
	var head Head
	switch {
	case errors.Is(err, io.EOF):
		r.line = 1
		return nil, r.wrong("the file is empty")
	case err != nil:
		return nil, err
	}
	switch err := json.Unmarshal(line, &head); {
	case err != nil || head.Version == 0:
		return nil, r.wrong("this is not the head of a recording")
	case head.Version > Version:
		return nil, r.wrong("the recording is of a newer form than this version of assay reads")
	case head.Dialect != "postgres" && head.Dialect != "mysql":
		return nil, r.wrong(`dialect is neither "postgres" nor "mysql"`)
	}
	return &head, nil
}

// Next reads a record; io.EOF is the end. Empty lines are passed over.
func (r *Reader) Next(into *Record) error {
	for {
		line, err := r.next()
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		*into = Record{}
		if err := json.Unmarshal(line, into); err != nil {
			return r.wrong("it is not a record: " + err.Error())
		}
		if wrong := into.check(); wrong != "" {
			return r.wrong(wrong)
		}
		return nil
	}
}

// next is the next line, without its end; it is good until the next call.
func (r *Reader) next() ([]byte, error) {
	r.line++
	r.buffer = r.buffer[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.offset += int64(len(part))
		if len(r.buffer)+len(part) > maxLine {
			return nil, r.wrong("the line is longer than 64 MiB")
		}
		if err == nil && len(r.buffer) == 0 {
			return trimmed(part), nil
		}
		r.buffer = append(r.buffer, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(r.buffer) > 0:
			return trimmed(r.buffer), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func trimmed(line []byte) []byte {
	for n := len(line); n > 0 && (line[n-1] == '\n' || line[n-1] == '\r' || line[n-1] == ' '); n-- {
		line = line[:n-1]
	}
	return line
}
