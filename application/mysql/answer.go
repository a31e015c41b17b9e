package mysql

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"

	"assay/application/wire"
)

// part is what comes next in an answer.
type part uint8

const (
	// start is the first packet of an answer, or of one more of its results.
	start part = iota
	// definitions are of columns or parameters, and rows follow those of columns.
	definitions
	definitionsEnd
	rows
)

// answer is how far the server's answer was read.
type answer struct {
	part part
	// long is true if the next packet goes on with this one.
	long bool
	// left is how many definitions are to come, and then those of a second list; behind says
	// that rows follow.
	left, second int
	behind       bool
	columns      []kind // of the rows that come, where they are kept
}

// codeProgress is no error, but how far a statement of MariaDB's has come (MariaDB Server
// Documentation, "ERR_Packet").
const codeProgress = 0xffff

// Answer implements wire.Talk.
func (t *talk) Answer(b []byte, r *wire.Request) (n int, done bool) {
	a := &t.reading
	for n < len(b) {
		if len(b)-n < headerSize+1 {
			return n, false
		}
		end := n + size(b[n:])
		keeps := (a.part == rows || a.part == definitions) && r.Answering().Keeps() != nil
		told := keeps || a.part != rows && a.part != definitions || b[n+headerSize] == eofPacket || b[n+headerSize] == errorPacket
		if end > len(b) && told && end-n < wire.MaxTold {
			return n, false
		}
		if !t.ready.Load() {
			b[n+3] += byte(t.shift.Load())
		}
		content := b[n+headerSize : min(end, len(b))]
		more := a.long
		a.long = end-n == headerSize+maxPacket
		if !more {
			done = t.take(content, end-n-headerSize, r)
		}
		if n = end; done || r != nil && r.Asks {
			return n, done
		}
	}
	return n, false
}

// take reads one packet, of so many bytes, and reports whether it ends the answer.
func (t *talk) take(b []byte, length int, r *wire.Request) bool {
	if !t.ready.Load() {
		return t.takeLogin(b, r)
	}
	if r != nil && streams(r.Command) { // which is not of this connection
		over := b[0] == errorPacket || b[0] == eofPacket && length < 9
		t.follows.Store(!over)
		return over
	}
	a := &t.reading
	if b[0] == errorPacket && len(b) >= 3 && binary.LittleEndian.Uint16(b[1:]) == codeProgress {
		return false
	}
	if b[0] == errorPacket && a.part != definitions {
		t.failed(b, r)
		a.part = start
		return true
	}
	if a.part == start && r != nil && r.Command == comFetch {
		a.part = rows // of a cursor, whose columns were told before
	}
	switch a.part {
	case start:
		return t.begins(b, length, r)
	case definitions:
		t.define(b, length, r)
		if a.left--; a.left == 0 {
			a.part = definitionsEnd
			if t.capabilities.Load()&capNoEOF != 0 {
				return t.defined(0)
			}
		}
	case definitionsEnd:
		status := uint16(0)
		if len(b) >= 5 {
			status = binary.LittleEndian.Uint16(b[3:])
		}
		behindCursor(status, r)
		return t.defined(status)
	case rows:
		if b[0] == eofPacket && (length < 9 || t.capabilities.Load()&capNoEOF != 0 && length < maxPacket) {
			return t.ended(b, r)
		}
		if keeps := r.Answering().Keeps(); keeps != nil {
			a.takeRow(keeps, b, length, r.Command)
		}
	}
	return false
}

// takeLogin reads what comes before the login is over: of the greeting, the offer of compression is
// taken out, and encryption is offered, but where clients would send another kind of password as it is.
func (t *talk) takeLogin(b []byte, r *wire.Request) bool {
	if !t.greeted {
		t.greeted = true
		if at, scramble := greeting(b); at > 0 {
			low := binary.LittleEndian.Uint16(b[at:]) &^ (capTLS | capCompress)
			if t.server.TLS != nil || !bytes.Contains(b, []byte("sha256_password")) {
				low |= capTLS
			}
			version, maria := versionOf(string(b[1:bytes.IndexByte(b, 0)]))
			t.version.Store(int64(version))
			t.maria.Store(maria)
			t.server.maria.Store(maria)
			t.scrambled(scramble)
			high := binary.LittleEndian.Uint16(b[at+5:]) &^ (capZstd >> 16)
			binary.LittleEndian.PutUint16(b[at:], low)
			binary.LittleEndian.PutUint16(b[at+5:], high)
		}
		return false
	}
	switch {
	case b[0] == 0 || b[0] == errorPacket:
		t.shift.Store(0)
		if b[0] == 0 { // what another user had begun is rolled back
			t.state.Store(uint32(wire.Idle))
		}
		t.ready.Store(true)
		return r != nil
	case bytes.Equal(b, []byte{moreAuthentication, fullAuthentication}):
		t.wanted.Store(true)
	case b[0] == eofPacket:
		t.scrambled(anotherMethod(b))
	}
	return false
}

// scrambleSize is how long the text is with which passwords are mixed.
const scrambleSize = 20

// greeting reads a server's first packet: where it says the lower half of what it is able to, and the
// scramble. at is 0 of an error.
func greeting(b []byte) (at int, scramble []byte) {
	version := bytes.IndexByte(b, 0)
	if at = version + 14; version < 0 || b[0] == errorPacket || len(b) < at+7 {
		return 0, nil
	}
	if rest := at + 18; len(b) >= rest+scrambleSize-8 {
		scramble = slices.Concat(b[version+5:version+13], b[rest:rest+scrambleSize-8])
	}
	return at, scramble
}

