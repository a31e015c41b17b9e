package mongodb

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	cluster "assay/cluster/mongodb"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// testElements: rows that lie in the documents of others.
func testElements(t *trial) {
	t.load("orders", []int64{1, 1, 1, 1, 1}, []int64{1, 1, 2, 1, 2}, []int64{2, 1, 1, 1, 3})
	t.load("line", []int64{1, 1, 1, 1, 10}, []int64{1, 1, 1, 2, 20}, []int64{1, 1, 2, 1, 30})
	line := trialTable("line")
	t.use(
		store.Statement{Verb: store.Insert, Table: "line", Columns: line.Names(), Rows: 2},
		store.Statement{Verb: store.Read, Table: "line", Columns: []string{"l_o", "amount"}, Where: store.Where("l_w", "l_d", "l_o")},
		store.Statement{Verb: store.Count, Table: "line", Columns: []string{"amount"}, Where: store.Where("l_w", "l_d")},
		store.Statement{Verb: store.Update, Table: "line", Where: store.Where("l_w", "l_d", "l_o", "number"), Set: []store.Assignment{store.Add("amount", store.Parameter(5))}},
		store.Statement{Verb: store.Update, Table: "line", Where: store.Where("l_w", "l_d"), Set: []store.Assignment{store.Set("amount", store.Parameter(3))}},
		store.Statement{Verb: store.Delete, Table: "line", Where: []store.Condition{{Column: "number", Is: store.AtLeast, Value: store.Number(2)}}},
		store.Statement{Verb: store.Read, Table: "line", Columns: []string{"l_w"}, Order: []string{"number", "l_w"}, Limit: store.Number(2),
			Where: []store.Condition{{Column: "amount", Is: store.AtLeast, Value: store.Number(0)}}},
		store.Statement{Verb: store.Delete, Table: "orders", Where: []store.Condition{{Column: "o_id", Is: store.AtLeast, Value: store.Number(2)}}},
	)
	t.changes(2, 0, store.OfInts(2, 1, 1, 1, 1, 2, 1, 1, 2, 2)...)
	t.gives("[1 10][1 20]", 1, store.OfInts(1, 1, 1)...)
	t.gives("[3 60]", 2, store.OfInts(1, 1)...)
	t.changes(1, 3, store.OfInts(1, 1, 1, 2, 5)...)
	t.stands("[1 1 1 1 10][1 1 1 2 25][1 1 2 1 30][2 1 1 1 1][2 1 1 2 2]", "line")
	t.changes(2, 4, store.OfInts(2, 1, 9)...)
	t.gives("[1][1]", 6)
	t.changes(2, 5)
	t.stands("[1 1 1 1 10][1 1 2 1 30][2 1 1 1 9]", "line")
	for _, rows := range [][]int64{{1, 1, 1, 3, 0, 1, 1, 1, 1, 0}, {1, 9, 1, 1, 0, 1, 9, 1, 2, 0}} {
		if _, r := t.run(0, store.OfInts(rows...)...); r.Outcome != history.Failed {
			t.Errorf("rows %v were inserted: %+v", rows, r)
		}
	}
	t.changes(1, 7)
	t.stands("[1 1 1 1 1][2 1 1 1 3]", "orders")
}

// testViews: rows of an Insert and a Load are all there or none, errors of a reader come
// back, and what is asked of a member is read.
func testViews(t *trial) {
	t.use()
	rows := func(ids ...int64) store.Rows {
		return store.Rows{Table: "account", Columns: []string{"version", "id", "balance"}, Count: len(ids),
			Row: func(i int, into []store.Value) []store.Value { return append(into, store.OfInts(0, ids[i], 1)...) }}
	}
	if r := t.session.Insert(t.Context(), rows(1, 2)); r.Outcome != history.Committed {
		t.Errorf("insert: %+v", r)
	}
	if r := t.session.Load(t.Context(), rows(3, 2)); r.Violated != store.Unique {
		t.Errorf("load: %+v", r)
	}
	t.stands("[1 1 0][2 1 0]", "account")
	stop := fmt.Errorf("stop")
	for name, view := range t.views() {
		err := store.ReadAll(t.Context(), view, func(r store.Reader) error {
			return store.Whole(t.Context(), r, store.Statement{Table: "account", Columns: []string{"id"}}, func(store.Row) error { return stop })
		})
		if err != stop {
			t.Errorf("%s: %v", name, err)
		}
	}
	replicated, is := store.As[store.Replicated](t.db)
	if !is {
		t.Fatal("it is not replicated")
	}
	members, unreachable, err := replicated.Replicas(t.Context())
	if err != nil || len(members) != 1 || len(unreachable) > 0 || !members[0].Primary {
		t.Fatalf("%v, %v, %v", members, unreachable, err)
	}
	count := int64(0)
	err = replicated.ViewReplica(t.Context(), members[0], func(r store.Reader) error {
		return r.Read(t.Context(), store.Statement{Name: "count", Verb: store.Count, Table: "account"}, func(row store.Row) error { return row.Scan(&count) })
	})
	if err != nil || count != 2 {
		t.Errorf("a member has %d rows, %v", count, err)
	}
}

