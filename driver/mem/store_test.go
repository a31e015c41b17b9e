package mem

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// shelf is a schema with all types, a key of two columns, a floor and indexes.
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

// label is a text of 16 bytes.
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

// openSchema opens a schema, made and empty.
func openSchema(t testing.TB, address string, schema store.Schema) *Database {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address, Seed: 1}, schema)
	if err == nil {
		err = db.Create(t.Context(), store.Marker{})
	}
	expect.NoError(t, err)
	return db.(*Database)
}

// shelves is a database of shelf with the items of itemRows.
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

// text is a row as words.
func text(row store.Row) string {
	values, err := row.AppendValues(nil)
	if err != nil {
		return err.Error()
	}
	return strings.Trim(fmt.Sprint(values), "[]")
}

// collect has rows as words in a list.
func collect(into *[]string) func(store.Row) error {
	return func(row store.Row) error {
		*into = append(*into, text(row))
		return nil
	}
}

// readItems is a statement that reads where each item stands and how many are left.
func readItems(where []store.Condition) store.Statement {
	return store.Statement{Name: "read", Verb: store.Read, Table: "item", Columns: []string{"shelf", "place", "left"}, Where: where}
}

func compared(column string, is store.Comparison, parameter int) store.Condition {
	return store.Condition{Column: column, Is: is, Value: store.Parameter(parameter)}
}

// TestReads gives statements that read, beside those of the suite, and what they give, each by itself, in a
// transaction and in a view.
func TestReads(t *testing.T) {
	first := readItems([]store.Condition{compared("shelf", store.AtLeast, 1)})
	first.Order, first.Limit = []string{"shelf", "place"}, store.Parameter(2)
	sorted := readItems(nil)
	sorted.Order, sorted.Descending = []string{"name", "shelf"}, true
	for _, c := range []struct {
		name       string
		statement  store.Statement
		parameters []store.Value
		want       []string
	}{
		{"keys in", readItems([]store.Condition{compared("shelf", store.Equal, 1), compared("place", store.In, 2)}),
			[]store.Value{store.OfInt(1), store.OfKeys([]int64{4, 2, 7, 4})}, []string{"1 2 20", "1 4 40"}},
		{"in without a key", readItems([]store.Condition{compared("left", store.In, 1)}), []store.Value{store.OfKeys([]int64{30})}, []string{"1 3 30", "2 3 30", "3 3 30"}},
		{"from a key on", first, store.OfInts(2, 5), []string{"2 1 10", "2 2 20", "2 3 30", "2 4 40", "3 1 10"}},
		{"limit 0", first, store.OfInts(2, 0), nil},
		{"multiples of nothing", readItems([]store.Condition{compared("left", store.MultipleOf, 1)}), store.OfInts(0), nil},
		{"sorted", sorted, nil, []string{"3 1 10", "3 3 30", "2 1 10", "2 3 30", "1 1 10", "1 3 30", "3 2 20", "3 4 40", "2 2 20", "2 4 40", "1 2 20", "1 4 40"}},
	} {
		db := shelves(t)
		n := sessionOf(t, db, c.statement)
		var alone, within, viewed []string
		if r := n.Run(t.Context(), store.Call{Parameters: c.parameters, Row: collect(&alone)}); r.Outcome != history.Committed {
			t.Errorf("%s: %+v", c.name, r)
		}
		r := n.Transaction(t.Context(), false, func(ctx context.Context, x store.Transaction) error {
			_, err := x.Do(ctx, 0, collect(&within), c.parameters...)
			return err
		})
		err := db.View(t.Context(), func(r store.Reader) error {
			return r.Read(t.Context(), c.statement, collect(&viewed), c.parameters...)
		})
		if len(c.statement.Order) == 0 {
			slices.Sort(alone)
			slices.Sort(within)
			slices.Sort(viewed)
		}
		if r.Outcome != history.Committed || err != nil || !slices.Equal(alone, c.want) || !slices.Equal(within, c.want) || !slices.Equal(viewed, c.want) {
			t.Errorf("%s: %q, %q, %q; want %q; %+v, %v", c.name, alone, within, viewed, c.want, r, err)
		}
	}
}

// all is what an item table holds, of items that a test has changed.
func all(t *testing.T, db *Database, statement store.Statement) (rows []string) {
	t.Helper()
	err := db.View(t.Context(), func(r store.Reader) error { return r.Read(t.Context(), statement, collect(&rows)) })
	expect.NoError(t, err)
	slices.Sort(rows)
	return rows
}

// writing is a statement with parameters and what must come of it.
type writing struct {
	name       string
	statement  store.Statement
	parameters []store.Value
	changed    int64
	given      []string
	violated   store.Violation
	// left are the rows of shelf 1 then; nil for no change.
	left []string
}

