package mysql

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"assay/application/wire"
)

// talk is a connection of the protocol of MySQL (8.4 source documentation, "Client/Server
// Protocol") and MariaDB ("MariaDB Server Documentation", "Client/Server Protocol").
type talk struct {
	server *Server
	// encrypted is true if the application's side is that, and shift by how much the numbers of the
	// login's packets are higher there. wanted is true while the server waits for the whole password.
	encrypted, wanted atomic.Bool
	shift             atomic.Uint32
	// ready is true once the login is over, and capabilities are what both sides have.
	ready        atomic.Bool
	greeted      bool
	capabilities atomic.Uint32
	cached       atomic.Bool // metadata, which MariaDB leaves out of answers
	state        atomic.Uint32
	reading      answer

	// infile is true while a file's data is sent, and goesOn if the last packet goes on with the next.
	infile atomic.Bool
	goesOn bool
	// follows is true while the server sends its log, and the application says how far it has read.
	follows atomic.Bool
	// version is the server's, as executable comments have it, and maria is true of MariaDB.
	version atomic.Int64
	maria   atomic.Bool

	mu       sync.Mutex
	prepared map[uint32]*prepared
	// last is the statement that the server was asked to prepare last, which can be executed before the
	// server has said its number.
	last     *prepared
	scramble []byte // of the login
}

// prepared is a statement that the server keeps.
type prepared struct {
	statement  *wire.Statement
	parameters int
	types      []kind // of the parameters
	columns    []kind // of the rows; the goroutine that reads answers has them
	// long are the parameters that were sent before the next execution, by their numbers, and unseen says
	// that one was whose number is too high to be kept.
	long   map[uint16]*long
	unseen bool
}

// The capabilities that change how bytes read, and those that nobody here uses.
const (
	capCompress   = 1 << 5
	capTLS        = 1 << 11
	capZstd       = 1 << 26
	capAttributes = 1 << 27
	capNoEOF      = 1 << 24
	capMariaCache = 1 << 4 // of MariaDB's own
	capMySQL      = 1 << 0 // clear of clients of MariaDB
)

// The commands that matter here.
const (
	comQuit        = 0x01
	comQuery       = 0x03
	comFieldList   = 0x04
	comStatistics  = 0x09
	comChangeUser  = 0x11
	comBinlogDump  = 0x12
	comTableDump   = 0x13
	comBinlogGTID  = 0x1e
	comClone       = 0x20
	comGroupStream = 0x21
	comPrepare     = 0x16
	comExecute     = 0x17
	comLongData    = 0x18
	comResetStmt   = 0x1a
	comFetch       = 0x1c
	comCloseStmt   = 0x19
	comBulk        = 0xfa
	errorPacket    = 0xff
	eofPacket      = 0xfe
	infilePacket   = 0xfb
	headerSize     = 4
	maxPacket      = 1<<24 - 1
	statusWithin   = 0x0001
	statusMore     = 0x0008
	statusCursor   = 0x0040
	lastPrepared   = math.MaxUint32
)

func (t *talk) State() wire.State { return wire.State(t.state.Load()) }

// Owes implements wire.Owing.
func (t *talk) Owes() bool { return t.infile.Load() }

// Ask implements wire.Talk.
func (t *talk) Ask(text string, _ *wire.Request) *wire.Request {
	content := []byte{comQuery}
	if t.capabilities.Load()&capAttributes != 0 {
		content = append(content, 0, 1)
	}
	return &wire.Request{Command: comQuery, Bytes: packet(0, append(content, text...))}
}

// Request implements wire.Talk.
func (t *talk) Request(b []byte, full bool) (int, *wire.Request) {
	loggingIn := !t.ready.Load()
	n, passes := 0, false // whatever it says
	if len(b) >= headerSize {
		n, passes = size(b), !loggingIn && (t.goesOn || t.infile.Load() || b[3] != 0)
	}
	if n == 0 || n > headerSize && len(b) == headerSize || n > len(b) && !full && !passes {
		return 0, nil
	}
	goesOn := t.goesOn
	t.goesOn = n == headerSize+maxPacket
	whole := b[headerSize:min(n, len(b))]
	if loggingIn {
		b[3] -= byte(t.shift.Load())
	}
	switch {
	case t.follows.Load():
		return n, nil
	case t.infile.Load(): // whose packets are more than there are numbers of packets
		t.infile.Store(n > headerSize || goesOn) // an empty one ends it
		return n, nil
	case goesOn && !loggingIn:
		return n, &wire.Request{Rest: true}
	case n == headerSize: // no password
		return n, nil
	case loggingIn && t.capabilities.Load() == 0 && len(whole) == loginHead && binary.LittleEndian.Uint32(whole)&capTLS != 0:
		t.shift.Store(1)
		t.encrypted.Store(true)
		return n, &wire.Request{Encrypts: true}
	case loggingIn && t.capabilities.Load() == 0:
		t.login(whole)
		return n, nil
	case loggingIn && t.wanted.Swap(false) && t.encrypted.Load() && t.server.TLS == nil:
		return n, &wire.Request{Replaced: func(ctx context.Context) ([]byte, error) { return t.password(ctx, b[3], whole) }}
	case loggingIn || b[3] != 0: // a login
		return n, nil
	}
	return n, t.command(whole, n-headerSize)
}

func size(b []byte) int { return headerSize + (int(b[0]) | int(b[1])<<8 | int(b[2])<<16) }

// loginHead is how much of a login asks for encryption if nothing follows.
const loginHead = 32

