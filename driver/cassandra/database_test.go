package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

func openTrial(t *testing.T, address string) *database {
	t.Helper()
	opened, err := Open(t.Context(), store.Target{Address: address, ConnectTimeout: time.Minute}, testSchema())
	expect.NoError(t, err)
	d := opened.(*database)
	expect.AtEnd(t, func() error { return errors.Join(d.Drop(context.WithoutCancel(t.Context())), d.Close()) })
	return d
}

func testDatabase(t *testing.T, address string) {
	d := openTrial(t, address)
	if d.keyspace != "assay_trial" {
		t.Errorf("the keyspace is %s", d.keyspace)
	}
	if err := d.View(t.Context(), func(store.Reader) error { return nil }); !isNoSchema(err) {
		t.Errorf("a view of nothing: %v", err)
	}
	mark := store.Marker{Run: "trial", Workload: "trial", Created: time.Now().UTC()}
	if err := d.CreateOn(t.Context(), mark, "no such", true); err == nil {
		t.Error("an engine that is none was taken")
	}
	expect.NoError(t, d.CreateOn(t.Context(), mark, "zstd", true))
	t.Run("Records", func(t *testing.T) { testRecords(t, d) })
	t.Run("Indexes", func(t *testing.T) { testIndexes(t, d) })
	t.Run("Refused", func(t *testing.T) { testRefused(t, d) })
	expect.NoError(t, d.FinishLoad(t.Context()), d.Settle(t.Context()))
	if left, err := d.Find(t.Context()); err != nil || !left.Marker.Loaded || left.Rows != 60 {
		t.Errorf("%+v, %v", left, err)
	}
	if p := d.Promises(); p.Reads != store.Linearizable || p.Eventual {
		t.Errorf("%+v", p)
	}
}

func isNoSchema(err error) bool {
	var missing *store.NoSchemaError
	return errors.As(err, &missing)
}

// runs executes statements that must commit.
type runs struct {
	*testing.T
	session store.Session
}

func newRuns(t *testing.T, d *database, statements ...store.Statement) runs {
	t.Helper()
	session, err := d.Session(t.Context(), statements)
	expect.NoError(t, err)
	t.Cleanup(session.Close)
	return runs{t, session}
}

func (r runs) do(statement int, parameters ...store.Value) {
	r.Helper()
	if reply := r.session.Run(r.Context(), store.Call{Statement: statement, Parameters: parameters}); reply.Outcome != history.Committed || reply.Affected != 1 {
		r.Errorf("statement %d: %+v", statement, reply)
	}
}

// rows returns a statement's rows as text.
func (r runs) rows(statement int, parameters ...store.Value) (all []string) {
	r.Helper()
	reply := r.session.Run(r.Context(), store.Call{Statement: statement, Parameters: parameters, Row: func(row store.Row) error {
		values, err := row.AppendValues(nil)
		all = append(all, fmt.Sprint(values...))
		return err
	}})
	if reply.Outcome != history.Committed {
		r.Errorf("statement %d: %+v", statement, reply)
	}
	return all
}

