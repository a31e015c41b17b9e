package exchange

import (
	"errors"
	"fmt"
	"io"
)

// FormatError says where and why a history cannot be read.
type FormatError struct {
	// Line counts from 1, and so does Column, in bytes; 0 if it is not known.
	Line, Column int
	Reason       string
}

func (e *FormatError) Error() string {
	if e.Column > 1 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

// place is where an event begins, as in FormatError.
type place struct{ line, column int }

const bufferSize = 256 << 10

// maxIdleReads bounds consecutive reads that return nothing, as in bufio.
const maxIdleReads = 100

// input is a stream of bytes that counts lines.
type input struct {
	src      io.Reader
	buf      []byte
	pos, end int
	base     int64 // where in the source buf begins
	line     int
	lineAt   int64 // where in the source the line begins
	err      error // why no more can be read, io.EOF included
}

func newInput(src io.Reader) *input {
	return &input{src: src, buf: make([]byte, bufferSize), line: 1}
}

// fill makes buf[pos] the next byte. It returns false if there is none.
func (in *input) fill() bool {
	if in.pos == in.end && in.err == nil {
		in.base += int64(in.pos)
		in.pos, in.end = 0, 0
		in.read()
	}
	return in.pos < in.end
}

// read adds at least one byte to the buffer, which must have room, or sets err.
func (in *input) read() {
	for range maxIdleReads {
		var n int
		n, in.err = in.src.Read(in.buf[in.end:])
		in.end += n
		if n > 0 || in.err != nil {
			return
		}
	}
	in.err = io.ErrNoProgress
}

// ahead returns the next bytes, unconsumed: n or more if there are as many and the buffer has room.
func (in *input) ahead(n int) []byte {
	n = min(n, len(in.buf))
	if in.end-in.pos < n && in.err == nil {
		copy(in.buf, in.buf[in.pos:in.end])
		in.base += int64(in.pos)
		in.end, in.pos = in.end-in.pos, 0
		for in.end < n && in.err == nil {
			in.read()
		}
	}
	return in.buf[in.pos:in.end]
}

// peek returns the next byte without consuming it; ok is false at the end.
func (in *input) peek() (c byte, ok bool) {
	if in.pos == in.end && !in.fill() {
		return 0, false
	}
	return in.buf[in.pos], true
}

func (in *input) skip() {
	if in.buf[in.pos] == '\n' {
		in.line++
		in.lineAt = in.base + int64(in.pos) + 1
	}
	in.pos++
}

func (in *input) take() (c byte, ok bool) {
	if c, ok = in.peek(); ok {
		in.skip()
	}
	return c, ok
}

func (in *input) bad(format string, args ...any) error {
	if err := in.broken(); err != nil {
		return err
	}
	at := in.place()
	return &FormatError{Line: at.line, Column: at.column, Reason: fmt.Sprintf(format, args...)}
}

// place returns where the next byte is.
func (in *input) place() place {
	return place{line: in.line, column: int(in.base+int64(in.pos)-in.lineAt) + 1}
}

// unexpected returns an error about the next byte c, which stands in place of wanted.
func (in *input) unexpected(c byte, wanted string) error {
	if c == 0 {
		return in.zero(in.base + int64(in.pos))
	}
	return in.bad("found %q where %s was expected", c, wanted)
}

func (in *input) zero(at int64) error {
	return in.bad("byte %d of the history (from 0) is zero, and so is no part of one; "+
		"zeros at the end are what a crash leaves of a file: cut them off, and judge what is before them", at)
}

// broken returns the error of the source; nil at its end.
func (in *input) broken() error {
	if in.pos < in.end || in.err == nil || in.err == io.EOF {
		return nil
	}
	return in.sourceBroken()
}

func (in *input) sourceBroken() error {
	var bad *FormatError
	if errors.As(in.err, &bad) {
		return &FormatError{Line: in.line, Reason: bad.Reason}
	}
	return fmt.Errorf("exchange: read a history: %w", in.err)
}

func (in *input) tooShort(what string) error {
	return in.bad("the file ends inside %s; is it cut short", what)
}