func writings() []writing {
	sell := store.Statement{Name: "sell", Verb: store.Update, Table: "item", Columns: []string{"place", "left"}, Where: store.Where("shelf", "place"),
		Set: []store.Assignment{store.Set("name", store.Parameter(4)), store.Add("left", store.Parameter(3))}}
	double := store.Statement{Name: "double", Verb: store.Update, Table: "item", Where: store.Where("shelf"),
		Set: []store.Assignment{store.Add("left", store.Old("left")), store.Set("sold", store.Number(1))}}
	insert := store.Statement{Name: "insert", Verb: store.Insert, Table: "item", Columns: []string{"place", "shelf", "left", "name", "sold", "label"}}
	several := insert
	several.Rows = 2
	put := store.Statement{Name: "put", Verb: store.Put, Table: "item", Columns: insert.Columns}
	take := store.Statement{Name: "take", Verb: store.Delete, Table: "item", Where: []store.Condition{compared("shelf", store.Equal, 1), compared("left", store.Below, 2)}}
	values := func(place, shelf, left int64, n int) []store.Value {
		return append(store.OfInts(place, shelf, left), store.OfText("new"), store.OfBool(true), store.OfBytes(label(n)))
	}
	before := []string{"1 1 10", "1 2 20", "1 3 30", "1 4 40"}
	return []writing{
		{"update by key", sell, append(store.OfInts(1, 2, -5), store.OfText("jar")), 1, []string{"2 15"}, 0, []string{"1 1 10", "1 2 15", "1 3 30", "1 4 40"}},
		{"update of none", sell, append(store.OfInts(1, 9, -5), store.OfText("jar")), 0, nil, 0, nil},
		{"below the floor", sell, append(store.OfInts(1, 2, -21), store.OfText("jar")), 0, nil, store.Floor, nil},
		{"at the floor", sell, append(store.OfInts(1, 2, -20), store.OfText("jar")), 1, []string{"2 0"}, 0, []string{"1 1 10", "1 2 0", "1 3 30", "1 4 40"}},
		{"update of many", double, store.OfInts(1), 4, nil, 0, []string{"1 1 20", "1 2 40", "1 3 60", "1 4 80"}},
		{"insert", insert, values(5, 1, 7, 99), 1, nil, 0, append(before, "1 5 7")},
		{"insert below the floor", insert, values(5, 1, -1, 99), 0, nil, store.Floor, nil},
		{"insert again", insert, values(4, 1, 7, 99), 0, nil, store.Unique, nil},
		{"insert with another's label", insert, values(5, 1, 7, 11), 0, nil, store.Unique, nil},
		{"insert two", several, append(values(5, 1, 7, 98), values(6, 1, 8, 99)...), 2, nil, 0, append(before, "1 5 7", "1 6 8")},
		{"insert two that are one", several, append(values(5, 1, 7, 98), values(5, 1, 8, 99)...), 0, nil, store.Unique, nil},
		{"insert two with one label", several, append(values(5, 1, 7, 98), values(6, 1, 8, 98)...), 0, nil, store.Unique, nil},
		{"put below the floor", put, values(4, 1, -3, 99), 0, nil, store.Floor, nil},
		{"put a new one", put, values(5, 1, 7, 99), 1, nil, 0, append(before, "1 5 7")},
		{"put in place", put, values(4, 1, 7, 99), 1, nil, 0, []string{"1 1 10", "1 2 20", "1 3 30", "1 4 7"}},
		{"delete", take, store.OfInts(1, 30), 2, nil, 0, []string{"1 3 30", "1 4 40"}},
	}
}

// TestWrites does statements that write, each by itself, in a batch and in a transaction.
func TestWrites(t *testing.T) {
	shelfOne := readItems([]store.Condition{{Column: "shelf", Value: store.Number(1)}})
	for _, c := range writings() {
		ways := map[string]func(n *session, row func(store.Row) error) (store.Reply, int64){
			"alone": func(n *session, row func(store.Row) error) (store.Reply, int64) {
				r := n.Run(t.Context(), store.Call{Parameters: c.parameters, Row: row})
				return r, r.Affected
			},
			"batch": func(n *session, row func(store.Row) error) (store.Reply, int64) {
				return n.Batch(t.Context(), &store.Batch{Calls: []store.Call{{Parameters: c.parameters, Row: row, Want: len(c.given)}}}), c.changed
			},
			"transaction": func(n *session, row func(store.Row) error) (r store.Reply, changed int64) {
				r = n.Transaction(t.Context(), true, func(ctx context.Context, x store.Transaction) (err error) {
					changed, err = x.Do(ctx, 0, row, c.parameters...)
					return err
				})
				return r, changed
			},
		}
		for way, do := range ways {
			db := shelves(t)
			before := all(t, db, shelfOne)
			n := sessionOf(t, db, c.statement)
			var given []string
			row := collect(&given)
			if !c.statement.GivesRows() {
				row = nil
			}
			r, changed := do(n, row)
			want := c.left
			if want == nil {
				want = before
			}
			if left := all(t, db, shelfOne); !slices.Equal(left, want) || (r.Outcome == history.Committed) != (c.violated == 0) || r.Violated != c.violated {
				t.Errorf("%s, %s: left %q, want %q; %+v", c.name, way, left, want, r)
			}
			if changed != c.changed || !slices.Equal(given, c.given) {
				t.Errorf("%s, %s: %d changed, given %q; want %d, %q", c.name, way, changed, given, c.changed, c.given)
			}
			if rows := db.rows("item"); int64(db.d.tree.Len()) != 3*rows { // an item is in two indexes
				t.Errorf("%s, %s: %d entries for %d rows", c.name, way, db.d.tree.Len(), rows)
			}
		}
	}
}
