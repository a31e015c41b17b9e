package mongodb

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"assay/application/wire"
)

// talk is a connection of MongoDB's protocol. Clients wait for the answer to each message.
type talk struct {
	state atomic.Uint32
	// greeted is true behind the first answer.
	greeted bool
	// follows is true if connections lead to the primary, and primary once this one's server has said
	// that it is that.
	follows, primary bool
}

func (t *talk) State() wire.State { return wire.State(t.state.Load()) }

// Ask implements wire.Talk: what is asked is to end the transaction. Without any, nothing is.
func (t *talk) Ask(text string, r *wire.Request) *wire.Request {
	b := bsoncore.NewDocumentBuilder()
	if session, number, in := strings.Cut(r.Session, sessionEnd); in {
		n, _ := strconv.ParseInt(number, 10, 64)
		b.AppendInt32(text, 1).AppendDocument("lsid", []byte(session)).AppendInt64("txnNumber", n).AppendBoolean("autocommit", false)
	} else {
		b.AppendInt32("ping", 1)
	}
	return &wire.Request{Session: r.Session, Bytes: message(0, b.AppendString("$db", "admin").Build())}
}

// sessionEnd is between the session's id and the transaction's number.
const sessionEnd = "\x00transaction "

// Request implements wire.Talk. A message is understood as a whole.
func (t *talk) Request(b []byte, _ bool) (int, *wire.Request) {
	if len(b) < headerSize {
		return 0, nil
	}
	size := int(binary.LittleEndian.Uint32(b))
	switch {
	case size < headerSize || size > maxMessage:
		return len(b), nil // which the server refuses
	case size > len(b):
		return 0, nil
	}
	return size, request(b[:size])
}

// request reads a message; nil of one that the server does not answer.
func request(b []byte) *wire.Request {
	r := &wire.Request{ID: binary.LittleEndian.Uint32(b[4:])}
	switch code := binary.LittleEndian.Uint32(b[12:]); {
	case code == opQuery || code == opGetMore:
		r.Quiet = true // only hello is still sent so
		return r
	case code != opMessage || len(b) < bodyStart:
		return nil
	}
	flags := binary.LittleEndian.Uint32(b[headerSize:])
	if flags&flagMore != 0 {
		return nil
	}
	if flags&flagChecksum != 0 {
		b = b[:len(b)-4]
	}
	var body bsoncore.Document
	var lists []list
	for rest := b[headerSize+4:]; len(rest) > 5; {
		kind, size := rest[0], int(binary.LittleEndian.Uint32(rest[1:]))
		if size < 5 || 1+size > len(rest) {
			break
		}
		content := rest[1 : 1+size]
		if kind == 0 {
			body = bsoncore.Document(content)
		} else if name, documents, found := bytes.Cut(content[4:], []byte{0}); found {
			lists = append(lists, list{string(name), documents})
		}
		rest = rest[1+size:]
	}
	enter(r, body, lists)
	return r
}

// list are documents that are sent beside the command.
type list struct {
	name      string
	documents []byte
}

// enter keeps what a command says.
func enter(r *wire.Request, body bsoncore.Document, lists []list) {
	c := command{body: body}
	c.read()
	switch c.name {
	case "hello", "isMaster", "ismaster":
		r.Quiet = true
		return
	case "saslStart", "saslContinue", "authenticate", "getnonce", "endSessions", "killCursors":
		return
	}
	s := c.statement(lists)
	r.Statements = []*wire.Statement{s}
	switch {
	case c.within || s.Kind != wire.Other:
		r.Session = c.session + sessionEnd + strconv.FormatInt(c.number, 10)
	case c.number != 0:
		r.Once, r.Number = c.session, c.number
	}
}

// command is what a message asks for.
type command struct {
	body           bsoncore.Document
	name, database string
	session        string
	number         int64
	within         bool // a transaction of several statements
}

func (c *command) read() {
	eachElement(c.body, func(key string, v bsoncore.Value) {
		if c.name == "" {
			c.name = key
		}
		switch key {
		case "$db":
			c.database, _ = v.StringValueOK()
		case "lsid":
			if d, is := v.DocumentOK(); is {
				c.session = string(d)
			}
		case "txnNumber":
			c.number, _ = v.AsInt64OK()
		case "autocommit":
			c.within = true
		}
	})
}

// eachElement goes over a document, as far as it is there.
func eachElement(d bsoncore.Document, visit func(key string, v bsoncore.Value)) {
	for rest := d[min(4, len(d)):]; len(rest) > 1; {
		e, more, ok := bsoncore.ReadElement(rest)
		if !ok {
			return
		}
		visit(e.Key(), e.Value())
		rest = more
	}
}

// Answer implements wire.Talk.
func (t *talk) Answer(b []byte, r *wire.Request) (n int, done bool) {
	if len(b) < bodyStart {
		return 0, false
	}
	size, code := int(binary.LittleEndian.Uint32(b)), binary.LittleEndian.Uint32(b[12:])
	if size > len(b) && size < wire.MaxTold {
		return 0, false
	}
	n = max(size, bodyStart)
	there := b[:min(n, len(b))]
	if !t.greeted {
		t.greeted = true
		if at := bytes.Index(there, []byte(compression)); at >= 0 {
			there[at+len(compression)-2] = 'N'
		}
	}
	if code == opMessage && r != nil {
		if keeps := r.Answering().Keeps(); keeps != nil {
			keepDocuments(there[bodyStart:], keeps)
			keeps.Cut = keeps.Cut || size > len(b)
		}
		t.take(there[bodyStart:], r)
	}
	return n, code != opMessage || binary.LittleEndian.Uint32(b[headerSize:])&flagMore == 0
}

