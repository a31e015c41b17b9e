package exchange

import (
	"math"
	"slices"
	"strings"

	"assay/history"
)

// Function is what an operation did.
type Function uint8

const (
	// Transaction ran the micro-operations in Txn.
	Transaction Function = iota + 1
	// Read read the register Key and saw Value. In a history of a bank, it is
	// a read of the accounts that did not come back with any.
	Read
	// Write set the register Key to Value.
	Write
	// CompareAndSet set the register Key to Value if it held From.
	CompareAndSet
	// Transfer moved money between two accounts.
	Transfer
	// ReadAccounts read the accounts of a bank and saw Accounts.
	ReadAccounts
	// Other is any other function, or one that was read as written: Word,
	// Request and Answer tell it.
	Other
)

// String returns Jepsen's word for the function.
func (f Function) String() string {
	switch f {
	case Transaction:
		return "txn"
	case Read, ReadAccounts:
		return "read"
	case Write:
		return "write"
	case CompareAndSet:
		return "cas"
	case Transfer:
		return "transfer"
	default:
		return "nothing"
	}
}

// MicroKind is what one micro-operation of a transaction did.
type MicroKind uint8

const (
	// Append added Value to the end of the list Key.
	Append MicroKind = iota + 1
	// Put set the register Key to Value.
	Put
	// GetList read the list Key and saw List.
	GetList
	// GetValue read the register Key and saw Value.
	GetValue
	// GetNothing read Key and found a list or a register that was never
	// written, or the answer is not known.
	GetNothing
)

// MicroOp is one step of a transaction.
type MicroOp struct {
	Kind  MicroKind
	Key   Atom
	Value Atom
	List  []Atom
}

// Account is what a read of a bank saw of one account.
type Account struct {
	ID      Atom
	Balance int64
	// Missing means that the read had no balance for it.
	Missing bool
}

// Movement is what a transfer was to do.
type Movement struct {
	From, To Atom
	Amount   int64
}

const (
	// Never is the completion of an operation of which nothing more was heard.
	Never = math.MaxInt64
	// NoTime is a time that the history does not tell.
	NoTime = -1
	// NoIndex is an index that the history does not tell.
	NoIndex = -1
)

// Operation is one operation, as its process saw it.
type Operation struct {
	// Line and EndLine are where its invocation and its completion begin in
	// the file, from 1; EndLine is 0 without a completion.
	Line, EndLine int
	// Index is the number that the history gives to the invocation, or NoIndex.
	Index int64
	// Process is the client that did it: one operation after the other.
	Process  int64
	Function Function
	// Outcome is Committed for ok, Failed for fail, and Unknown otherwise.
	Outcome history.Outcome
	// Invoke and Complete order the operations: one precedes another in real
	// time if it completed strictly before the other was invoked. A reader
	// counts events; a writer takes any one clock. Complete is Never if there
	// was no completion.
	Invoke, Complete int64
	// InvokeTime and CompleteTime are nanoseconds since the history began, or
	// NoTime. They are for people: Jepsen's clocks do not order events.
	InvokeTime, CompleteTime int64

	// Txn is the answer of a transaction that was committed, and the request
	// of any other.
	Txn []MicroOp
	// Key is the key of an independent history (jepsen.independent): values were
	// pairs of it and what the operation itself had, or the key stood beside the value, as
	// a field of its own. Keyed is false if there was none. Value and From are a register's.
	Keyed            bool
	Key, Value, From Atom
	Movement         Movement
	Accounts         []Account
	// Listed means that the accounts of a read were a list of balances, which reads
	// of other kinds answer with as well.
	Listed bool

	// Uninvoked means that the history has no invocation of it. Then Invoke is the
	// earliest moment at which it can have begun, Line and Index are those of its
	// completion, and Request is the same as Answer.
	Uninvoked bool
	// Unnamed means that the history names no process: Process is one of its own.
	Unnamed bool
	// Word is the function of an operation that is read as written, or of a transaction
	// that is not called txn. Request and Answer are the values of the invocation and of
	// the acknowledgement of an operation that is read as written.
	// Position and Link are fields of the acknowledgement beside its value.
	Word string
	// Told is the value of a completion that was none, of such an operation.
	Request, Answer, Told Value
	Position, Link        Value

	// beside means that the key was a field of its own.
	beside bool
	// room is where the lists of Request, Answer and the like are.
	room []Value
}

