package mem

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

// shelf has all types, a key of two columns, a floor and indexes.
func shelf() store.Schema {
	return store.Schema{Workload: "shelf", Transactions: true, Tables: []store.Table{
		{
			Name: "item", KeyColumns: 2,
			Columns: []store.Column{
				{Name: "shelf"}, {Name: "place"}, {Name: "left"}, {Name: "name", Type: store.String, Length: 9},
				{Name: "sold", Type: store.Boolean}, {Name: "label", Type: store.UUID},
			},
			Floors:  []store.Minimum{{Name: "item_left", Column: "left"}},
			Indexes: []store.Index{{Name: "item_name", Columns: []string{"name", "left"}}, {Name: "item_label", Columns: []string{"label"}, Unique: true}},
		},
		{Name: "list", Columns: []store.Column{{Name: "id"}, {Name: "elements", Type: store.Ints}}},
		{Name: "entry", Columns: append([]store.Column{{Name: "name", Type: store.String, Length: 9}}, store.Integers("of", "left")...)},
	}}
}

func label(n int) []byte { return fmt.Appendf(nil, "label%011d", n) }

// itemRows are shelves 1 to 3 with places 1 to 4.
func itemRows() store.Rows {
	return store.Rows{Table: "item", Columns: []string{"shelf", "place", "left", "name", "sold", "label"}, Count: 12,
		Row: func(i int, into []store.Value) []store.Value {
			shelf, place := int64(1+i/4), int64(1+i%4)
			return append(into, store.OfInt(shelf), store.OfInt(place), store.OfInt(10*place),
				store.OfText([]string{"pen", "cup"}[i%2]), store.OfBool(i%3 == 0), store.OfBytes(label(i)))
		}}
}

func openSchema(t testing.TB, address string, schema store.Schema) *Database {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address, Seed: 1}, schema)
	if err == nil {
		err = db.Create(t.Context(), store.Marker{})
	}
	expect.NoError(t, err)
	return db.(*Database)
}

func shelves(t testing.TB) *Database {
	t.Helper()
	db := openSchema(t, "mem://", shelf())
	expect.NoError(t, db.Load(t.Context(), itemRows()))
	return db
}

func sessionOf(t testing.TB, db *Database, statements ...store.Statement) *session {
	t.Helper()
	expect.NoError(t, db.schema.Check(statements))
	n, err := db.Session(t.Context(), statements)
	expect.NoError(t, err)
	return n.(*session)
}

func text(row store.Row) string {
	values, err := row.AppendValues(nil)
	if err != nil {
		return err.Error()
	}
	return strings.Trim(fmt.Sprint(values), "[]")
}

func collect(into *[]string) func(store.Row) error {
	return func(row store.Row) error {
		*into = append(*into, text(row))
		return nil
	}
}

func readItems(where []store.Condition) store.Statement {
	return store.Statement{Name: "read", Verb: store.Read, Table: "item", Columns: []string{"shelf", "place", "left"}, Where: where}
}

func compared(column string, is store.Comparison, parameter int) store.Condition {
	return store.Condition{Column: column, Is: is, Value: store.Parameter(parameter)}
}

func all(t *testing.T, db *Database, statement store.Statement) (rows []string) {
	t.Helper()
	err := db.View(t.Context(), func(r store.Reader) error { return r.Read(t.Context(), statement, collect(&rows)) })
	expect.NoError(t, err)
	slices.Sort(rows)
	return rows
}