// login keeps what the client is able to. The last four of the reserved bytes are MariaDB's.
// Whether the application is encrypted is not the server's matter.
func (t *talk) login(b []byte) {
	if len(b) < loginHead {
		return
	}
	can := binary.LittleEndian.Uint32(b) &^ capTLS
	if t.server.TLS == nil || !t.encrypted.Load() {
		binary.LittleEndian.PutUint32(b, can)
	}
	t.capabilities.Store(can)
	t.cached.Store(can&capMySQL == 0 && binary.LittleEndian.Uint32(b[28:loginHead])&capMariaCache != 0)
}

// password is the packet that has it.
func (t *talk) password(ctx context.Context, sequence byte, sent []byte) ([]byte, error) {
	t.mu.Lock()
	scramble := t.scramble
	t.mu.Unlock()
	if len(scramble) == 0 || len(sent) < 2 { // which the server refuses
		return packet(sequence, nil), nil
	}
	hidden, err := t.server.underKey(ctx, sent, scramble)
	return packet(sequence, hidden), err
}

// command is a request of so many bytes; nil of one that the server does not answer.
func (t *talk) command(b []byte, size int) *wire.Request {
	r := &wire.Request{Command: b[0]}
	if streams(b[0]) {
		t.follows.Store(true)
		r.Quiet = true // the server sends what others do, for as long as it likes
		return r
	}
	switch b[0] {
	case comQuit:
		return nil
	case comLongData:
		t.keepLong(b, size)
		return nil
	case comCloseStmt:
		if len(b) >= 5 {
			t.mu.Lock()
			delete(t.prepared, binary.LittleEndian.Uint32(b[1:]))
			t.mu.Unlock()
		}
		return nil
	case comResetStmt:
		t.forgets(b)
	case comQuery:
		r.Statements = t.statements(t.text(b[1:]))
	case comPrepare:
		t.prepare(string(b[1:]), r)
	case comExecute, comBulk:
		r.Statements = []*wire.Statement{t.execute(b, r)}
	case comChangeUser:
		t.ready.Store(false)
	}
	for _, s := range r.Statements {
		s.Partial = s.Partial || len(b) < size
	}
	return r
}

// streams is true of commands behind which the connection is no more than a stream of the server's: its
// log, or its data.
func streams(command byte) bool {
	switch command {
	case comBinlogDump, comBinlogGTID, comTableDump, comClone, comGroupStream:
		return true
	}
	return false
}

// preparing begins the shape of a statement that is not executed yet.
const preparing = "prepare: "

// text is a query without what MySQL's clients may send before it.
func (t *talk) text(b []byte) string {
	if t.capabilities.Load()&capAttributes == 0 || len(b) < 2 {
		return string(b)
	}
	return behindAttributes(b)
}

// statements takes a text apart.
func (t *talk) statements(text string) []*wire.Statement {
	all := wire.EscapedStatements(opened(text, int(t.version.Load()), t.maria.Load()))
	for _, s := range all {
		s.Implicit = commitsFirst(s.Shape)
	}
	return all
}

// prepare keeps a statement that the server is asked to.
func (t *talk) prepare(text string, r *wire.Request) {
	all := t.statements(text)
	if len(all) == 0 {
		return
	}
	s := all[0]
	r.Statements = []*wire.Statement{{Shape: preparing + s.Shape, Values: s.Values, Kind: wire.Prepare}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = &prepared{statement: s, parameters: placeholders(opened(text, int(t.version.Load()), t.maria.Load()))}
	r.Noted = t.last
}

func (t *talk) execute(b []byte, r *wire.Request) *wire.Statement {
	s := &wire.Statement{Shape: "an unknown statement"}
	if len(b) < 10 {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.known(binary.LittleEndian.Uint32(b[1:]))
	if of == nil {
		return s
	}
	s.Shape, s.Kind, s.Implicit = of.statement.Shape, of.statement.Kind, of.statement.Implicit
	r.Noted = of
	s.Values, s.Partial = of.statement.Values, of.unseen || of.statement.Partial
	if b[0] == comBulk {
		s.Values = append(slices.Clone(s.Values), wire.Bytes(b[5:], ", the parameters of many"))
	} else if of.parameters > 0 {
		s.Values = of.values(s.Values, b[10:], t.capabilities.Load()&capAttributes != 0)
	}
	for _, sent := range of.long {
		s.Partial = s.Partial || sent.partial
	}
	of.long, of.unseen = nil, false // which the server forgets, too
	return s
}

// writesWith reports whether a statement that rows are counted of, and that returns none, is an UPDATE or
// a DELETE behind WITH, and not a SELECT INTO (MySQL 8.4 manual, "WITH (Common Table Expressions)").
func writesWith(shape string) bool {
	words := strings.FieldsFunc(strings.ToUpper(shape), func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	return len(words) > 0 && words[0] == "WITH" && (slices.Contains(words, "UPDATE") || slices.Contains(words, "DELETE")) && !slices.Contains(words, "INTO")
}

// calls reports whether a statement is a CALL, which may give results before its own (MySQL 8.4 manual,
// "CALL Statement").
func calls(s *wire.Statement) bool {
	return s != nil && strings.EqualFold(s.Shape[:min(len(s.Shape), 5)], "CALL ")
}

// writes reports whether a statement changes rows.
func writes(shape string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(shape, "("), " ")
	switch strings.ToUpper(word) {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD":
		return true
	}
	return false
}
