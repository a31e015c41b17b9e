package history

import (
	"encoding/json"
	"errors"
	"io"
)

// Visitor has the functions that Read calls, in the order of the file. A nil function is
// skipped. The *Op is reused and must not be kept. An error of a function ends the reading and
// is returned unchanged.
type Visitor struct {
	Header      func(Header) error
	Op          func(*Op) error
	Reservation func(Reservation) error
	Event       func(Event) error
	// AsMeasured leaves times as measured. Otherwise times of other machines' clocks are
	// widened (Op.Widened), so that a check may judge by them.
	AsMeasured bool
	// Bare leaves out Op.Values, a large part of the file.
	Bare bool
}

// Ending says how a history ended.
type Ending struct {
	// Whole is true if the writer closed the file in order.
	Whole bool
	// Ops is the number of attempts read.
	Ops uint64
	// Last is the latest end of an attempt, as measured; 0 without attempts.
	Last int64
}

// Read reads a history file. It returns a *FormatError if the file is no history or is damaged;
// a file cut short is no error. Without a function for attempts it skips them: this is faster and
// finds less malformed data.
func Read(path string, v Visitor) (Ending, error) {
	frames, err := OpenFrames(path, magic)
	if err != nil {
		return Ending{}, err
	}
	r := reading{path: path, visitor: v}
	err = r.all(frames)
	return r.ending, errors.Join(err, frames.Close())
}

type reading struct {
	path    string
	visitor Visitor
	classes []string
	op      Op
	errors  []int64 // of clocks, by client
	ending  Ending
	began   bool
}

func (r *reading) all(frames *FrameReader) error {
	for {
		offset := frames.offset
		payload, err := frames.ReadFrame()
		if errors.Is(err, io.EOF) {
			if !r.began {
				return &FormatError{Path: r.path, Offset: offset, Reason: "the history has no header"}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.frame(payload); errors.Is(err, errMalformed) {
			return &FormatError{Path: r.path, Offset: offset, Reason: err.Error()}
		} else if err != nil {
			return err
		}
	}
}

func (r *reading) frame(payload []byte) error {
	d := decoder{buf: payload}
	for len(d.buf) > 0 {
		tag := d.byte()
		if r.ending.Whole || (tag == tagHeader) == r.began {
			return errMalformed // something after the end, or a header not in its place
		}
		if err := r.record(tag, &d); err != nil {
			return err
		}
		if d.bad {
			return errMalformed
		}
	}
	return nil
}

func (r *reading) record(tag byte, d *decoder) error {
	switch tag {
	case tagHeader:
		r.began = true
		return document(d, r.header)
	case tagEvent:
		return document(d, r.visitor.Event)
	case tagClass:
		id, name := d.uint(), string(d.bytes())
		if id != uint64(len(r.classes)+1) || len(r.classes) > maxClasses {
			return errMalformed
		}
		r.classes = append(r.classes, name)
	case tagOp:
		return r.attempt(d)
	case tagReservation:
		reservation := Reservation{Client: int(d.uint()), UpTo: d.uint()}
		if d.bad || reservation.Client < 0 {
			return errMalformed
		}
		if r.visitor.Reservation != nil {
			return r.visitor.Reservation(reservation)
		}
	case tagEnd:
		r.ending.Whole = true
		if d.uint() != r.ending.Ops {
			return errMalformed
		}
	default:
		return errMalformed
	}
	return nil
}

func (r *reading) attempt(d *decoder) error {
	r.ending.Ops++
	if r.visitor.Op == nil {
		d.pass()
		r.ending.Last = max(r.ending.Last, d.last)
		return nil
	}
	class := d.op(&r.op, r.visitor.Bare)
	if d.bad || class > uint64(len(r.classes)) {
		return errMalformed
	}
	if class > 0 {
		r.op.Error = r.classes[class-1]
	}
	r.ending.Last = max(r.ending.Last, r.op.End)
	r.widen(&r.op)
	return r.visitor.Op(&r.op)
}

func (r *reading) header(h Header) error {
	for _, c := range h.Clocks {
		if c.First < 0 || c.Clients < 0 || c.First+c.Clients > maxClocked || c.Error < 0 {
			return errMalformed
		}
		if r.visitor.AsMeasured {
			continue
		}
		r.errors = append(r.errors, make([]int64, max(c.First+c.Clients-len(r.errors), 0))...)
		for i := range c.Clients {
			r.errors[c.First+i] = c.Error
		}
	}
	if r.visitor.Header == nil {
		return nil
	}
	return r.visitor.Header(h)
}

// maxClocked bounds the clients of a header's clocks.
const maxClocked = 1 << 24

func (r *reading) widen(op *Op) {
	op.Widened = 0
	if op.Client < len(r.errors) {
		op.Widened = r.errors[op.Client]
		op.First, op.Start, op.End = op.First-op.Widened, op.Start-op.Widened, op.End+op.Widened
	}
}

func document[T any](d *decoder, visit func(T) error) error {
	var v T
	if json.Unmarshal(d.bytes(), &v) != nil || d.bad {
		return errMalformed
	}
	if visit == nil {
		return nil
	}
	return visit(v)
}
