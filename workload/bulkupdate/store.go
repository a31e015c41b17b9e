// Package bulkupdate is the workload of bulk updates under lock contention:
// users with many documents each, and tasks that update all documents of one
// user with one statement (or, where there is none over many rows, one transaction),
// worked off by more and more workers. It measures
// how long a task takes, how long all of them, and what the server says of its
// locks meanwhile; and it knows of every document what it must say afterwards.
//
// What it keeps to judge a run is about 40 bytes for each user and one bit for
// each document.
//
// It must not know any driver.
package bulkupdate

import (
	"context"
	"time"

	"assay/store"
	"assay/workload"
)

// Store is what a database must offer for this workload. A driver implements
// it in its database's own idiom, or the cell of the matrix stays empty.
//
// All methods are safe for concurrent use.
type Store interface {
	workload.Store

	// Create makes an empty table of documents; see workload.Store.
	Create(ctx context.Context, mark workload.Marker) error

	// Load inserts documents. It is called from several goroutines with
	// disjoint batches of at most MaxBatch documents.
	Load(ctx context.Context, batch []Document) error

	// FinishLoad is called once after all documents are in: it builds the index
	// on their owners, and sets Mark.Loaded.
	FinishLoad(ctx context.Context) error

	// Session opens what one client uses. The session is used by one goroutine
	// at a time.
	Session(ctx context.Context) (Session, error)

	// Waits returns what the server says of locks and of those who wait for
	// them, the same names in the same order each time; none if it says
	// nothing. It is asked several times a second while the tasks go on.
	Waits(ctx context.Context) ([]Wait, error)

	// Atomic reports whether an update of all documents of one user takes
	// effect on all of them or on none, by the vendor's own documentation.
	Atomic() bool

	// Read gives every document, in any order, as one consistent view. Read
	// stops at the first error, of the database's or of the callback's, and
	// returns it. Documents are given as the database holds them, however wrong.
	Read(ctx context.Context, document func(Document) error) error
}

// MaxBatch is the most documents that Load is given at once.
const MaxBatch = 1000

// Session is one client's connection.
type Session interface {
	// Update sets flag and generation of all documents of one user, with one
	// statement in the database's ordinary way of acknowledging. It does not
	// retry, and has no time limit beside ctx. Failed is said only with proof
	// that no document has changed.
	Update(ctx context.Context, user, generation int64, flag bool) Reply

	// Close ends the session. What is in flight is abandoned.
	Close()
}

// Reply is how one attempt ended.
type Reply struct {
	workload.Reply
	// Changed is, with Committed, how many documents the database says to have
	// changed.
	Changed int64
}

// Unit, and what follows, are as in package store.
type (
	Unit = store.Unit
	Wait = store.Wait
)

const (
	Count = store.Occasions
	Time  = store.Time
	Gauge = store.Gauge
)

// sampleEvery is how often a server is asked while tasks go on.
const sampleEvery = 200 * time.Millisecond

// Document is one document of one user.
type Document struct {
	// ID is unique (the primary key, or _id), from 1: the documents of one user
	// after those of another.
	ID int64
	// User is its owner and Number its place among the owner's, both from 1.
	User, Number int64
	// Flag is the boolean that updates are about. Generation is the number of
	// the round that set it, 0 at first.
	Flag       bool
	Generation int64
	// Payload is what the document holds beside: PayloadBytes letters and
	// digits.
	Payload string
}

// Columns are how documents are stored; owner is User.
func Columns() workload.Columns[Document] {
	return workload.Columns[Document]{
		Names:  []string{"id", "owner", "number", "flag", "generation", "payload"},
		Fields: func(d *Document) []any { return []any{&d.ID, &d.User, &d.Number, &d.Flag, &d.Generation, &d.Payload} },
	}
}

// PayloadBytes is the length of a document's payload.
const PayloadBytes = 96

// Documents are those of a configuration and seed: pure functions of their
// numbers.
type Documents struct {
	config Config
	seed   uint64
}

// NewDocuments returns the documents of this configuration and seed.
func NewDocuments(config Config, seed uint64) Documents { return Documents{config, seed} }

// Len is how many documents there are.
func (d Documents) Len() int64 { return d.config.Users * d.config.Documents }

// At returns document id as it is loaded; id is from 1 to Len.
func (d Documents) At(id int64) Document {
	user, number := d.place(id)
	return Document{ID: id, User: user, Number: number, Flag: d.flag(id, 0), Payload: d.payload(id)}
}

// Batch returns up to MaxBatch documents from id on, in the room that buf has.
func (d Documents) Batch(id int64, buf []Document) []Document {
	buf = buf[:0]
	for ; id <= d.Len() && len(buf) < MaxBatch; id++ {
		buf = append(buf, d.At(id))
	}
	return buf
}

// place is whose document it is, and which.
func (d Documents) place(id int64) (user, number int64) {
	return (id-1)/d.config.Documents + 1, (id-1)%d.config.Documents + 1
}

// flag is what the boolean of a document is in a generation.
func (d Documents) flag(id, generation int64) bool {
	switch {
	case generation > 0:
		return flagOf(generation)
	case d.config.Field == FieldAlternate:
		return id%2 == 0
	case d.config.Field == FieldRandom:
		return workload.Mix(uint64(id)^workload.Mix(d.seed))&1 == 1
	default:
		return false
	}
}

// flagOf is what a round sets the boolean to, so that it flips from each to the
// next.
func flagOf(generation int64) bool { return generation%2 == 1 }

// payload is what a document holds beside.
func (d Documents) payload(id int64) string {
	return workload.HexDigits(d.seed, uint64(id), PayloadBytes)
}