// testAlteredFields: a field that nobody wrote, and one that is gone, null or of another type, is
// no row as it was written when everything is read back.
func testAlteredFields(t *trial) {
	t.load("account", []int64{1, 10, 0})
	t.load("orders", []int64{1, 1, 1, 1, 1})
	t.load("line", []int64{1, 1, 1, 1, 10})
	t.use(store.Statement{Verb: store.Append, Table: "list", Columns: []string{"id", "elements"}, Values: []store.Expression{store.Parameter(1), store.Parameter(2)}},
		store.Statement{Verb: store.Read, Table: "list", Columns: []string{"elements"}, Where: store.Where("id")})
	t.changes(1, 0, store.OfInts(1, 5)...)
	id := bson.D{{Key: "o_w", Value: int64(1)}, {Key: "o_d", Value: int64(1)}, {Key: "o_id", Value: int64(1)}}
	type field struct {
		collection string
		id         any
		table      string
		path       string
		was        any
	}
	whole := func(table string) error {
		columns := trialTable(table).Columns
		return store.ReadAll(t.Context(), t.db.View, func(r store.Reader) error {
			return store.Whole(t.Context(), r, store.Statement{Table: table, Columns: trialTable(table).Names()}, func(row store.Row) error {
				into := make([]any, len(columns))
				for i := range into {
					if into[i] = new(int64); columns[i].Type == store.Ints {
						into[i] = new([]int64)
					}
				}
				return row.Scan(into...)
			})
		})
	}
	alter := func(f field, by string, value any) {
		collection := t.db.(*database).database.Collection(f.collection)
		if r, err := collection.UpdateOne(t.Context(), byID(f.id), bson.D{{Key: by, Value: bson.D{{Key: f.path, Value: value}}}}); err != nil || r.MatchedCount != 1 {
			t.Errorf("%s %s: %+v, %v", by, f.path, r, err)
		}
	}
	for _, f := range []field{{"account", int64(1), "account", "note", nil}, {"orders", id, "orders", "note", nil}, {"orders", id, "line", "line.0.note", nil}} {
		expect.NoError(t, whole(f.table))
		alter(f, "$set", int64(7))
		if err := whole(f.table); err == nil || !strings.Contains(err.Error(), "note, which nobody wrote") {
			t.Errorf("%s with a field more: %v", f.table, err)
		}
		alter(f, "$unset", "")
	}
	for _, f := range []field{{"account", int64(1), "account", "balance", int32(-7)}, {"orders", id, "orders", "customer", int64(1)}, {"orders", id, "line", "line.0.amount", int64(1)},
		{"list", int64(1), "list", "elements", bson.A{int32(1), int64(2)}}} {
		alter(f, "$unset", nil)
		for _, value := range []any{nil, 99.5, "99", bson.A{int64(1), 2.5}, bson.A{"1"}} {
			if err := whole(f.table); err == nil {
				t.Errorf("%s: before %v, %s was read", f.table, value, f.path)
			}
			alter(f, "$set", value)
			if err := whole(f.table); err == nil || !strings.Contains(err.Error(), "is missing or of another type") {
				t.Errorf("%s where %s is %v: %v", f.table, f.path, value, err)
			}
		}
		if f.table == "list" {
			var elements []int64
			r := t.session.Run(t.Context(), store.Call{Statement: 1, Parameters: store.OfInts(1), Row: func(row store.Row) error { return row.Scan(&elements) }})
			if r.Outcome != history.Failed || r.Err == nil {
				t.Errorf("a session has read texts for numbers: %+v", r)
			}
		}
		alter(f, "$set", f.was)
		expect.NoError(t, whole(f.table))
	}
	t.gives("[[1 2]]", 1, store.OfInt(1))
}