// compression is the element in which a server accepts it. Another name is not understood.
const compression = "\x04compression\x00"

// answered is what an answer says.
type answered struct {
	failed     bool
	code       int64
	name, text string
	rows       int64
	// transient and unwritten are labels, and unmet says that the write concern is not met.
	transient, unwritten, unmet bool
	writeErrors                 string
	// hello is true of who says what it is, and writable if it takes writes.
	hello, writable bool
}

// deposed are the codes by which a member says that it is not the primary any more (manual 8.0,
// "Error Codes").
func deposed() []int64 { return []int64{189, 10058, 10107, 11602, 13435, 13436} }

// interrupted are the codes by which a server also answers what it has done: it took too long, shuts
// down or steps down (manual 8.0, "Error Codes").
func interrupted() []int64 { return []int64{50, 91, 189, 262, 11600, 11602} }

// doubtful reports whether an answer leaves open whether a change stays. If a primary steps down while
// it waits for a majority, the command does not fail, but its write concern is not met. A failed
// commit has done nothing if a label says so (transactions specification, "Error Labels").
func (a *answered) doubtful(s *wire.Statement, r *wire.Request) bool {
	switch {
	case s.Kind == wire.Rollback:
		return false
	case s.Kind == wire.Commit:
		return a.unmet || a.failed && !a.transient
	}
	return a.unmet || a.failed && !a.unwritten && r.Session == "" && writes(s.Shape) && slices.Contains(interrupted(), a.code)
}

// take reads an answer. An error ends the transaction, unless it leaves open whether that was
// committed: the client can ask again.
func (t *talk) take(b []byte, r *wire.Request) {
	a := read(b)
	r.Moved = t.follows && (a.failed && slices.Contains(deposed(), a.code) || a.hello && t.primary && !a.writable)
	t.primary = t.primary || a.writable
	s := r.Answering()
	if s == nil {
		t.state.Store(uint32(wire.Idle))
		return
	}
	s.Doubtful = a.doubtful(s, r)
	state := wire.Idle
	if r.Session != "" && (s.Kind == wire.Other && !a.failed || s.Kind == wire.Commit && s.Doubtful) {
		state = wire.Within
	}
	t.state.Store(uint32(state))
	switch {
	case a.failed:
		s.Error = wire.Shortened(strconv.FormatInt(a.code, 10) + " " + a.name + ": " + a.text)
	case a.writeErrors != "" && a.rows == 0:
		s.Error = a.writeErrors
	default:
		s.Rows = a.rows
		s.Tag = strings.TrimSpace(strconv.FormatInt(a.rows, 10) + " " + a.writeErrors)
	}
	s.Writes = s.Error == "" && writes(s.Shape)
	r.Answered()
}

func read(b []byte) (a answered) {
	updated := int64(-1)
	eachElement(b, func(key string, v bsoncore.Value) {
		number, _ := v.AsInt64OK()
		switch key {
		case "ok":
			a.failed = number == 0
		case "isWritablePrimary", "ismaster":
			a.hello = true
			a.writable, _ = v.BooleanOK()
		case "code":
			a.code = number
		case "codeName":
			a.name, _ = v.StringValueOK()
		case "errmsg":
			a.text, _ = v.StringValueOK()
		case "errorLabels":
			a.transient, a.unwritten = bytes.Contains(v.Data, []byte(transient)), bytes.Contains(v.Data, []byte(noWrites))
		case "writeConcernError":
			a.unmet = true
		case "writeErrors":
			a.writeErrors = wire.Shortened(v.String())
		case "n", "nInserted", "nDeleted":
			a.rows += number
		case "nModified":
			updated = max(updated, 0) + number
		case "nUpserted":
			updated = max(updated, 0) + number
		case "upserted":
			if values, is := v.ArrayOK(); is {
				all, _ := values.Values()
				updated = max(updated, 0) + int64(len(all))
			}
		case "lastErrorObject":
			if d, is := v.DocumentOK(); is {
				a.rows, _ = d.Lookup("n").AsInt64OK()
			}
		}
	})
	if updated >= 0 { // and n has those that were as they should be, too
		a.rows = updated
	}
	return a
}

// keepDocuments keeps the documents that an answer has: a cursor's, the one of findAndModify, and values.
func keepDocuments(b []byte, keeps *wire.Answer) {
	row := func(v bsoncore.Value) {
		text, more := wire.Shortened(v.String()), false
		keeps.Row(func() (string, bool) { more = !more; return text, more })
	}
	eachElement(b, func(key string, v bsoncore.Value) {
		switch key {
		case "value", "values":
			row(v)
		case "cursor":
			eachElement(v.Data, func(key string, v bsoncore.Value) {
				if key == "firstBatch" || key == "nextBatch" {
					elements(v)(row)
				}
			})
		}
	})
}

// writes reports whether a command changes documents.
func writes(shape string) bool {
	name, _, _ := strings.Cut(shape, " ")
	return slices.Contains([]string{"insert", "update", "delete", "findAndModify", "findandmodify", "bulkWrite"}, name)
}
