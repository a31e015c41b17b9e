// Package bulkupdate is the workload of bulk updates under lock contention. Users have many
// documents, and a task updates all documents of one user with one statement or transaction.
// Round by round, more workers share the tasks. It measures tasks, rounds and the server's lock
// waits, and checks every document.
//
// The judge takes some 40 bytes per user and a bit per document.
//
// It must not know any driver.
package bulkupdate

import (
	"assay/store"
	"assay/workload"
)

const table = "document"

// Schema returns the table. It leaves no room for updates (Updated), as a user without
// foreknowledge would.
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

// Document is one document of a user.
type Document struct {
	// ID is the primary key, from 1, user by user.
	ID int64
	// Number is the place among the User's documents; both count from 1.
	User, Number int64
	// Updates set Flag, and Generation to the round's number; 0 at first.
	Flag       bool
	Generation int64
	// Payload has PayloadBytes letters and digits.
	Payload string
}

// Columns maps documents to columns; owner is User.
func Columns() store.Columns[Document] {
	return store.Columns[Document]{
		Names:  []string{"id", "owner", "number", "flag", "generation", "payload"},
		Fields: func(d *Document) []any { return []any{&d.ID, &d.User, &d.Number, &d.Flag, &d.Generation, &d.Payload} },
	}
}

// PayloadBytes is the length of a payload.
const PayloadBytes = 96

// documents computes the documents of a configuration and seed.
type documents struct {
	config Config
	seed   uint64
}

func (d documents) Len() int64 { return d.config.Users * d.config.Documents }

// At returns document id as loaded; id is from 1 to Len.
func (d documents) At(id int64) Document {
	user, number := d.place(id)
	return Document{ID: id, User: user, Number: number, Flag: d.flag(id, 0), Payload: d.payload(id)}
}

func (d documents) place(id int64) (user, number int64) {
	return (id-1)/d.config.Documents + 1, (id-1)%d.config.Documents + 1
}

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

// flagOf is the flag that a round sets: it flips each round.
func flagOf(generation int64) bool { return generation%2 == 1 }

func (d documents) payload(id int64) string {
	return workload.HexDigits(d.seed, uint64(id), PayloadBytes)
}
