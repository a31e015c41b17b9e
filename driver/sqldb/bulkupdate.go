package sqldb

import (
	"context"

	"assay/workload/bulkupdate"
)

// BulkUpdateSchema is the Schema of workload bulkupdate. Every update writes a
// new version of every row; the table is not given room for them beforehand
// (Updated), which only somebody would do who knew what is coming.
func BulkUpdateSchema() Schema {
	return Schema{Workload: "bulkupdate", Tables: []Table{{
		Name: "document",
		Columns: []Column{
			{Name: "id"}, {Name: "owner"}, {Name: "number"}, {Name: "flag", Type: Boolean}, {Name: "generation"},
			{Name: "payload", Type: String, Length: 255},
		},
		Indexes: []Index{{Name: "document_owner", Columns: []string{"owner"}, Late: true}},
		Loaded:  true, LateKey: true,
	}}}
}

// BulkUpdate is the Store on a Database of BulkUpdateSchema.
func BulkUpdate(db Database) bulkupdate.Store { return &bulkUpdateStore{db} }

type bulkUpdateStore struct{ Database }

// Atomic is true of every SQL database: one statement is a transaction of its own,
// which is "all-or-nothing" (PostgreSQL manual, "Transactions"), "forms a single
// transaction on its own", and is rolled back if it fails (MySQL manual,
// "autocommit, Commit, and Rollback"), or occurs "completely or not at all"
// (https://www.sqlite.org/transactional.html).
func (s *bulkUpdateStore) Atomic() bool { return true }

func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	return s.Database.Load(ctx, rowsOf("document", bulkupdate.Columns(), batch))
}

func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return readAll(ctx, s.Database, "document", bulkupdate.Columns(), document)
}

const updateDocuments = 0

func (s *bulkUpdateStore) Session(ctx context.Context) (bulkupdate.Session, error) {
	c, err := s.Connect(ctx, []Statement{
		updateDocuments: {"update", "UPDATE " + s.Dialect().Table("document") + " SET flag = $2, generation = $3 WHERE owner = $1"},
	})
	if err != nil {
		return nil, err
	}
	return bulkUpdateSession{c}, nil
}

type bulkUpdateSession struct{ connection Connection }

func (s bulkUpdateSession) Close() { s.connection.Close() }

func (s bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	r := s.connection.Execute(ctx, updateDocuments, OfInt(user), OfBool(flag), OfInt(generation))
	return bulkupdate.Reply{Reply: r.Reply, Changed: r.Affected}
}
