package cycle

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// maxLine bounds one line of a log, in bytes.
const maxLine = 1 << 28

// ReadJepsen reads a history in Jepsen's JSON-lines form: one event a line,
// {"type", "process", "value", ...} where type is invoke, ok, fail or info, and
// value a list of ["r", key, list, value or null], ["append", key, element] and
// ["w", key, value]. Keys, elements and values are whole numbers or strings.
// Events whose process is not a number, such as the nemesis', are passed over.
//
// The order of the lines is the order in time. An invocation that nobody
// completed may have taken effect, like one whose completion is info. It
// returns a *LineError for what is malformed, and what r returns if it cannot
// be read.
func ReadJepsen(r io.Reader) (*History, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	j := jepsenReader{events: newEvents(), types: map[string]eventType{
		"invoke": invoked, "ok": succeeded, "fail": failedEvent, "info": indefinite,
	}}
	for number := int64(1); ; number++ {
		line, err := readLine(in, &j.long)
		if errors.Is(err, errLineTooLong) {
			return nil, &LineError{Line: number, Reason: err.Error()}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("cycle: read line %d: %w", number, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if bad := j.line(line); bad != nil {
				return nil, &LineError{Line: number, Reason: bad.Error()}
			}
		}
		if err != nil {
			return j.events.history(), nil
		}
	}
}

// LineError says which line of a log is malformed, and why.
type LineError struct {
	// Line counts from 1.
	Line   int64
	Reason string
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

var errLineTooLong = fmt.Errorf("longer than %d bytes", maxLine)

// readLine returns the next line, valid until the next call, and io.EOF with
// the last. long holds lines that are longer than the reader's buffer.
func readLine(in *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	*long = append((*long)[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(*long) > maxLine {
			return nil, errLineTooLong
		}
		line, err = in.ReadSlice('\n')
		*long = append(*long, line...)
	}
	return *long, err
}

type jepsenReader struct {
	events *events
	types  map[string]eventType
	long   []byte
	ops    []Op
	elems  []int64
}

// line reads one event.
func (j *jepsenReader) line(line []byte) error {
	s := scanner{buf: line}
	e := event{index: -1}
	isClient, hasType, hasProcess, hasValue := false, false, false, false
	var badType, badValue error
	s.want('{')
	s.each('}', func() {
		name := string(s.text())
		s.want(':')
		switch name {
		case "type":
			hasType = true
			var known bool
			word := strings.TrimPrefix(string(s.text()), ":")
			if e.kind, known = j.types[word]; !known {
				badType = fmt.Errorf("%q is not a type of event (invoke, ok, fail, info)", word)
			}
		case "process":
			hasProcess = true
			e.process, isClient = j.process(&s)
		case "index":
			if v, ok := s.integer(); ok {
				e.index = v
			}
		case "value":
			hasValue = true
			badValue = j.value(&s)
		default:
			s.skip(maxDepth)
		}
	})
	if s.next() != 0 || s.err == nil && s.at < len(s.buf) {
		s.failHere("the end of the line")
	}
	switch {
	case s.err != nil:
		return s.err
	case hasProcess && !isClient:
		return nil
	case !hasType || !hasProcess:
		return errors.New("an event must have a type and a process")
	case badType != nil:
		return badType
	case e.kind == failedEvent || e.kind == indefinite: // what counts is how it was begun
	case !hasValue:
		return errors.New("the beginning and the success of a transaction must have a value")
	case badValue != nil:
		return badValue
	}
	e.ops = j.ops
	return j.events.add(e)
}

// integer takes any value and returns it if it is a whole number.
func (s *scanner) integer() (int64, bool) {
	if c := s.next(); c == '-' || isDigit(c) {
		return s.number()
	}
	s.skip(maxDepth)
	return 0, false
}

// process takes a process; those that are not numbers are no clients.
func (j *jepsenReader) process(s *scanner) (int32, bool) {
	v, ok := s.integer()
	if ok && (v < math.MinInt32 || v > math.MaxInt32) {
		s.fail("%d is too large for the number of a process", v)
	}
	return int32(v), ok
}

// value takes the list of operations into j.ops. What is JSON but not such a
// list is an error that it returns.
func (j *jepsenReader) value(s *scanner) error {
	begin := s.at
	j.ops, j.elems = j.ops[:0], j.elems[:0]
	bad := j.operations(s)
	if bad != nil && s.err == nil {
		s.at = begin
		s.skip(maxDepth)
	}
	return bad
}

var errShape = errors.New(`the value must be a list of ["r", key, list, value or null], ["append", key, element] and ["w", key, value]`)

func (j *jepsenReader) operations(s *scanner) error {
	if !s.take('[') {
		return errShape
	}
	if s.take(']') {
		return nil
	}
	for s.err == nil {
		if err := j.operation(s); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		s.want(',')
	}
	return nil
}

func (j *jepsenReader) operation(s *scanner) error {
	if !s.take('[') || s.next() != '"' {
		return errShape
	}
	var o Op
	switch f := strings.TrimPrefix(string(s.text()), ":"); f {
	case "r", "read":
		o.Kind = ReadNothing
	case "append":
		o.Kind = Append
	case "w", "write":
		o.Kind = Write
	default:
		return fmt.Errorf("%q is not an operation (r, append, w)", f)
	}
	s.want(',')
	var err error
	if o.Key, err = j.atom(s); err != nil {
		return fmt.Errorf("the key is %w", err)
	}
	s.want(',')
	switch c := s.next(); {
	case o.Kind != ReadNothing:
		o.Value, err = j.atom(s)
	case c == 'n':
		s.word("null")
	case c == '[':
		o.Kind = ReadList
		o.List, err = j.list(s)
	default:
		o.Kind = ReadValue
		o.Value, err = j.atom(s)
	}
	if err != nil {
		return fmt.Errorf("the value of an operation is %w", err)
	}
	if s.err == nil && !s.take(']') {
		return errShape
	}
	j.ops = append(j.ops, o)
	return nil
}

var errNotAtom = errors.New("neither a whole number nor a string")

// atom takes a number or a string.
func (j *jepsenReader) atom(s *scanner) (int64, error) {
	switch c := s.next(); {
	case c == '"':
		text := s.text()
		if s.err != nil {
			return 0, nil
		}
		return j.events.b.Symbol(string(text)), nil
	case c == '-' || isDigit(c):
		v, ok := s.number()
		if s.err == nil && (!ok || v < firstNumber) {
			return 0, errNotInteger
		}
		return v, nil
	default:
		return 0, errNotAtom
	}
}

// list takes the elements that were read. They are kept until the next line.
func (j *jepsenReader) list(s *scanner) ([]int64, error) {
	begin := len(j.elems)
	s.want('[')
	if s.take(']') {
		return nil, nil
	}
	for s.err == nil {
		v, err := j.atom(s)
		if err != nil {
			return nil, err
		}
		j.elems = append(j.elems, v)
		if s.take(']') {
			break
		}
		s.want(',')
	}
	return j.elems[begin:len(j.elems):len(j.elems)], nil
}