// testCompiled: what cannot be done is refused before anything is.
func testCompiled(t *trial) {
	add := []store.Assignment{store.Add("balance", store.Number(1))}
	for name, s := range map[string]store.Statement{
		"native":         {Verb: store.Native, Text: "db.account.find()"},
		"many with rows": {Verb: store.Update, Table: "account", Columns: []string{"id"}, Set: add},
		"many to floors": {Verb: store.Update, Table: "account", Set: add},
		"key":            {Verb: store.Update, Table: "account", Where: store.Where("id"), Set: []store.Assignment{store.Set("id", store.Number(1))}},
		"part of a key":  {Verb: store.Put, Table: "orders", Columns: []string{"o_w", "customer"}},
		"no column":      {Verb: store.Read, Table: "account", Columns: []string{"nothing"}},
	} {
		if _, err := t.db.Session(t.Context(), []store.Statement{s}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if p := t.db.Promises(); p.Model != "snapshot-isolation" || len(t.db.Levels()) != 4 {
		t.Errorf("promises %+v, levels %v", p, t.db.Levels())
	}
}

// testAlone: statements without transactions.
func testAlone(tt *testing.T, set *cluster.ReplicaSet) {
	schema := store.Schema{Workload: "trial", Reads: true, Durable: true, Tables: []store.Table{
		{Name: "account", Columns: store.Integers("id", "balance", "version"), Indexes: []store.Index{{Columns: []string{"version"}}}}}}
	t := newTrial(tt, set.Address(), schema)
	names := schema.Tables[0].Names()
	t.use(
		store.Statement{Verb: store.Insert, Table: "account", Columns: names},
		store.Statement{Verb: store.Read, Table: "account", Columns: names, Where: []store.Condition{{Column: "id", Is: store.AtLeast, Value: store.Parameter(1)}}, Order: []string{"id"}, Limit: store.Parameter(2)},
		store.Statement{Verb: store.Update, Table: "account", Where: store.Where("version"), Set: []store.Assignment{store.Set("balance", store.Parameter(2))}},
		store.Statement{Verb: store.Update, Table: "account", Columns: []string{"balance"}, Where: store.Where("id"), Set: []store.Assignment{store.Add("balance", store.Number(1))}},
	)
	for id := range int64(5) {
		t.changes(1, 0, store.OfInts(id, 0, id%2)...)
	}
	if _, r := t.run(0, store.OfInts(1, 0, 0)...); r.Violated != store.Unique || r.Duplicate || !r.Inserted().Duplicate {
		t.Errorf("inserted twice: %+v", r)
	}
	t.changes(2, 2, store.OfInts(1, 8)...)
	t.gives("[9]", 3, store.OfInts(1)...)
	t.gives("", 3, store.OfInts(11)...)
	t.gives("[1 9 1][2 0 0]", 1, store.OfInts(1, 2)...)
	rows := store.Rows{Table: "account", Columns: names, Count: 3, Row: func(i int, into []store.Value) []store.Value {
		return append(into, store.OfInts(int64(i)+4, 0, 0)...)
	}}
	if r := t.session.Load(t.Context(), rows); r.Outcome != history.Unknown {
		t.Errorf("load of what is there in part: %+v", r)
	}
	if r := t.session.Transaction(t.Context(), true, nil); r.Outcome != history.Failed {
		t.Errorf("a transaction: %+v", r)
	}
	if p := t.db.Promises(); p.Atomic || p.Model != "" || t.db.Levels() != nil {
		t.Errorf("promises %+v", p)
	}
	compacting, is := store.As[store.Compacting](t.db)
	if !is {
		t.Fatal("it has no compaction")
	}
	if names, err := compacting.Compactions(); err != nil || compacting.Compact(t.Context(), names[0]) != nil {
		t.Errorf("compact: %v, %v", names, err)
	}
	t.stands("[0 0 0][1 9 1][2 0 0][3 8 1][4 0 0][5 0 0][6 0 0]", "account")
	if _, err := Open(t.Context(), store.Target{Address: set.Address(), Isolation: "snapshot", ConnectTimeout: time.Second}, schema); err == nil {
		t.Error("an isolation level was taken")
	}
}
