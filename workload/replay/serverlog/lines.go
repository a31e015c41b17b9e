package serverlog

import (
	"bufio"
	"errors"
	"io"
)

// maxText bounds a statement with what belongs to it, in bytes.
const maxText = 16 << 20

// lines reads lines. What is longer than maxText is cut, and cut is true.
type lines struct {
	in     *bufio.Reader
	number int64
	buffer []byte
	cut    bool
}

// next is the next line without its end, good until the next call. The error is io.EOF or the
// reader's.
func (l *lines) next() ([]byte, error) {
	l.number++
	l.buffer, l.cut = l.buffer[:0], false
	for {
		part, err := l.in.ReadSlice('\n')
		if err == nil && len(l.buffer) == 0 {
			return chomp(part), nil
		}
		if len(l.buffer)+len(part) > maxText {
			part, l.cut = part[:maxText-len(l.buffer)], true
		}
		l.buffer = append(l.buffer, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(l.buffer) > 0:
			return chomp(l.buffer), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// each gives all lines to a callback, whose error ends it. number is then one more than there
// are lines.
func (l *lines) each(do func(line string, cut bool) error) error {
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(string(line), l.cut)
		}
		if err != nil {
			return err
		}
	}
}

func chomp(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
