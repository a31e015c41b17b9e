package mysql

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

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

	mu       sync.Mutex
	prepared map[uint32]*prepared
	last     uint32
	scramble []byte // of the login
}

// prepared is a statement that the server keeps.
type prepared struct {
	statement  *wire.Statement
	parameters int
	types      []byte
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
	comPrepare     = 0x16
	comExecute     = 0x17
	comLongData    = 0x18
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
	maxBindDisplay = 100
)

func (t *talk) State() wire.State { return wire.State(t.state.Load()) }

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
	if len(b) <= headerSize {
		if len(b) == headerSize && size(b) == headerSize {
			return headerSize, nil // an empty packet ends the data of a file
		}
		return 0, nil
	}
	n := size(b)
	if n > len(b) && !full && (b[3] == 0 || !t.ready.Load()) {
		return 0, nil
	}
	whole := b[headerSize:min(n, len(b))]
	loggingIn := !t.ready.Load()
	if loggingIn {
		b[3] -= byte(t.shift.Load())
	}
	switch {
	case loggingIn && t.capabilities.Load() == 0 && len(whole) == loginHead && binary.LittleEndian.Uint32(whole)&capTLS != 0:
		t.shift.Store(1)
		t.encrypted.Store(true)
		return n, &wire.Request{Encrypts: true}
	case loggingIn && t.capabilities.Load() == 0:
		t.login(whole)
		return n, nil
	case loggingIn && t.wanted.Swap(false) && t.encrypted.Load() && t.server.TLS == nil:
		return n, &wire.Request{Replaced: func(ctx context.Context) ([]byte, error) { return t.password(ctx, b[3], whole) }}
	case loggingIn || b[3] != 0: // a login, data of a file, or more of a long packet
		return n, nil
	}
	return n, t.command(whole)
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

// command is a request; nil of one that the server does not answer.
func (t *talk) command(b []byte) *wire.Request {
	r := &wire.Request{Command: b[0]}
	switch b[0] {
	case comQuit, comCloseStmt, comLongData:
		if b[0] == comCloseStmt && len(b) >= 5 {
			t.mu.Lock()
			delete(t.prepared, binary.LittleEndian.Uint32(b[1:]))
			t.mu.Unlock()
		}
		return nil
	case comQuery:
		r.Statements = wire.EscapedStatements(t.text(b[1:]))
	case comPrepare:
		for _, s := range wire.EscapedStatements(string(b[1:])) {
			r.Statements = []*wire.Statement{{Shape: preparing + s.Shape, Values: s.Values, Kind: wire.Prepare}}
			break
		}
	case comExecute, comBulk:
		r.Statements = []*wire.Statement{t.execute(b)}
	case comChangeUser:
		t.ready.Store(false)
	}
	return r
}

// preparing begins the shape of a statement that is not executed yet.
const preparing = "prepare: "

// text is a query without what MySQL's clients may send before it.
func (t *talk) text(b []byte) string {
	if t.capabilities.Load()&capAttributes == 0 || len(b) < 2 {
		return string(b)
	}
	if b[0] == 0 {
		return string(b[2:])
	}
	return "a query with attributes"
}

func (t *talk) execute(b []byte) *wire.Statement {
	s := &wire.Statement{Shape: "an unknown statement"}
	if len(b) < 10 {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id := binary.LittleEndian.Uint32(b[1:])
	if id == lastPrepared {
		id = t.last
	}
	of := t.prepared[id]
	if of == nil {
		return s
	}
	s.Shape, s.Kind = of.statement.Shape, of.statement.Kind
	s.Values = append([]string(nil), of.statement.Values...)
	if b[0] == comBulk || t.capabilities.Load()&capAttributes != 0 {
		s.Values = append(s.Values, wire.Shortened(fmt.Sprintf("%x", b[5:])))
	} else if of.parameters > 0 {
		s.Values = append(s.Values, of.values(b[10:])...)
	}
	return s
}

// values are the parameters as text.
func (p *prepared) values(b []byte) (all []string) {
	nulls := (p.parameters + 7) / 8
	if len(b) <= nulls {
		return nil
	}
	null, rest := b[:nulls], b[nulls+1:]
	if b[nulls] == 1 {
		if len(rest) < 2*p.parameters {
			return nil
		}
		p.types = bytes.Clone(rest[:2*p.parameters])
		rest = rest[2*p.parameters:]
	}
	for i := 0; i < min(p.parameters, len(p.types)/2, maxBindDisplay); i++ {
		if null[i/8]>>(i%8)&1 == 1 {
			all = append(all, "NULL")
			continue
		}
		v, n := parameter(rest, p.types[2*i])
		all, rest = append(all, v), rest[n:]
	}
	return all
}

// parameter is one value and how many bytes it takes.
func parameter(b []byte, kind byte) (string, int) {
	width := map[byte]int{1: 1, 2: 2, 13: 2, 3: 4, 4: 4, 9: 4, 5: 8, 8: 8, 6: 0}
	if n, fixed := width[kind]; fixed {
		if len(b) < n {
			return "", len(b)
		}
		if kind == 5 {
			return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64), n
		}
		var v uint64
		for i := n - 1; i >= 0; i-- {
			v = v<<8 | uint64(b[i])
		}
		shift := 64 - 8*n
		return strconv.FormatInt(int64(v<<shift)>>shift, 10), n
	}
	if kind == 7 || kind == 10 || kind == 11 || kind == 12 { // dates and times
		n := 1 + int(first(b))
		return fmt.Sprintf("%x", b[:min(n, len(b))]), min(n, len(b))
	}
	length, n := number(b)
	end := min(n+int(min(length, uint64(len(b)))), len(b))
	return wire.Shortened(string(b[n:end])), end
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// number is a number of a length of its own, and how many bytes that is.
func number(b []byte) (uint64, int) {
	n := map[byte]int{0xfc: 3, 0xfd: 4, 0xfe: 9}[first(b)]
	if n == 0 || len(b) < n {
		return uint64(first(b)), min(1, len(b))
	}
	var v uint64
	for i := n - 1; i > 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v, n
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