func testRecords(t *testing.T, d *database) {
	all := []string{"id", "label", "amount", "flag"}
	id := store.OfBytes([]byte("0123456789abcdef"))
	r := newRuns(t, d,
		store.Statement{Name: "insert", Verb: store.Insert, Table: "entity", Columns: all},
		store.Statement{Name: "get", Verb: store.Read, Table: "entity", Columns: all, Where: store.Where("id")},
		store.Statement{Name: "update", Verb: store.Update, Table: "entity", Where: store.Where("id"),
			Set: []store.Assignment{store.Set("label", store.Parameter(2)), store.Set("amount", store.Number(-7)), store.Set("flag", store.Parameter(3))}},
		store.Statement{Name: "delete", Verb: store.Delete, Table: "entity", Where: store.Where("id")},
		store.Statement{Name: "put", Verb: store.Put, Table: "pair", Columns: []string{"a", "b", "value"},
			Values: []store.Expression{store.Parameter(1), store.Parameter(2), store.Number(5)}},
		store.Statement{Name: "several", Verb: store.Read, Table: "pair", Columns: []string{"b"}, Where: store.Where("a"), Order: []string{"b"}, Descending: true},
		store.Statement{Name: "sum", Verb: store.Count, Table: "pair", Columns: []string{"value"}, Where: store.Where("a")},
		store.Statement{Name: "of", Verb: store.Read, Table: "pair", Columns: []string{"b"}, Where: []store.Condition{{Column: "a", Is: store.In, Value: store.Parameter(1)}}},
	)
	want := func(name string, got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	const uuid = "30313233-3435-3637-3839-616263646566"
	want("nothing", r.rows(1, id))
	r.do(0, id, store.OfText(""), store.OfInt(1), store.OfBool(true))
	r.do(0, id, store.OfText("ä"), store.OfInt(2), store.OfBool(true))
	want("replaced", r.rows(1, id), uuid+"ä2 true")
	r.do(2, id, store.OfText("new"), store.OfBool(false))
	want("updated", r.rows(1, id), uuid+"new-7 false")
	r.do(3, id)
	want("deleted", r.rows(1, id))
	r.do(2, id, store.OfText("made"), store.OfBool(false))
	want("made by an update", r.rows(1, id), uuid+"made-7 false")
	for b := range int64(3) {
		r.do(4, store.OfInt(1), store.OfInt(b))
	}
	r.do(4, store.OfInt(2), store.OfInt(9))
	want("the last first", r.rows(5, store.OfInt(1)), "2", "1", "0")
	want("count and sum", r.rows(6, store.OfInt(1)), "3 15")
	want("count of none", r.rows(6, store.OfInt(8)), "0 0")
	if got := r.rows(7, store.OfKeys([]int64{1, 2, 3})); len(got) != 4 {
		t.Errorf("rows of several keys: %q", got)
	}
}

// candleRows are n rows at the moments 0, 1, 2 ... of the tickers A and B in turn.
func candleRows(n int) store.Rows {
	return store.Rows{Table: "candle", Columns: []string{"id", "moment", "ticker", "market"}, Count: n, Row: func(i int, into []store.Value) []store.Value {
		return append(into, store.OfInt(int64(i)), store.OfInt(int64(i)), store.OfText(string(rune('A'+i%2))), store.OfText("M"))
	}}
}

func testIndexes(t *testing.T, d *database) {
	r := newRuns(t, d, latestStatement(), spanStatement(), store.Statement{Name: "first", Verb: store.Read, Table: "candle", Columns: []string{"id"},
		Where: store.Where("ticker"), Limit: store.Number(1)})
	expect.NoError(t, d.Load(t.Context(), candleRows(30)))
	if reply := r.session.Insert(t.Context(), candleRows(60)); reply.Outcome != history.Committed { // half of them again
		t.Fatalf("%+v", reply)
	}
	if got := r.rows(0, store.OfText("B"), store.OfInt(3)); !slices.Equal(got, []string{"59 59", "57 57", "55 55"}) {
		t.Errorf("the last of a ticker: %q", got)
	}
	if got := r.rows(1, store.OfInt(8), store.OfInt(31)); len(got) != 23 || got[0] != "8" || got[22] != "30" {
		t.Errorf("a range: %q", got)
	}
	seen := map[int64]string{}
	err := d.View(t.Context(), func(v store.Reader) error {
		var id int64
		var ticker string
		return store.Whole(t.Context(), v, store.Statement{Table: "candle", Columns: []string{"id", "ticker"}}, func(row store.Row) error {
			err := row.Scan(&id, &ticker)
			seen[id] = ticker
			return err
		})
	})
	if err != nil || len(seen) != 60 || seen[59] != "B" {
		t.Errorf("%d rows were read, %v", len(seen), err)
	}
	enough := errors.New("enough")
	if err := d.View(t.Context(), func(v store.Reader) error {
		return v.Read(t.Context(), spanStatement(), func(store.Row) error { return enough }, store.OfInt(0), store.OfInt(60))
	}); !errors.Is(err, enough) {
		t.Errorf("a callback's error: %v", err)
	}
}

// testRefused: what did not end well is not committed, and such a read has failed.
func testRefused(t *testing.T, d *database) {
	r := newRuns(t, d, spanStatement())
	call := store.Call{Parameters: store.OfInts(0, 60), Want: 59, Row: func(store.Row) error { return nil }}
	if reply := r.session.Run(t.Context(), call); reply.Outcome != history.Failed || reply.Broken {
		t.Errorf("another number of rows: %+v", reply)
	}
	call.Want, call.Row = 0, func(row store.Row) error { return row.Scan(new(string)) }
	if reply := r.session.Run(t.Context(), call); reply.Outcome != history.Failed || reply.Broken {
		t.Errorf("rows of another type: %+v", reply)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if reply := r.session.Insert(over, candleRows(5)); reply.Outcome == history.Committed || reply.Err == nil {
		t.Errorf("a context that is over: %+v", reply)
	}
	for _, reply := range []store.Reply{r.session.Batch(t.Context(), &store.Batch{}), r.session.Transaction(t.Context(), true, nil)} {
		if reply.Outcome != history.Failed || reply.Err == nil {
			t.Errorf("a transaction: %+v", reply)
		}
	}
}
