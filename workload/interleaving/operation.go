// Package interleaving plays the steps of several transactions in a fixed order, each in its own
// session, and says which anomalies of isolation occur. The scripts are Hermitage's (M.
// Kleppmann, github.com/ept/hermitage). The rows read and left decide, never the level's name.
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
	// Read reads row ID.
	Read Action = iota + 1
	// ReadAll reads all rows, ReadEqual those of this Value, ReadMultiple those of its
	// multiples.
	ReadAll
	ReadEqual
	ReadMultiple
	// Set sets row ID, if it exists, to Value.
	Set
	// AddAll adds Value to all rows.
	AddAll
	// Insert inserts row ID with Value.
	Insert
	// DeleteEqual deletes the rows of this Value.
	DeleteEqual
	DeleteAll
)

// Operation is one operation of a transaction.
type Operation struct {
	Action    Action
	ID, Value int64
}

// Writes reports whether the operation changes rows.
func (o Operation) Writes() bool { return o.Action >= Set }

// Rows is the table that scripts use.
func Rows() store.Table { return store.Table{Name: "register", Columns: store.Integers("id", "value")} }

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

// do does one operation and returns a read's rows in any order. The transaction must end after
// an error.
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
