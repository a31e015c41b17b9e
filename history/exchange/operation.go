package exchange

import (
	"math"
	"slices"
	"strings"

	"assay/history"
)

// Function is the function of an operation.
type Function uint8

const (
	// Transaction ran the micro-operations in Txn.
	Transaction Function = iota + 1
	// Read read the register Key and saw Value. In the history of a bank it is a read of the
	// accounts that got no answer.
	Read
	// Write set the register Key to Value.
	Write
	// CompareAndSet set the register Key to Value if it held From.
	CompareAndSet
	// Transfer moved money between two accounts.
	Transfer
	// ReadAccounts read the accounts of a bank and saw Accounts.
	ReadAccounts
	// Other is any other function, or one read as written: see Word, Request and Answer.
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

// MicroKind is the kind of a step of a transaction.
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
	// GetNothing read Key and found an unwritten list or register, or its answer is unknown.
	GetNothing
)

// MicroOp is one step of a transaction.
type MicroOp struct {
	Kind  MicroKind
	Key   Atom
	Value Atom
	List  []Atom
}

// Account is one account as a read of a bank saw it.
type Account struct {
	ID      Atom
	Balance int64
	// Missing means that the read had no balance for the account.
	Missing bool
}

// Movement is the request of a transfer.
type Movement struct {
	From, To Atom
	Amount   int64
}

const (
	// Never is the completion of an operation without one.
	Never = math.MaxInt64
	// NoTime is a time that the history does not give.
	NoTime = -1
	// NoIndex is an index that the history does not give.
	NoIndex = -1
)

// Operation is one operation, as its process saw it.
type Operation struct {
	// Line and EndLine are where the invocation and the completion begin in the file, from 1;
	// EndLine is 0 without a completion. Column is where in its line the invocation begins, in
	// bytes from 1.
	Line, EndLine, Column int
	// Index is the history's number of the invocation, or NoIndex.
	Index int64
	// Process is the client, which does one operation after the other.
	Process  int64
	Function Function
	// Outcome is Committed for ok, Failed for fail, and otherwise Unknown.
	Outcome history.Outcome
	// Invoke and Complete order the operations: one precedes another in real time if it
	// completed strictly before the other was invoked. A reader counts events; a writer takes
	// any single clock. Complete is Never without a completion.
	Invoke, Complete int64
	// InvokeTime and CompleteTime are nanoseconds since the history began, or NoTime. They are
	// for people: Jepsen's clocks do not order events.
	InvokeTime, CompleteTime int64

	// Txn is the answer of a committed transaction, and the request of any other.
	Txn []MicroOp
	// Key is the key of an independent history (jepsen.independent), if Keyed. The key and the
	// value were a pair, or the key was a field of its own. Value and From are a register's.
	Keyed            bool
	Key, Value, From Atom
	Movement         Movement
	Accounts         []Account
	// Listed means that a read's accounts were a list of balances, as other kinds' reads have too.
	Listed bool

	// Uninvoked means that the history lacks the invocation. Then Invoke is the earliest
	// possible beginning, Line and Index are the completion's, and Request equals Answer.
	Uninvoked bool
	// Unnamed means that the history names no process: the reader chose Process.
	Unnamed bool
	// Word is the function of an operation read as written, or of a transaction not called txn.
	// Request and Answer are the values of the invocation and of the acknowledgement of an
	// operation read as written. Position and Link are fields of the acknowledgement.
	Word string
	// Told is the value of such an operation's completion that acknowledged nothing.
	Request, Answer, Told Value
	Position, Link        Value

	// beside means that the key was a field of its own.
	beside bool
	// room holds the lists of Request, Answer and Told.
	room []Value
}

func (o *Operation) name() string { return withArticle(o.Function, o.Word) }

func withArticle(f Function, word string) string {
	if word == "" {
		word = f.String()
	}
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an " + word
	}
	return "a " + word
}

// ID identifies the operation in a report: its index, or else the number of its event, from 0.
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

// reset empties o and keeps its memory.
func (o *Operation) reset() {
	room := o.room[:0]
	if cap(room) > roomKept {
		room = nil
	}
	*o = Operation{Txn: o.Txn[:0], Accounts: o.Accounts[:0], room: room}
}

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

// Kind is the kind of a history.
type Kind uint8

const (
	// NoKind is a history whose operations fit several kinds, or none.
	NoKind Kind = iota
	// ListAppend has transactions that append to lists and read them.
	ListAppend
	// ReadWrite has transactions that write registers and read them.
	ReadWrite
	// Bank has transfers between accounts and reads of all accounts.
	Bank
	// Register has reads, writes and compare-and-sets of single registers.
	Register
	// AsWritten has operations of any other kind.
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

// Transactions reports whether the history consists of transactions.
func (k Kind) Transactions() bool { return k == ListAppend || k == ReadWrite }

// history returns the kind of history that has such a step; NoKind if several have.
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

// kind returns the kind of history that has this operation; NoKind if several have.
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
