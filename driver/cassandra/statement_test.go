package cassandra

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/internal/expect"
	"assay/store"
)

// testSchema has a table with indexes, a table with a key alone, and a table with a key of two
// columns.
func testSchema() store.Schema {
	candle := append(store.Integers("id", "moment"), store.Column{Name: "ticker", Type: store.ASCII}, store.Column{Name: "market", Type: store.ASCII})
	return store.Schema{Workload: "trial", Tables: []store.Table{
		{Name: "candle", Columns: candle, Unread: true, Indexes: []store.Index{
			{Name: "ticker", Columns: []string{"ticker", "moment"}},
			{Name: "moment", Columns: []string{"moment"}, Bucket: store.Bucket{Name: "hour", Size: 10}},
			{Name: "market", Columns: []string{"market", "moment"}, Unread: true},
		}},
		{Name: "entity", Columns: []store.Column{
			{Name: "id", Type: store.UUID}, {Name: "label", Type: store.String, Length: 20}, {Name: "amount", Narrow: true}, {Name: "flag", Type: store.Boolean},
		}},
		{Name: "pair", KeyColumns: 2, Columns: store.Integers("a", "b", "value")},
	}}
}

func trial() *database {
	d := layOut(testSchema())
	d.connection = &connection{settings: &settings{keyspace: "k"}}
	return d
}

func spanStatement() store.Statement {
	return store.Statement{Name: "span", Verb: store.Read, Table: "candle", Columns: []string{"id"}, Order: []string{"moment"},
		Where: []store.Condition{{Column: "moment", Is: store.AtLeast, Value: store.Parameter(1)}, {Column: "moment", Is: store.Below, Value: store.Parameter(2)}}}
}

func latestStatement() store.Statement {
	return store.Statement{Name: "latest", Verb: store.Read, Table: "candle", Columns: []string{"id", "moment"}, Where: store.Where("ticker"),
		Order: []string{"ticker", "moment", "id"}, Descending: true, Limit: store.Parameter(2)}
}

