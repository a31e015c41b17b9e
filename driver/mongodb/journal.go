package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload"
	"assay/workload/journal"
)

// journalStore is what the Stores of workloads with a journal have in common. A table is a
// collection whose documents have the table's columns as fields of int64, the key as _id.
type journalStore struct {
	*schema
	tables []journal.Table
	// beside is a further field of a table's documents, by the table's number.
	beside map[int]func(values []int64) bson.E
}

// openJournal connects to the server. Errors are as with OpenBank.
func openJournal(ctx context.Context, target workload.Target, name string, tables []journal.Table) (*journalStore, error) {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	p, err := openSchema(ctx, target, name, names...)
	if err != nil {
		return nil, err
	}
	return &journalStore{schema: p, tables: tables, beside: map[int]func([]int64) bson.E{}}, nil
}

func (s *journalStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, s.collections...)
}

func (s *journalStore) LoadRows(ctx context.Context, table int, rows [][]int64) error {
	documents := make([]bson.D, len(rows))
	for i, row := range rows {
		documents[i] = s.document(table, row)
	}
	return insertAll(ctx, s.collections[table], documents)
}

// document is a row of a table.
func (s *journalStore) document(table int, row []int64) bson.D {
	document, names := make(bson.D, 0, len(row)+1), storedNames(s.tables[table].Columns)
	for i, value := range row {
		document = append(document, bson.E{Key: names[i], Value: value})
	}
	if beside := s.beside[table]; beside != nil {
		document = append(document, beside(row))
	}
	return document
}

// Read implements journal.Store, in one snapshot.
func (s *journalStore) Read(ctx context.Context, row func(journal.Row) error) error {
	return s.view(ctx, func(ctx context.Context) error {
		for number, table := range s.tables {
			values := make([]int64, len(table.Columns))
			fields, names := make([]any, len(values)), storedNames(table.Columns)
			for i := range values {
				fields[i] = &values[i]
			}
			err := each(ctx, s.collections[number], options.Find(), func(document bson.Raw) error {
				if err := decode(document, table.Name, 0, names, fields); err != nil {
					return err
				}
				return row(journal.Row{Table: number, Values: values})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// errNoFunds leaves a transaction that would overdraw an account, and errRepeated one
// whose row the journal has already.
var (
	errNoFunds  = errors.New("the account would be overdrawn")
	errRepeated = errors.New("the journal has the operation already")
)

// journaled does a transaction whose row goes into a collection under an id. work does all
// but the commit; ctx carries the session.
func (x *transactor) journaled(ctx context.Context, rows *mongo.Collection, id int64, overdrawn string, work func(steps) error) workload.Reply {
	r := x.transact(ctx, func(ctx context.Context, sent *sending) *workload.Reply {
		err := work(steps{ctx, sent})
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errNoFunds):
			return &workload.Reply{Outcome: history.Rejected, Class: overdrawn}
		case errors.Is(err, errRepeated):
			return &workload.Reply{Outcome: history.Failed, Class: workload.ClassDuplicate}
		}
		ended := judgeStatement(failed("do an operation", err), sent.latest)
		return &ended
	})
	return x.confirmed(ctx, rows, byID(id), r)
}

// steps are the statements of one transaction.
type steps struct {
	ctx  context.Context // it carries the session
	sent *sending
}

// next is the context of the next statement.
func (s steps) next() context.Context {
	s.sent.latest = false
	return s.ctx
}

// integers reads fields of the only document that a filter selects.
func (s steps) integers(c *mongo.Collection, filter bson.D, names []string, into ...*int64) error {
	document, err := c.FindOne(s.next(), filter).Raw()
	if err != nil {
		return err
	}
	return integers(document, c.Name(), names, into)
}

// change updates a document and reads fields of what that leaves. mongo.ErrNoDocuments
// means that the filter selects none.
func (s steps) change(c *mongo.Collection, filter bson.D, update any, names []string, into ...*int64) error {
	document, err := c.FindOneAndUpdate(s.next(), filter, update, options.FindOneAndUpdate().SetReturnDocument(options.After)).Raw()
	if err != nil {
		return err
	}
	return integers(document, c.Name(), names, into)
}

// hasDocument reports whether a collection has a document of this _id.
func hasDocument(ctx context.Context, c *mongo.Collection, id int64) (bool, error) {
	err := c.FindOne(ctx, byID(id), options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return false, nil
	}
	return err == nil, err
}
