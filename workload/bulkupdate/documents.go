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
	"assay/store"
	"assay/workload"
)

const table = "document"

// Schema is the table. Every update writes a new version of every row; the table is not
// given room for them beforehand (Updated), which only somebody would do who knew what is
// coming.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Durable: true, Tables: []store.Table{{
		Name: table,
		Columns: []store.Column{
			{Name: "id"}, {Name: "owner"}, {Name: "number"}, {Name: "flag", Type: store.Boolean}, {Name: "generation"},
			{Name: "payload", Type: store.String, Length: 255},
		},
		Indexes: []store.Index{{Name: "document_owner", Columns: []string{"owner"}, Late: true}},
		Loaded:  true, LateKey: true,
	}}}
}

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
func Columns() store.Columns[Document] {
	return store.Columns[Document]{
		Names:  []string{"id", "owner", "number", "flag", "generation", "payload"},
		Fields: func(d *Document) []any { return []any{&d.ID, &d.User, &d.Number, &d.Flag, &d.Generation, &d.Payload} },
	}
}

// PayloadBytes is the length of a document's payload.
const PayloadBytes = 96

// documents are the documents of a configuration and seed: pure functions of their
// numbers.
type documents struct {
	config Config
	seed   uint64
}

// Len is how many documents there are.
func (d documents) Len() int64 { return d.config.Users * d.config.Documents }

// At returns document id as it is loaded; id is from 1 to Len.
func (d documents) At(id int64) Document {
	user, number := d.place(id)
	return Document{ID: id, User: user, Number: number, Flag: d.flag(id, 0), Payload: d.payload(id)}
}

// place is whose document it is, and which.
func (d documents) place(id int64) (user, number int64) {
	return (id-1)/d.config.Documents + 1, (id-1)%d.config.Documents + 1
}

// flag is what the boolean of a document is in a generation.
func (d documents) flag(id, generation int64) bool {
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
func (d documents) payload(id int64) string {
	return workload.HexDigits(d.seed, uint64(id), PayloadBytes)
}