func TestTables(t *testing.T) {
	d := trial()
	got := map[string]string{}
	for name, ways := range d.ways {
		for _, w := range ways {
			got[w.name] = w.columns(d.schema.Table(name))
		}
	}
	want := map[string]string{
		"assay_candle_by_ticker": "id bigint, moment bigint, ticker text, market text, PRIMARY KEY (ticker, moment, id)",
		"assay_candle_by_hour":   "hour bigint, id bigint, moment bigint, ticker text, market text, PRIMARY KEY (hour, moment, id)",
		"assay_entity":           "id uuid, label text, amount int, flag boolean, PRIMARY KEY (id)",
		"assay_pair":             "a bigint, b bigint, value bigint, PRIMARY KEY (a, b)",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestStatements(t *testing.T) {
	read := func(table string, where ...string) store.Statement {
		return store.Statement{Name: "s", Verb: store.Read, Table: table, Columns: []string{"id"}, Where: store.Where(where...)}
	}
	pair := read("pair", "a")
	pair.Columns, pair.Order = []string{"value"}, []string{"a", "b"}
	ranged := pair
	ranged.Where = append(store.Where("a"), store.Condition{Column: "b", Is: store.AtLeast, Value: store.Number(7)})
	count := store.Statement{Name: "s", Verb: store.Count, Table: "pair", Columns: []string{"value"}, Where: store.Where("a")}
	update := store.Statement{Name: "s", Verb: store.Update, Table: "entity", Where: store.Where("id"), Set: []store.Assignment{store.Set("label", store.Parameter(2))}}
	increase := update
	increase.Set = []store.Assignment{store.Add("amount", store.Number(1))}
	all := update
	all.Where = store.Where("flag")
	wrongWay := latestStatement()
	wrongWay.Order = []string{"id"}
	limited := spanStatement()
	limited.Limit = store.Number(3)
	for _, c := range []struct {
		statement store.Statement
		want      string // the text, or a part of the error
	}{
		{latestStatement(), `SELECT id, moment FROM "k".assay_candle_by_ticker WHERE ticker = ? ORDER BY moment DESC, id DESC LIMIT ?`},
		{spanStatement(), `SELECT id FROM "k".assay_candle_by_hour WHERE hour = ? AND moment >= ? AND moment < ?`},
		{read("candle"), `SELECT id FROM "k".assay_candle_by_ticker`},
		{read("entity", "id"), `SELECT id FROM "k".assay_entity WHERE id = ?`},
		{pair, `SELECT value FROM "k".assay_pair WHERE a = ?`},
		{ranged, `SELECT value FROM "k".assay_pair WHERE a = ? AND b >= ?`},
		{count, `SELECT count(*), sum(value) FROM "k".assay_pair WHERE a = ?`},
		{update, `UPDATE "k".assay_entity SET label = ? WHERE id = ?`},
		{store.Statement{Name: "s", Verb: store.Delete, Table: "pair", Where: store.Where("a", "b")}, `DELETE FROM "k".assay_pair WHERE a = ? AND b = ?`},
		{store.Statement{Name: "s", Verb: store.Put, Table: "pair", Columns: []string{"a", "b", "value"}}, `INSERT INTO "k".assay_pair (a, b, value) VALUES (?, ?, ?)`},
		{read("candle", "id"), "not together"},
		{read("candle", "market"), "not together"},
		{wrongWay, "not together"},
		{limited, "not together"},
		{all, "not together"},
		{increase, "from what is there"},
		{store.Statement{Name: "s", Verb: store.Delete, Table: "candle", Where: store.Where("id")}, "indexes"},
		{store.Statement{Name: "s", Verb: store.Delete, Table: "pair", Where: store.Where("a")}, "not together"},
	} {
		p, err := trial().compile(&c.statement)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case p.query != nil:
			got = p.query.text
		case p.inserts != nil:
			got = p.inserts[0].text
		default:
			got = p.write
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s\nwant %s", c.statement, got, c.want)
		}
	}
}

// TestParts asks only for the parts that a range touches.
func TestParts(t *testing.T) {
	backwards := spanStatement()
	backwards.Descending = true
	for _, c := range []struct {
		statement store.Statement
		from, to  int64
		want      []int64
	}{
		{spanStatement(), 5, 31, []int64{0, 1, 2, 3}},
		{spanStatement(), 10, 20, []int64{1}},
		{spanStatement(), -11, 1, []int64{-2, -1, 0}},
		{spanStatement(), 7, 7, nil},
		{spanStatement(), 7, 3, nil},
		{backwards, 5, 21, []int64{2, 1, 0}},
	} {
		p, err := trial().compile(&c.statement)
		expect.NoError(t, err)
		var got []int64
		if err := p.query.each(store.OfInts(c.from, c.to), func(values []any) error {
			if len(values) != 3 || values[1] != c.from || values[2] != c.to {
				t.Errorf("asked with %v", values)
			}
			got = append(got, values[0].(int64))
			return nil
		}); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("from %d to %d: parts %v, %v; want %v", c.from, c.to, got, err, c.want)
		}
	}
}

// TestRow: another type, or NULL, is an error and no zero.
func TestRow(t *testing.T) {
	r := newRow(3)
	r.cells = []cell{{gocql.TypeBigInt, []byte{255, 255, 255, 255, 255, 255, 255, 254}}, {gocql.TypeVarchar, []byte{}}, {gocql.TypeBoolean, nil}}
	var n int64
	var flag bool
	text := "before"
	if err := r.Scan(&n, &text, nil); err != nil || n != -2 || text != "" {
		t.Errorf("%d %q %v", n, text, err)
	}
	for _, into := range [][]any{{&text, nil, nil}, {nil, &n, nil}, {nil, nil, &flag}, {&n, &text}} {
		if err := r.Scan(into...); err == nil {
			t.Errorf("%T was read from %+v", into, r.cells)
		}
	}
	if all, err := r.AppendValues(nil); err != nil || !slices.Equal(all, []any{int64(-2), "", nil}) {
		t.Errorf("%v, %v", all, err)
	}
}
