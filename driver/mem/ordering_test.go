package mem

import (
	"fmt"
	"slices"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// tickSchema is a table that is read by two indexes and by its key.
func tickSchema() store.Schema {
	return store.Schema{Workload: "ticks", Tables: []store.Table{{
		Name: "tick", Columns: append(store.Integers("id", "moment"), store.Column{Name: "ticker", Type: store.ASCII, Length: 8}),
		Indexes: []store.Index{{Name: "tick_moment", Columns: []string{"moment"}}, {Name: "tick_ticker", Columns: []string{"ticker", "moment"}},
			{Name: "tick_unread", Columns: []string{"ticker"}, Unread: true}},
	}}}
}

// TestStatementsVisitWhatTheyGive: what a statement looks at is bounded by its answer,
// however many rows there are.
func TestStatementsVisitWhatTheyGive(t *testing.T) {
	db := openSchema(t, "mem://", tickSchema())
	const tickers, moments = 50, 200
	rows := store.Rows{Table: "tick", Columns: []string{"id", "moment", "ticker"}, Count: tickers * moments,
		Row: func(i int, into []store.Value) []store.Value {
			return append(into, store.OfInt(int64(i)), store.OfInt(int64(i/tickers)), store.OfText(string(rune('A'+i%tickers))))
		}}
	expect.NoError(t, db.Load(t.Context(), rows))
	ticker := compared("ticker", store.Equal, 1)
	read := func(where ...store.Condition) store.Statement {
		return store.Statement{Verb: store.Read, Table: "tick", Columns: []string{"id"}, Where: where}
	}
	latest := read(ticker)
	latest.Order, latest.Descending, latest.Limit = []string{"moment"}, true, store.Number(10)
	earliest := read(ticker)
	earliest.Order, earliest.Limit = []string{"ticker", "moment", "id"}, store.Number(2)
	downwards := read(ticker, compared("moment", store.AtLeast, 2), compared("moment", store.Below, 3))
	downwards.Order, downwards.Descending = []string{"moment"}, true
	scan := read(compared("id", store.AtLeast, 1))
	scan.Order, scan.Limit = []string{"id"}, store.Number(3)
	c := store.OfText("C")
	for name, q := range map[string]struct {
		statement store.Statement
		of        []store.Value
		want      []string // the first rows
		rows      int
	}{
		"latest":          {latest, []store.Value{c}, []string{"9952", "9902"}, 10},
		"earliest":        {earliest, []store.Value{c}, []string{"2", "52"}, 2},
		"interval":        {read(downwards.Where...), []store.Value{c, store.OfInt(20), store.OfInt(25)}, []string{"1002", "1052"}, 5},
		"downwards":       {downwards, []store.Value{c, store.OfInt(20), store.OfInt(25)}, []string{"1202", "1152"}, 5},
		"none":            {downwards, []store.Value{c, store.OfInt(300), store.OfInt(400)}, nil, 0},
		"from the end":    {downwards, []store.Value{c, store.OfInt(198), store.OfInt(400)}, []string{"9952", "9902"}, 2},
		"span":            {read(compared("moment", store.AtLeast, 1), compared("moment", store.Below, 2)), store.OfInts(20, 22), []string{"1000", "1001"}, 2 * tickers},
		"scan":            {scan, store.OfInts(5000), []string{"5000", "5001", "5002"}, 3},
		"scan to the end": {scan, store.OfInts(9998), []string{"9998", "9999"}, 2},
	} {
		n := sessionOf(t, db, q.statement)
		visited := func() (all int64) {
			for _, o := range db.relations["tick"].orders {
				all += o.visited
			}
			return all
		}
		before := visited()
		var got []string
		if r := n.Run(t.Context(), store.Call{Parameters: q.of, Row: collect(&got)}); r.Outcome != history.Committed {
			t.Fatalf("%s: %v", name, r.Err)
		}
		if n := visited() - before; len(got) != q.rows || n > int64(q.rows)+1 || n == 0 && q.rows > 0 || !slices.Equal(got[:len(q.want)], q.want) {
			t.Errorf("%s: %d rows %q, %d visited; want %d rows %q", name, len(got), got, n, q.rows, q.want)
		}
	}
	if n := len(db.relations["tick"].orders); n != 3 {
		t.Errorf("%d orders are kept, for statements that ask for 3", n)
	}
}

// TestScansVisitWhatTheyGiveBetweenInserts is the same while rows are inserted.
func TestScansVisitWhatTheyGiveBetweenInserts(t *testing.T) {
	db := openSchema(t, "mem://", store.Schema{Tables: []store.Table{{Name: "row", Columns: store.Integers("id")}}})
	const limit = 3
	n := sessionOf(t, db,
		store.Statement{Verb: store.Insert, Table: "row", Columns: []string{"id"}},
		store.Statement{Verb: store.Read, Table: "row", Columns: []string{"id"}, Where: []store.Condition{compared("id", store.AtLeast, 1)}, Order: []string{"id"}, Limit: store.Number(limit)})
	byKey := db.relations["row"].orders[0]
	for key := range int64(1000) {
		at := 2 * (999 - key)
		if r := n.Run(t.Context(), store.Call{Statement: 0, Parameters: store.OfInts(at)}); r.Outcome != history.Committed {
			t.Fatal(r.Err)
		}
		before := byKey.visited
		var found []string
		r := n.Run(t.Context(), store.Call{Statement: 1, Parameters: store.OfInts(at - 1), Row: collect(&found)})
		if visited := byKey.visited - before; r.Outcome != history.Committed || visited > limit+1 || len(found) != min(limit, int(key)+1) || found[0] != fmt.Sprint(at) {
			t.Fatalf("%d rows: found %v, visited %d, %v", key+1, found, visited, r.Err)
		}
	}
}
