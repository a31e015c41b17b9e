// Package wire stands between an application and its database: it passes every byte on
// unchanged, and knows of the protocol as much as it takes to tell connections, statements,
// transactions and their answers. It records these, and at one chosen moment it fails as a
// server or a network does.
//
// What is one protocol's own is a Protocol, in a package beside this one. It must not know how
// what was recorded is judged.
package wire

import (
	"context"
	"net"
	"sync"
	"time"
)

// Protocol is what a database's clients and servers speak.
type Protocol interface {
	// Dial connects to the server, encrypted as its address asks.
	Dial(ctx context.Context) (net.Conn, error)
	// Greet reads, where the application speaks first, what it sends before anything can be passed
	// on, encrypts its connection if it asks for that, and returns what is to be sent to the server
	// first. Talk is nil, without an error, where nothing more is to come: what was asked for was done.
	Greet(ctx context.Context, app *App) (first []byte, talk Talk, err error)
	// Error is an error of the server's as the application is to read it in answer to r, which is nil
	// where it has only connected. Of a fatal one the connection ends, and after another the
	// transaction has ended, too. It is nil where a server of this kind does not answer r by that.
	Error(code Code, fatal bool, r *Request) []byte
	// Possible reports whether a server of this kind can do that at a place.
	Possible(a Action, p *Place) bool
	// Words are how assay asks for something in the application's place.
	Words() Words
}

// Words are statements of assay's own.
type Words struct {
	// Raise has the server give an error to a statement; none where the whole transaction ends by it.
	Raise map[Code]string
	// A connection to a standby takes no writes: Restrict makes what a client says first ask for that, and
	// ReadOnly asks for it later. Neither is there where a server answers NotPrimary.
	Restrict func(first []byte) []byte
	ReadOnly string
	// Rollback ends the transaction.
	Rollback string
	// BeginCommits is true where beginning a transaction commits one that is open.
	BeginCommits bool
}

// MaxTold bounds the answers that are waited for as a whole.
const MaxTold = 32 << 10

// Talk understands one connection. Requests and answers are read by two goroutines.
type Talk interface {
	// Request takes apart what the application sends: the first n bytes can be passed on, those
	// among them that are still to come, and are the end of request r where that is not nil. n is 0
	// if more bytes are needed; full says that no more can be kept, so that something must pass.
	Request(b []byte, full bool) (n int, r *Request)
	// Answer takes apart what the server sends, and enters it in the request that is answered,
	// nil where none was made. n bytes can be passed on, as of Request; done means that they end
	// the answer.
	Answer(b []byte, r *Request) (n int, done bool)
	// Ask is a statement of assay's own, as a request, in the transaction of r.
	Ask(text string, r *Request) *Request
	// State is how the transaction stands after the last answer.
	State() State
}

// Login is a Talk whose application asked for settings when it connected, by the names that drivers give
// them. They do not change afterwards.
type Login interface{ Settings() map[string]string }

// Owing is a Talk whose server may be waiting for data of the application's, as of COPY, before it answers.
type Owing interface{ Owes() bool }

// LoginError means that a server's connection cannot be made as its address asks, which is known only
// when the application logs in.
type LoginError struct{ Err error }

func (e *LoginError) Error() string { return e.Err.Error() }
func (e *LoginError) Unwrap() error { return e.Err }

// AwayError means that the server could not be reached for something that an application asks of it by
// a connection of its own.
type AwayError struct{ Err error }

func (e *AwayError) Error() string { return e.Err.Error() }
func (e *AwayError) Unwrap() error { return e.Err }

// Code is what a server says is wrong.
type Code uint8

// The errors that assay gives in a server's place.
const (
	ShuttingDown Code = iota + 1
	Deadlock
	Serialization
	TooManyConnections
	NotPrimary
)

// State is how a connection's transaction stands.
type State uint8

const (
	// Idle is no transaction, Within one that is open, and Failed one that can only be ended.
	Idle State = iota
	Within
	Failed
)

// Kind is what a statement does to a transaction.
type Kind uint8

const (
	Other Kind = iota
	Begin
	Commit
	Rollback
	// Prepare has the server look at a statement that is executed later.
	Prepare
)

