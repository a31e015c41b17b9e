package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay/application/wire"
)

// talk is a connection of PostgreSQL's protocol, version 3 (manual 18, "Message Formats").
type talk struct {
	login    map[string]string
	asked    requests
	answered answers
}

func (t *talk) Request(b []byte, full bool) (int, *wire.Request) { return t.asked.next(b, full) }
func (t *talk) Answer(b []byte, r *wire.Request) (int, bool)     { return t.answered.next(b, r) }
func (t *talk) State() wire.State                                { return wire.State(t.answered.state.Load()) }

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

	parsed   string // the shape of what was prepared last
	prepared map[string][]*wire.Statement
	portals  map[string]*wire.Statement
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
			q.copied = q.copied || message[0] == 'c' || message[0] == 'f'
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
	r := &wire.Request{Statements: q.batch, Follows: sync && q.synced && q.copied && !q.some}
	if len(q.batch) == 0 && q.parsed != "" && !q.said {
		r.Statements = []*wire.Statement{{Shape: "prepare: " + q.parsed, Kind: wire.Prepare}}
	}
	q.batch, q.parsed, q.some, q.said, q.synced, q.copied = nil, "", false, false, sync, false
	return r
}

// opened is what passes of a pipeline before its end; nil if there is none.
func (q *requests) opened() *wire.Request {
	if !q.some {
		return nil
	}
	r := &wire.Request{Statements: q.batch, Open: true}
	q.batch, q.said = nil, q.said || len(q.batch) > 0
	return r
}

// take keeps what a message says.
func (q *requests) take(message []byte) {
	m := fields(message[headerSize:])
	q.some = true
	switch message[0] {
	case 'Q':
		q.batch = append(q.batch, wire.Statements(m.text())...)
	case 'F':
		q.batch = append(q.batch, &wire.Statement{Shape: "function call"})
	case 'P':
		if q.prepared == nil {
			q.prepared = map[string][]*wire.Statement{}
		}
		name, all := m.text(), wire.Statements(m.text())
		if q.prepared[name] = all; len(all) > 0 {
			q.parsed = all[0].Shape
		}
	case 'C':
		if kind := m.bytes(1); len(kind) == 1 && kind[0] == 'S' {
			delete(q.prepared, m.text())
		} else {
			delete(q.portals, m.text())
		}
	case 'B':
		q.bind(m)
	case 'E':
		if s := q.portals[m.text()]; s != nil {
			again := *s // a portal can be executed more than once
			q.batch = append(q.batch, &again)
		}
	}
}

func (q *requests) bind(m fields) {
	portal, name := m.text(), m.text()
	of := q.prepared[name]
	s := &wire.Statement{Shape: "an unknown statement"}
	if len(of) > 0 {
		*s = *of[0]
	}
	formats := make([]int, min(m.short(), 1<<16))
	for i := range formats {
		formats[i] = m.short()
	}
	s.Values = append([]string(nil), s.Values...)
	for i := range m.short() {
		if len(s.Values) >= wire.MaxValues {
			break
		}
		format := 0
		switch {
		case len(formats) == 1:
			format = formats[0]
		case i < len(formats):
			format = formats[i]
		}
		s.Values = append(s.Values, value(m.value(), format))
	}
	if q.portals == nil {
		q.portals = map[string]*wire.Statement{}
	}
	q.portals[portal] = s
}

// value is a parameter as text: of a binary one, whole numbers as such, and else its bytes.
func value(b []byte, format int) string {
	switch {
	case b == nil:
		return "NULL"
	case format == 0:
		return wire.Shortened(string(b))
	case len(b) == 2:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b))))
	case len(b) == 4:
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(b))))
	case len(b) == 8:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)
	}
	return wire.Shortened(fmt.Sprintf("%x", b))
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

// value is nil of NULL.
func (f *fields) value() []byte {
	b := f.bytes(4)
	if len(b) < 4 {
		return nil
	}
	n := int32(binary.BigEndian.Uint32(b))
	if n < 0 {
		return nil
	}
	return f.bytes(int(n))
}

// next is wire.Talk.Answer: up to the end of an answer, or of what is there.
func (a *answers) next(b []byte, r *wire.Request) (n int, done bool) {
	for n < len(b) {
		size := frame(b[n:])
		if size == 0 {
			return n, false
		}
		kind, whole := b[n], n+size <= len(b)
		var rows *wire.Answer
		if kind == 'D' {
			rows = r.Answering().Keeps()
		}
		asks := kind == 'G' || kind == 'W'
		told := asks || kind == 'C' || kind == 'E' || kind == 'H' || kind == 'N' || kind == 'Z' || kind == 'R' || rows != nil
		switch {
		case !whole && told && size < wire.MaxTold:
			return n, false
		case !whole:
			if rows != nil {
				rows.Cut = true
			}
			return n + size, false
		case kind == 'R':
			if at := bytes.Index(b[n:n+size], []byte(scramBound)); at >= 0 { // libpq refuses it without TLS
				copy(b[n+at:], scramUnknown)
			}
		case rows != nil:
			m := fields(b[n+headerSize : n+size])
			left := m.short()
			rows.Row(func() ([]byte, bool, bool) { left--; v := m.value(); return v, v != nil, left >= 0 })
		case told:
			a.take(kind, fields(b[n+headerSize:n+size]), r)
		case kind == 'I' || kind == 's':
			r.Answered()
		}
		n += size
		if kind == 'Z' {
			return n, true
		}
		if asks && r != nil {
			r.Asks = true
			return n, false
		}
	}
	return n, false
}

// The login that is bound to a certificate, and a name as long that no client knows.
const (
	scramBound   = "SCRAM-SHA-256-PLUS\x00"
	scramUnknown = "SCRAM-SHA-256-NONE\x00"
)

// notReplicated is the field of a notice by which the server says that it stopped waiting for its
// synchronous standby: it has committed, and a failover may take that back (manual 18, "Synchronous
// Replication"). The notice's code and text do not tell.
const notReplicated = "RSyncRepWaitForLSN\x00"

func (a *answers) take(kind byte, m fields, r *wire.Request) {
	s := r.Answering()
	switch kind {
	case 'Z':
		state := wire.Idle
		switch m.bytes(1)[0] {
		case 'T':
			state = wire.Within
		case 'E':
			state = wire.Failed
		}
		a.state.Store(uint32(state))
	case 'N':
		if bytes.Contains(m, []byte(notReplicated)) {
			r.Doubt()
		}
	case 'H':
		a.copies = true
	case 'C':
		copied := a.copies
		if a.copies = false; s != nil {
			s.Tag = m.text()
			switch word, _, _ := strings.Cut(s.Tag, " "); word {
			case "INSERT", "UPDATE", "DELETE", "MERGE", "COPY":
				s.Writes = !copied
				s.Rows, _ = strconv.ParseInt(s.Tag[strings.LastIndexByte(s.Tag, ' ')+1:], 10, 64)
			}
		}
		r.Answered()
	case 'E':
		if a.copies = false; s != nil {
			code, text := "", ""
			for len(m) > 0 {
				switch field := m.bytes(1)[0]; field {
				case 0:
				case 'C':
					code = m.text()
				case 'M':
					text = m.text()
				default:
					m.text()
				}
			}
			s.Error = wire.Shortened(code + " " + text)
		}
		r.Answered()
	}
}
