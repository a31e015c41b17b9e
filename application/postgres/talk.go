package postgres

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay/application/wire"
)

// talk is a connection of PostgreSQL's protocol, version 3 (manual 18, "Message Formats").
type talk struct {
	login    map[string]string
	asked    requests
	answered answers
}

func (t *talk) State() wire.State { return wire.State(t.answered.state.Load()) }

// Answer implements wire.Talk.
func (t *talk) Answer(b []byte, r *wire.Request) (int, bool) {
	n, done := t.answered.next(b, r)
	if done { // whatever a COPY that failed has left open
		t.answered.asks.Store(t.asked.copies.Load())
	}
	return n, done
}

// Owes implements wire.Owing: the server has asked for data of COPY, or streams its log, and no end of them
// has come. Some clients send them before the server asks.
func (t *talk) Owes() bool { return t.answered.asks.Load() > t.asked.copies.Load() }

// Request implements wire.Talk. Portals end with their transaction: once all is answered, and none is open.
func (t *talk) Request(b []byte, full bool) (int, *wire.Request) {
	if !t.asked.some && t.answered.readied.Load() > t.asked.ended && t.State() == wire.Idle {
		clear(t.asked.portals)
	}
	return t.asked.next(b, full)
}

// Ask implements wire.Talk.
func (*talk) Ask(text string, _ *wire.Request) *wire.Request {
	out, _ := (&pgproto3.Query{String: text}).Encode(nil) // it fails at texts of gigabytes
	return &wire.Request{Bytes: out}
}

// headerSize is that of a message: its type, and its length with the length's own four bytes.
const headerSize = 5

// frame is the size of the message that b begins with; 0 if too little is there.
func frame(b []byte) int {
	if len(b) < headerSize {
		return 0
	}
	return 1 + int(binary.BigEndian.Uint32(b[1:headerSize]))
}

// requests takes apart what an application sends.
type requests struct {
	// taken is how much of what waits was taken already.
	taken int
	// batch are the statements since the last end of a request.
	batch []*wire.Statement
	// some is true if there were messages since then, and said if some of the statements have passed.
	some, said bool
	// synced is true if the last request ended by Sync, and copied if data of COPY has ended since.
	synced, copied bool
	// copies is how many COPYs the application has ended.
	copies atomic.Int64

	parsed   string // the shape of what was prepared last
	prepared map[string]*prepared
	portals  map[string]*portal
	steps    *pipeline // since the last end of a request; nil of a text
	ended    int64     // how many requests have
}

// next is wire.Talk.Request. What comes before a Sync is held, so that something can be done in
// the whole pipeline's place: the server answers none of it before, unless there is a Flush. A pipeline
// of more bytes than are held passes in parts.
func (q *requests) next(b []byte, full bool) (n int, r *wire.Request) {
	for at := q.taken; ; {
		q.taken = 0
		size := frame(b[at:])
		if size == 0 || at+size > len(b) {
			return q.part(b, at, size, full)
		}
		message := b[at : at+size]
		at += size
		switch message[0] {
		case 'Q', 'S', 'F':
			if message[0] != 'S' {
				q.take(message)
			}
			return at, q.end(message[0] == 'S')
		case 'P', 'B', 'E', 'C', 'D':
			q.take(message)
		default: // a password, data of COPY, Flush, Terminate
			if message[0] == 'c' || message[0] == 'f' {
				q.copied = true
				q.copies.Add(1)
			}
			return at, q.opened()
		}
	}
}

// part deals with a message of which not all is there: what is before it waits, too.
func (q *requests) part(b []byte, at, size int, full bool) (int, *wire.Request) {
	switch {
	case at > 0 && (full || size > 0 && b[at] == 'd'):
		return at, q.opened()
	case size == 0 || !full && b[at] != 'd':
		q.taken = at
		return 0, nil
	}
	switch b[0] {
	case 'Q', 'F':
		q.take(b)
		return size, q.end(false)
	case 'P', 'B', 'E', 'C', 'D':
		q.take(b)
		return size, q.opened()
	}
	return size, nil
}

// end is the request that ends here, by Sync or not. The server passes over a Sync while it takes data,
// and clients send another one behind that (manual 18, "COPY Operations").
func (q *requests) end(sync bool) *wire.Request {
	q.ended++
	r := &wire.Request{Statements: q.batch, Noted: q.steps, Follows: sync && q.synced && q.copied && !q.some}
	if len(q.batch) == 0 && q.parsed != "" && !q.said {
		r.Statements = []*wire.Statement{{Shape: "prepare: " + q.parsed, Kind: wire.Prepare}}
	}
	q.batch, q.steps, q.parsed, q.some, q.said, q.synced, q.copied = nil, nil, "", false, false, sync, false
	return r
}

// opened is what passes of a pipeline before its end; nil if there is none.
func (q *requests) opened() *wire.Request {
	if !q.some {
		return nil
	}
	r := &wire.Request{Statements: q.batch, Noted: q.steps, Open: true}
	q.batch, q.said = nil, q.said || len(q.batch) > 0
	return r
}

// fields reads a message's content. What is not there is empty.
type fields []byte

func (f *fields) bytes(n int) []byte {
	n = max(0, min(n, len(*f)))
	b := (*f)[:n]
	*f = (*f)[n:]
	return b
}

func (f *fields) text() string {
	end := bytes.IndexByte(*f, 0)
	if end < 0 {
		return string(f.bytes(len(*f)))
	}
	text := string(f.bytes(end))
	f.bytes(1)
	return text
}

func (f *fields) short() int {
	b := f.bytes(2)
	if len(b) < 2 {
		return 0
	}
	return int(binary.BigEndian.Uint16(b))
}

// sizeOfSize is how many bytes say how long a value is.
const sizeOfSize = 4

func (f *fields) number() uint32 {
	b := f.bytes(sizeOfSize)
	if len(b) < sizeOfSize {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

// formats are those of values.
func (f *fields) formats() []int {
	all := make([]int, f.short())
	for i := range all {
		all[i] = f.short()
	}
	return all
}

// kindAndName say whether a statement or a portal is meant, and which.
func (f *fields) kindAndName() (kind byte, name string) {
	if b := f.bytes(1); len(b) == 1 {
		kind = b[0]
	}
	return kind, f.text()
}

// value is one of so many bytes, of which some may not be there; nil and -1 of NULL.
func (f *fields) value() (b []byte, size int) {
	if size = int(int32(f.number())); size < 0 {
		return nil, -1
	}
	return f.bytes(size), size
}