// Statement is one that an application has sent.
type Statement struct {
	// Shape is its text without the values, and Values are these, as text: literals first. Partial is
	// true where assay has not seen all of a value, or data of COPY, so that equal Values may be of others.
	Shape   string   `json:"statement"`
	Values  []string `json:"values,omitempty"`
	Partial bool     `json:"partial,omitempty"`
	Kind    Kind     `json:"-"`
	// Adds is true of one that changes something each time that it is done, where Shape is not SQL,
	// which tells it.
	Adds bool `json:"-"`
	// Inserted are, where Shape is not SQL, the queries that count each row that it inserts; a table
	// and a zero byte begin them. Settings are those that it asks for in place of the server's, by
	// the names that drivers give them.
	Inserted []string          `json:"-"`
	Settings map[string]string `json:"-"`
	// Implicit is true of one that, as its text tells, commits what is open before it is done. Before is
	// what the server's answer says became of that: Committed or Unknown; empty where it stays open.
	Implicit bool    `json:"-"`
	Before   Outcome `json:"-"`
	// Tag is what the server says was done; Writes is true if that was a change of rows, Rows
	// how many.
	Tag    string `json:"tag,omitempty"`
	Writes bool   `json:"writes,omitempty"`
	Rows   int64  `json:"rows"`
	// Closed is true where the server has said that no transaction was open behind it. Some say nothing of
	// each statement.
	Closed bool `json:"-"`
	// Error is the server's code and words; empty if it had none.
	Error string `json:"error,omitempty"`
	// Doubtful is true if the answer, an error or not, leaves open whether what was done stays.
	Doubtful bool `json:"-"`
	// Answer are the rows that came, where they are kept.
	Answer *Answer `json:"answer,omitempty"`
	// Sent and Answered are since the recording began; Answered is 0 without an answer.
	Sent     time.Duration `json:"sent"`
	Answered time.Duration `json:"answered"`
}

// Request is what an application waits for as one: one text, or a pipeline up to its end.
type Request struct {
	Statements []*Statement
	// next is the statement that is answered next.
	next int

	place string
	fault *Fault
	sent  time.Duration
	// own has what assay asked in the application's place; the answer is not passed on, unless
	// shown is true, and instead is sent in its place. replaced are the statements that it answers then.
	own, shown bool
	instead    []byte
	replaced   []*Statement
	delayed    bool
	// Bytes are the request as it was sent, of one of assay's own or at which something is done.
	Bytes []byte
	// Command is what it asks for, where that decides how its answer reads, and Noted is what else its
	// protocol has to know for that.
	Command byte
	Noted   any
	// ID is the client's number of it, where the answer has it again.
	ID uint32
	// Session names the transaction that it belongs to, where one can go over several connections.
	// Once names a session of which the server does each Number once only, however often it is sent. Later
	// ones have higher numbers.
	Session, Once string
	Number        int64
	// Quiet is true of what a library sends of its own, even while the application hangs.
	Quiet bool
	// Encrypts is true of what asks to encrypt the application's connection. It is not passed on.
	Encrypts bool
	// Replaced makes what is passed on in its place; nil where it passes as it is.
	Replaced func(context.Context) ([]byte, error)
	// Open is true of a part that passes, and may be answered, before the request's end is there. The
	// parts are one request, whose end is the first that is not open; parted is true of it then.
	Open, parted bool
	queued       bool
	joining      *sync.Mutex // of Statements, while it is open; nil of one that never was
	// Follows is true of one that has no answer of its own where the server took data for the request
	// before, and fed is true where it did.
	Follows, fed bool
	// before is what became of a part of a text, as the statement behind it told.
	before Outcome
	// Rest is true of more bytes of the last request, in a message of their own.
	Rest bool
	// Asks is true of an answer whose last byte is the end of the server's asking for data: the
	// application sends none before it has read that.
	Asks bool
	// Discards is true if the server does nothing of it where the connection ends before those data do.
	Discards bool
	// withheld are the bytes of an answer that is not to come, and tooMuch is true if they were too
	// many to keep.
	withheld []byte
	tooMuch  bool
	// Moved is true once the answer says that another server takes writes: connections to this one
	// are to end.
	Moved bool
}

// Answering is the statement that is answered now; nil where there is none.
func (r *Request) Answering() *Statement {
	if r == nil {
		return nil
	}
	if all := r.so(); r.next < len(all) {
		return all[r.next]
	}
	return nil
}

// so are the statements that have come so far.
func (r *Request) so() []*Statement {
	if r.joining != nil {
		r.joining.Lock()
		defer r.joining.Unlock()
	}
	return r.Statements
}

// Answered goes on to the next statement.
func (r *Request) Answered() {
	if r != nil {
		r.next++
	}
}

// Doubt enters that the statement that is answered now is doubtful, or the last one.
func (r *Request) Doubt() {
	if r == nil {
		return
	}
	if all := r.so(); len(all) > 0 {
		all[min(r.next, len(all)-1)].Doubtful = true
	}
}

// kind is the gravest of its statements.
func (r *Request) kind() Kind {
	for _, s := range r.Statements {
		if s.Kind == Commit || s.Kind == Rollback {
			return s.Kind
		}
	}
	if len(r.Statements) > 0 {
		return r.Statements[0].Kind
	}
	return Other
}
