package postgres

import (
	"bytes"
	"strconv"
	"strings"
	"sync/atomic"

	"assay/application/wire"
)

// answers takes apart what the server sends.
type answers struct {
	state atomic.Uint32
	// readied counts how often the server was ready: behind the login, and behind each request.
	readied atomic.Int64
	// asks counts how often the server has asked for data of COPY, or has begun to stream its log.
	asks atomic.Int64
	// copies is true while the server sends data of COPY, which changes nothing.
	copies bool
	shape  shape // of the rows of a text
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
		told := asks || rows != nil || strings.IndexByte("CEHNZRTt", kind) >= 0
		switch {
		case !whole && told && size < wire.MaxTold:
			return n, false
		case !whole:
			if rows != nil {
				rows.Cut = true
			}
			if kind == 'T' {
				pipelineOf(r).next(true, false)
			}
			return n + size, false
		case kind == 'R':
			if at := bytes.Index(b[n:n+size], []byte(scramBound)); at >= 0 { // libpq refuses it without TLS
				copy(b[n+at:], scramUnknown)
			}
		case rows != nil:
			a.takeRow(rows, fields(b[n+headerSize:n+size]), r)
		case kind == 'T' || kind == 't':
			a.described(kind, fields(b[n+headerSize:n+size]), r)
		case told:
			a.take(kind, fields(b[n+headerSize:n+size]), r)
		case kind == 'n':
			pipelineOf(r).next(true, false)
		case kind == 'I' || kind == 's':
			a.answered(r, false)
		}
		n += size
		if kind == 'Z' {
			return n, true
		}
		if asks && r != nil {
			r.Asks, r.Discards = true, true
			a.asks.Add(1)
			if s := r.Answering(); s != nil { // whose data are not looked at
				s.Partial = true
			}
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
		a.readied.Add(1)
		a.shape = shape{}
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
		a.answered(r, false)
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
			s.Doubtful = s.Doubtful || code == "40003" || strings.HasPrefix(code, "08") // see driver/postgres, errorTable
			s.Error = wire.Shortened(code + " " + text)
		}
		a.answered(r, true)
	}
}

// answered goes on to the next statement, and past the step that has it.
func (a *answers) answered(r *wire.Request, failed bool) {
	pipelineOf(r).next(true, failed)
	r.Answered()
}

// shape are the types and formats of the columns that come.
type shape struct {
	columns []uint32
	formats []int
}

// described reads the server's description of parameters or columns.
func (a *answers) described(kind byte, m fields, r *wire.Request) {
	var of shape
	for range m.short() {
		if kind == 't' {
			of.columns = append(of.columns, m.number())
			continue
		}
		m.text()
		m.bytes(6) // the table, and the column's number
		of.columns = append(of.columns, m.number())
		m.bytes(6) // the type's size, and its modifier
		of.formats = append(of.formats, m.short())
	}
	s, is := pipelineOf(r).next(kind != 't', false)
	switch {
	case !is:
		a.shape = of // of a text's
	case s.kind == executes: // which no description is of
	default:
		s.of.mu.Lock()
		defer s.of.mu.Unlock()
		if kind == 't' {
			s.of.parameters = of.columns
		} else {
			s.of.columns = of.columns
		}
	}
}

// takeRow keeps a row.
func (a *answers) takeRow(rows *wire.Answer, m fields, r *wire.Request) {
	of := a.shape
	if s, is := pipelineOf(r).next(false, false); is {
		s.of.mu.Lock()
		of = shape{s.of.columns, s.formats}
		s.of.mu.Unlock()
	}
	left, at := m.short(), 0
	rows.Row(func() (string, bool) {
		if at == left {
			return "", false
		}
		b, _ := m.value()
		text := printed(b, formatOf(of.formats, at), typeOf(of.columns, at))
		at++
		return text, true
	})
}

func pipelineOf(r *wire.Request) *pipeline {
	if r == nil {
		return nil
	}
	p, _ := r.Noted.(*pipeline)
	return p
}