// name is the operation's function, with its article.
func (o *Operation) name() string { return withArticle(o.Function, o.Word) }

// withArticle is a function, or the word of another, with its article.
func withArticle(f Function, word string) string {
	if word == "" {
		word = f.String()
	}
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an " + word
	}
	return "a " + word
}

// ID is how a reader of a report finds the operation again: its index, or else
// the number of its event in the file, from 0.
func (o *Operation) ID() int64 {
	if o.Index != NoIndex {
		return o.Index
	}
	return o.Invoke
}

// Clone returns a copy that shares nothing with o.
func (o *Operation) Clone() *Operation {
	c := *o
	c.Accounts = slices.Clone(o.Accounts)
	c.Txn = slices.Clone(o.Txn)
	for i := range c.Txn {
		c.Txn[i].List = slices.Clone(c.Txn[i].List)
	}
	for _, v := range []*Value{&c.Request, &c.Answer, &c.Told, &c.Position, &c.Link} {
		*v = v.Clone()
	}
	c.room = nil
	return &c
}

// reset empties o, keeping its room.
func (o *Operation) reset() {
	room := o.room[:0]
	if cap(room) > roomKept {
		room = nil
	}
	*o = Operation{Txn: o.Txn[:0], Accounts: o.Accounts[:0], room: room}
}

// grow adds an empty micro-operation, with the room of one that was there
// before.
func (o *Operation) grow() *MicroOp {
	if len(o.Txn) < cap(o.Txn) {
		o.Txn = o.Txn[:len(o.Txn)+1]
	} else {
		o.Txn = append(o.Txn, MicroOp{})
	}
	m := &o.Txn[len(o.Txn)-1]
	*m = MicroOp{List: m.List[:0]}
	return m
}

// Kind is what a history is a history of.
type Kind uint8

const (
	// NoKind is a history whose operations fit more than one kind, or of none.
	NoKind Kind = iota
	// ListAppend are transactions that append to lists and read them.
	ListAppend
	// ReadWrite are transactions that write registers and read them.
	ReadWrite
	// Bank are transfers between accounts and reads of all accounts.
	Bank
	// Register are reads, writes and compare-and-sets of single registers.
	Register
	// AsWritten are operations of any other kind.
	AsWritten
)

// String returns Jepsen's name of the workload.
func (k Kind) String() string {
	switch k {
	case ListAppend:
		return "list-append"
	case ReadWrite:
		return "rw-register"
	case Bank:
		return "bank"
	case Register:
		return "register"
	case AsWritten:
		return "other"
	default:
		return "unknown"
	}
}

// Transactions reports whether the history is one of transactions.
func (k Kind) Transactions() bool { return k == ListAppend || k == ReadWrite }

// history returns what a history is that has such a step, NoKind if that cannot be
// told.
func (k MicroKind) history() Kind {
	switch k {
	case Append, GetList:
		return ListAppend
	case Put, GetValue:
		return ReadWrite
	default:
		return NoKind
	}
}

// kind returns what a history is that has this operation, NoKind if that
// cannot be told.
func (o *Operation) kind() Kind {
	switch o.Function {
	case Transaction:
		for i := range o.Txn {
			if kind := o.Txn[i].Kind.history(); kind != NoKind {
				return kind
			}
		}
	case Transfer, ReadAccounts:
		return Bank
	case Other:
		return AsWritten
	case Write, CompareAndSet:
		return Register
	case Read:
		if o.Outcome == history.Committed && o.Value.Kind != Nil {
			return Register
		}
	}
	return NoKind
}
