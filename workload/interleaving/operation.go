// Package interleaving plays the steps of several transactions in a fixed order,
// each transaction in a session of its own, and says which anomalies of isolation
// come about. The scripts are those of Hermitage (M. Kleppmann,
// github.com/ept/hermitage). Whether an anomaly came about is judged by the rows
// that were read and those that are left, never by the name of the level.
//
// It must not know any driver.
package interleaving

import (
	"context"
	"fmt"

	"assay/store"
)

type Row struct{ ID, Value int64 }

type Action uint8

const (
	// Read reads the row ID.
	Read Action = iota + 1
	// ReadAll reads all rows, ReadEqual those whose value is Value, ReadMultiple
	// those whose value is a multiple of Value: each by a predicate.
	ReadAll
	ReadEqual
	ReadMultiple
	// Set sets the row ID, if it exists, to Value.
	Set
	// AddAll adds Value to all rows.
	AddAll
	// Insert adds the row ID with Value.
	Insert
	// DeleteEqual deletes the rows whose value is Value, DeleteAll all rows.
	DeleteEqual
	DeleteAll
)

// Operation is one operation of a transaction.
type Operation struct {
	Action    Action
	ID, Value int64
}

// Writes is whether the operation changes anything.
func (o Operation) Writes() bool { return o.Action >= Set }

// Rows is the table of the rows.
func Rows() store.Table { return store.Table{Name: "register", Columns: store.Integers("id", "value")} }

// statements are the statements of the actions, by their numbers.
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

// do does one operation in a transaction and returns the rows of a read, in any order.
// After an error the transaction is to be left.
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
