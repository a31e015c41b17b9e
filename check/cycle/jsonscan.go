package cycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// scanner reads one JSON text, strictly by RFC 8259, without building it up.
// After the first error all further reads do nothing.
type scanner struct {
	buf []byte
	at  int
	err error
}

// maxDepth bounds how deep the JSON of one line may be nested.
const maxDepth = 64

var errNotInteger = errors.New("a number that is not a whole number of 64 bits")

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// next passes over white space and returns the next byte without taking it, 0
// at the end or after an error.
func (s *scanner) next() byte {
	for s.err == nil && s.at < len(s.buf) {
		switch c := s.buf[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// take takes the byte if it is next.
func (s *scanner) take(c byte) bool {
	if s.next() != c || c == 0 {
		return false
	}
	s.at++
	return true
}

func (s *scanner) want(c byte) {
	if !s.take(c) {
		s.failHere(fmt.Sprintf("%q", c))
	}
}

func (s *scanner) failHere(wanted string) {
	if s.at >= len(s.buf) {
		s.fail("the line ends where %s should be", wanted)
	} else {
		s.fail("at byte %d: %q where %s should be", s.at+1, s.buf[s.at], wanted)
	}
}

// each calls visit for each member of an array or object that ends with end,
// after its opening bracket was taken.
func (s *scanner) each(end byte, visit func()) {
	if s.take(end) {
		return
	}
	for s.err == nil {
		visit()
		if s.take(end) {
			return
		}
		s.want(',')
	}
}

// word takes one of true, false and null.
func (s *scanner) word(w string) {
	if s.next() == 0 || len(s.buf)-s.at < len(w) || string(s.buf[s.at:s.at+len(w)]) != w {
		s.failHere("a value")
		return
	}
	s.at += len(w)
}

// text takes a string. What it returns is valid until the line is.
func (s *scanner) text() []byte {
	if s.next() != '"' {
		s.failHere("a string")
		return nil
	}
	begin := s.at
	for i := begin + 1; i < len(s.buf); i++ {
		switch c := s.buf[i]; {
		case c == '"':
			s.at = i + 1
			return s.buf[begin+1 : i]
		case c == '\\' || c < ' ' || c >= 0x80:
			return s.escaped(begin)
		}
	}
	s.at = len(s.buf)
	s.failHere("the end of a string")
	return nil
}

// escaped takes a string that is not plain ASCII.
func (s *scanner) escaped(begin int) []byte {
	end := begin + 1
	for end < len(s.buf) && s.buf[end] != '"' {
		if s.buf[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(s.buf) {
		s.at = len(s.buf)
		s.failHere("the end of a string")
		return nil
	}
	var text string
	if err := json.Unmarshal(s.buf[begin:end+1], &text); err != nil {
		s.fail("at byte %d: a malformed string", begin+1)
		return nil
	}
	s.at = end + 1
	return []byte(text)
}

// number takes a number and returns it if it is whole and fits; if not, ok is
// false.
func (s *scanner) number() (value int64, ok bool) {
	s.next()
	begin := s.at
	negative := s.at < len(s.buf) && s.buf[s.at] == '-'
	if negative {
		s.at++
	}
	digits := s.at
	magnitude := uint64(0)
	ok = true
	for ; s.at < len(s.buf) && isDigit(s.buf[s.at]); s.at++ {
		d := uint64(s.buf[s.at] - '0')
		if magnitude > (math.MaxUint64-d)/10 {
			ok = false
		}
		magnitude = magnitude*10 + d
	}
	if s.at == digits || s.buf[digits] == '0' && s.at > digits+1 {
		s.at = begin
		s.failHere("a value")
		return 0, false
	}
	if s.at < len(s.buf) && (s.buf[s.at] == '.' || s.buf[s.at]|0x20 == 'e') {
		s.fraction()
		return 0, false
	}
	switch {
	case negative && magnitude <= 1<<63:
		return -int64(magnitude), ok
	case !negative && magnitude < 1<<63:
		return int64(magnitude), ok
	default:
		return 0, false
	}
}

// fraction takes what may follow the whole part of a number.
func (s *scanner) fraction() {
	digits := func() {
		begin := s.at
		for s.at < len(s.buf) && isDigit(s.buf[s.at]) {
			s.at++
		}
		if s.at == begin {
			s.failHere("a digit")
		}
	}
	if s.buf[s.at] == '.' {
		s.at++
		digits()
	}
	if s.err == nil && s.at < len(s.buf) && s.buf[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.buf) && (s.buf[s.at] == '+' || s.buf[s.at] == '-') {
			s.at++
		}
		digits()
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// skip takes any value.
func (s *scanner) skip(depth int) {
	switch c := s.next(); {
	case depth == 0:
		s.fail("nested deeper than %d", maxDepth)
	case c == '{':
		s.at++
		s.each('}', func() {
			s.text()
			s.want(':')
			s.skip(depth - 1)
		})
	case c == '[':
		s.at++
		s.each(']', func() { s.skip(depth - 1) })
	case c == '"':
		s.text()
	case c == 't':
		s.word("true")
	case c == 'f':
		s.word("false")
	case c == 'n':
		s.word("null")
	default:
		s.number()
	}
}