// anotherMethod is the scramble of a packet by which the server asks for another kind of password; nil
// where it has none.
func anotherMethod(b []byte) []byte {
	if _, own, named := bytes.Cut(b[1:], []byte{0}); named && len(own) >= scrambleSize {
		return slices.Clone(own[:scrambleSize])
	}
	return nil
}

func (t *talk) scrambled(scramble []byte) {
	if scramble == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scramble = scramble
}

// begins reads the first packet of a result.
func (t *talk) begins(b []byte, length int, r *wire.Request) bool {
	a := &t.reading
	switch {
	case r == nil:
		return false
	case r.Command == comStatistics:
		return true
	case r.Command == comFieldList && b[0] != eofPacket: // a definition
		return false
	case r.Command == comPrepare && b[0] == 0 && len(b) >= 9:
		columns, parameters := int(binary.LittleEndian.Uint16(b[5:])), int(binary.LittleEndian.Uint16(b[7:]))
		t.keep(binary.LittleEndian.Uint32(b[1:]), r, parameters)
		a.behind, a.columns = false, nil
		if a.left, a.second = parameters, columns; a.left == 0 {
			a.left, a.second = columns, 0
		}
		if a.left > 0 {
			a.part = definitions
		}
		return a.left == 0
	case b[0] == infilePacket: // the file's data comes, and then the answer
		t.infile.Store(true)
		r.Asks = true
		if s := r.Answering(); s != nil { // whose data are not looked at
			s.Partial = true
		}
		return false
	case b[0] == 0, b[0] == eofPacket:
		return t.ended(b, r)
	}
	columns, n := number(b)
	a.left, a.second, a.behind, a.part, a.columns = int(columns), 0, true, definitions, nil
	if t.cached.Load() && n < length && b[n] == 0 {
		a.part = definitionsEnd
		if p, is := r.Noted.(*prepared); is {
			a.columns = p.columns
		}
		if t.capabilities.Load()&capNoEOF != 0 {
			a.part = rows
		}
	}
	return false
}

// defined goes on behind a list of definitions. A cursor keeps the rows for later.
func (t *talk) defined(status uint16) bool {
	a := &t.reading
	switch {
	case a.second > 0:
		a.left, a.second, a.part = a.second, 0, definitions
	case a.behind && status&statusCursor == 0:
		a.part = rows
	default:
		if status&statusCursor != 0 {
			t.stands(status)
		}
		a.part = start
		return true
	}
	return false
}

// stands keeps how the transaction does.
func (t *talk) stands(status uint16) {
	state := wire.Idle
	if status&statusWithin != 0 {
		state = wire.Within
	}
	t.state.Store(uint32(state))
}

// keep enters a prepared statement.
func (t *talk) keep(id uint32, r *wire.Request, parameters int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, is := r.Noted.(*prepared); is {
		p.parameters, t.prepared[id] = parameters, p
	}
}

// ended reads a packet that ends a result: OK, or EOF, which has the status alone.
func (t *talk) ended(b []byte, r *wire.Request) bool {
	var changed uint64
	var status uint16
	if t.capabilities.Load()&capNoEOF == 0 && b[0] == eofPacket {
		if len(b) >= 5 {
			status = binary.LittleEndian.Uint16(b[3:])
		}
	} else {
		rest := b[1:]
		count, n := number(rest)
		_, m := number(rest[n:])
		if changed = count; len(rest) >= n+m+2 {
			status = binary.LittleEndian.Uint16(rest[n+m:])
		}
	}
	t.stands(status)
	behindCursor(status, r)
	alone := t.reading.part == start // without rows
	if s := r.Answering(); s != nil {
		s.Tag = strconv.FormatUint(changed, 10)
		if s.Closed = status&statusWithin == 0; s.Closed && s.Implicit {
			s.Before = wire.Committed
		}
		if s.Kind == wire.Other && (writes(s.Shape) || alone && changed > 0 && writesWith(s.Shape)) {
			s.Writes, s.Rows = true, int64(changed)
			if t.reading.part == rows { // which it returns
				s.Rows = max(1, s.Rows)
			}
		}
	}
	more := status&statusMore != 0
	if !more || alone || !calls(r.Answering()) {
		r.Answered()
	}
	t.reading.part = start
	return !more
}

// Errors of COMMIT that prove that nothing was committed (see driver/mysql, errorTable), and one that
// proves nothing of any statement.
const (
	codeDeadlock           = 1213
	codeErrorDuringCommit  = 1180
	codeRolledBackAtCommit = 3101
)

// failed reads an error. A deadlock ends the transaction, and so does any error of COMMIT.
func (t *talk) failed(b []byte, r *wire.Request) {
	if len(b) < 3 {
		return
	}
	code, s := binary.LittleEndian.Uint16(b[1:]), r.Answering()
	if s == nil && code == codeDeadlock && t.State() == wire.Within && r != nil && len(r.Statements) > 0 {
		s = r.Statements[len(r.Statements)-1] // it rolls back all, whoever's it is
	}
	commit := s != nil && s.Kind == wire.Commit
	if s != nil {
		s.Before = before(s, code)
	}
	if code == codeDeadlock || commit || s != nil && s.Before != "" {
		t.state.Store(uint32(wire.Idle))
	}
	if s != nil {
		s.Doubtful = code == codeErrorDuringCommit || commit && code != codeDeadlock && code != codeRolledBackAtCommit
		s.Error = wire.Shortened(strconv.Itoa(int(code)) + " " + string(b[3:]))
	}
	r.Answered()
}
