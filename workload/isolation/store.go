package isolation

import (
	"context"

	"assay/workload"
)

// Store is what a database must offer for this workload: transactions over
// lists, registers, counted groups and guarded pairs, at an isolation level of
// its own. A driver implements it in its database's own idiom.
//
// All methods are safe for concurrent use, except where said otherwise.
type Store interface {
	workload.Store

	// Promise is the consistency model that the isolation level in force
	// promises by the vendor's own documentation, in the names of
	// check/cycle: "read-committed", "snapshot-isolation", "serializable",
	// "strict-serializable". A run is judged against it.
	Promise() string

	// Create makes empty lists, registers, groups and pairs; see workload.Store.
	Create(ctx context.Context, mark workload.Marker) error

	// Session opens what one client uses: usually one connection. The session
	// is used by one goroutine at a time.
	Session(ctx context.Context) (Session, error)

	// Read gives the final state as one consistent view: every list and
	// register that exists, in ascending order of key, lists before registers
	// or not. Lists are given as the database holds them. A callback's error
	// ends the reading and is returned as it is. Groups and pairs are not
	// given.
	Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error
}

type Session interface {
	// Do does all operations in their order in one transaction and says how it
	// ended, with the same rules as bank.Session.Transfer: Committed when the
	// database said so, Failed only with proof of no effect, Unknown in all
	// other cases. It does not retry. The results of reads are put into ops;
	// what they hold after a transaction that did not commit means nothing.
	Do(ctx context.Context, ops []Op) Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

type Kind uint8

const (
	// Append adds Value to the end of list Key, which is made if it does not
	// exist. It is one statement (an atomic append).
	Append Kind = iota + 1
	// AppendByRewrite does the same as applications often do: it reads the
	// list and writes the whole of it, longer by Value, in two statements.
	AppendByRewrite
	// ReadList reads list Key into List; a list that does not exist is empty.
	ReadList
	// Write sets register Key to Value, and makes it if it does not exist.
	Write
	// ReadValue reads register Key into Value and Found.
	ReadValue
	// Insert adds a row with the unique id Value to group Key.
	Insert
	// Count counts the rows of group Key, by a predicate over all rows, into
	// Value.
	Count
	// Withdraw keeps a rule over two rows, as an application does: it reads
	// both sides of pair Key (rows 2*Key and 2*Key+1, each 0 or 1, 1 if it
	// does not exist), and if both are 1 sets side Value (0 or 1) to 0;
	// otherwise it sets side Value to 1. Result gets side 0 in bit 0 and side
	// 1 in bit 1, as read. Serializable transactions never leave both at 0.
	Withdraw
)

type Op struct {
	Kind  Kind
	Key   int64
	Value int64
	// List is what ReadList found. The driver may reuse its capacity.
	List []int64
	// Found is false if ReadValue found no register.
	Found bool
	// Result is what Withdraw read.
	Result int64
}

// Reply is how one attempt of a transaction ended. Its Outcome is never Rejected,
// and it is no Duplicate.
type Reply = workload.Reply

// Withdrawn is the rule of Withdraw: what side becomes, given both as read.
func Withdrawn(own, other int64) int64 {
	if own == 1 && other == 1 {
		return 0
	}
	return 1
}
