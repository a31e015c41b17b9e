package interleaving

import (
	"context"
	"fmt"

	"assay/store"
	"assay/workload"
)

// Rows is the table of the rows.
func Rows() store.Table { return store.Table{Name: "register", Columns: store.Integers("id", "value")} }

// statements are those of the actions, by their numbers.
func statements() []store.Statement {
	table := Rows().Name
	read := func(name, column string, is store.Comparison) store.Statement {
		s := store.Statement{Name: name, Verb: store.Read, Table: table, Columns: []string{"id", "value"}}
		if column != "" {
			s.Where = []store.Condition{{Column: column, Is: is, Value: store.Parameter(1)}}
		}
		return s
	}
	return []store.Statement{
		read("none", "id", store.Below),
		Read:         read("read", "id", store.Equal),
		ReadAll:      read("all", "", store.Equal),
		ReadEqual:    read("equal", "value", store.Equal),
		ReadMultiple: read("multiple", "value", store.MultipleOf),
		Set: {Name: "set", Verb: store.Update, Table: table, Where: store.Where("id"),
			Set: []store.Assignment{store.Set("value", store.Parameter(2))}},
		AddAll:      {Name: "add", Verb: store.Update, Table: table, Set: []store.Assignment{store.Add("value", store.Parameter(1))}},
		Insert:      {Name: "insert", Verb: store.Insert, Table: table, Columns: []string{"id", "value"}},
		DeleteEqual: {Name: "delete", Verb: store.Delete, Table: table, Where: store.Where("value")},
		DeleteAll:   {Name: "empty", Verb: store.Delete, Table: table},
	}
}

// Open opens a Session on a database whose schema has the table Rows.
func Open(ctx context.Context, db store.Database) (Session, error) {
	s, err := db.Session(ctx, statements())
	if err != nil {
		return nil, err
	}
	return session{s}, nil
}

// session is a Session over that of a database.
type session struct{ store.Session }

func (s session) Transact(ctx context.Context, writes bool, work func(Do) error) workload.Reply {
	return s.Transaction(ctx, writes, func(_ context.Context, t store.Transaction) error {
		return work(func(ctx context.Context, o Operation) ([]Row, error) { return do(ctx, t, o) })
	}).Reply
}

// do does one operation.
func do(ctx context.Context, t store.Transaction, o Operation) (rows []Row, err error) {
	var parameters []store.Value
	switch o.Action {
	case Read:
		parameters = store.OfInts(o.ID)
	case ReadEqual, ReadMultiple, AddAll, DeleteEqual:
		parameters = store.OfInts(o.Value)
	case Set, Insert:
		parameters = store.OfInts(o.ID, o.Value)
	case ReadAll, DeleteAll:
	default:
		return nil, fmt.Errorf("no operation has the action %d", o.Action)
	}
	var add func(store.Row) error
	if !o.Writes() {
		add = func(row store.Row) error {
			var r Row
			err := row.Scan(&r.ID, &r.Value)
			rows = append(rows, r)
			return err
		}
	}
	_, err = t.Do(ctx, int(o.Action), add, parameters...)
	return rows, err
}
