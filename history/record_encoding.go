package history

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/bits"
)

const (
	tagHeader byte = iota + 1
	tagClass
	tagOp
	tagReservation
	tagEvent
	tagEnd
)

const magic = "ASSAYH02"

// Header opens a history.
type Header struct {
	Run string `json:"run"`
	// Workload and Version name the writer.
	Workload string `json:"workload"`
	Version  string `json:"version"`
	// Started is the start of the run in Unix nanoseconds, the zero of all times.
	Started int64 `json:"started_unix_ns"`
	// Clocks gives the possible error of some clients' times in a history merged from several;
	// the other clients' times are exact.
	Clocks []Clock `json:"clocks,omitempty"`
}

// Clock says that another machine's clock took the times of clients First to First+Clients-1.
// They may be off by Error nanoseconds either way.
type Clock struct {
	First   int   `json:"first_client"`
	Clients int   `json:"clients"`
	Error   int64 `json:"error_ns"`
}

const (
	flagLast byte = 1 << iota
	flagLate
	flagRetried
	flagClass
	flagValues
)

// encoder writes records. Times are differences to the record before, anew in each frame.
type encoder struct {
	buf  []byte
	last int64
}

func (e *encoder) reset(buf []byte) { e.buf, e.last = buf[:0], 0 }

func (e *encoder) op(op *Op, class uint64) {
	var flags byte
	if op.Last {
		flags |= flagLast
	}
	if op.Due != op.First {
		flags |= flagLate
	}
	if op.First != op.Start {
		flags |= flagRetried
	}
	if class != 0 {
		flags |= flagClass
	}
	if len(op.Values) > 0 {
		flags |= flagValues
	}
	e.buf = append(e.buf, tagOp, flags, byte(op.Outcome)|byte(op.Final)<<2, op.Kind)
	e.uint(uint64(op.Client))
	e.uint(op.Seq)
	e.uint(uint64(op.Attempt))
	e.int(op.End - e.last)
	e.last = op.End
	e.int(op.End - op.Start)
	if flags&flagRetried != 0 {
		e.int(op.Start - op.First)
	}
	if flags&flagLate != 0 {
		e.int(op.First - op.Due)
	}
	if flags&flagClass != 0 {
		e.uint(class)
	}
	if flags&flagValues != 0 {
		e.uint(uint64(len(op.Values)))
		for _, v := range op.Values {
			e.int(v)
		}
	}
}

func (e *encoder) reservation(r Reservation) {
	e.buf = append(e.buf, tagReservation)
	e.uint(uint64(r.Client))
	e.uint(r.UpTo)
}

func (e *encoder) class(id uint64, name string) {
	e.buf = append(e.buf, tagClass)
	e.uint(id)
	e.bytes([]byte(name))
}

func (e *encoder) document(tag byte, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	e.buf = append(e.buf, tag)
	e.bytes(text)
	return nil
}

func (e *encoder) end(ops uint64) {
	e.buf = append(e.buf, tagEnd)
	e.uint(ops)
}

func (e *encoder) uint(v uint64) { e.buf = binary.AppendUvarint(e.buf, v) }
func (e *encoder) int(v int64)   { e.buf = binary.AppendVarint(e.buf, v) }
func (e *encoder) bytes(b []byte) {
	e.uint(uint64(len(b)))
	e.buf = append(e.buf, b...)
}

var errMalformed = errors.New("a record that cannot be read")

// decoder is encoder's inverse. A failed read sets bad, and all further reads give zero.
type decoder struct {
	buf  []byte
	last int64
	bad  bool
}

func (d *decoder) byte() byte {
	if len(d.buf) == 0 {
		d.bad = true
		return 0
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

func (d *decoder) uint() uint64 {
	v, rest := uvarint(d.buf)
	d.advance(rest)
	return v
}

// advance continues with rest, which is nil after a failed read.
func (d *decoder) advance(rest []byte) { d.buf, d.bad = rest, d.bad || rest == nil }

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.buf)) {
		d.bad, d.buf = true, nil
		return nil
	}
	b := d.buf[:n]
	d.buf = d.buf[n:]
	return b
}

// opHead is the length of flags, outcomes and kind, which follow an op's tag.
const opHead = 3

// op reads an op after its tag, reusing op.Values, and returns its class's number (0: none).
func (d *decoder) op(op *Op, bare bool) (class uint64) {
	b := d.buf
	if len(b) < opHead {
		d.advance(nil)
		return 0
	}
	flags, outcomes := b[0], b[1]
	op.Last = flags&flagLast != 0
	op.Outcome, op.Final = Outcome(outcomes&3), Outcome(outcomes>>2&3)
	op.Kind = b[2]
	var client, attempt uint64
	client, b = uvarint(b[opHead:])
	op.Seq, b = uvarint(b)
	attempt, b = uvarint(b)
	op.Client, op.Attempt = int(client), int(attempt)
	var v int64
	v, b = varint(b)
	d.last += v
	op.End = d.last
	v, b = varint(b)
	op.Start = op.End - v
	op.First = op.Start
	if flags&flagRetried != 0 {
		v, b = varint(b)
		op.First -= v
	}
	op.Due = op.First
	if flags&flagLate != 0 {
		v, b = varint(b)
		op.Due -= v
	}
	op.Error, op.Values = "", op.Values[:0]
	if flags&flagClass != 0 {
		class, b = uvarint(b)
	}
	switch {
	case flags&flagValues == 0:
	case bare:
		b = passOverValues(b)
	default:
		op.Values, b = values(b, op.Values)
	}
	d.advance(b)
	if op.Client < 0 || op.Attempt < 1 || outcomes > 15 {
		d.bad = true
	}
	return class
}

func values(b []byte, into []int64) ([]int64, []byte) {
	n, b := uvarint(b)
	if n > MaxValues {
		return into, nil
	}
	for range n {
		var v int64
		v, b = varint(b)
		into = append(into, v)
	}
	return into, b
}

func passOverValues(b []byte) (rest []byte) {
	n, b := uvarint(b)
	if n > MaxValues {
		return nil
	}
	return passOver(b, int(n))
}

// pass skips an op after its tag, but for when it ended. It finds less malformed data than op.
func (d *decoder) pass() {
	b := d.buf
	if len(b) < opHead {
		d.advance(nil)
		return
	}
	flags := b[0]
	took, b := varint(passOver(b[opHead:], 3))
	d.last += took
	b = passOver(b, 1+bits.OnesCount8(flags&(flagRetried|flagLate|flagClass)))
	if flags&flagValues != 0 {
		b = passOverValues(b)
	}
	d.advance(b)
}
