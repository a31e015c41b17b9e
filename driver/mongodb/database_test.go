package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	cluster "assay/cluster/mongodb"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// trialSchema has a table of each form.
func trialSchema() store.Schema {
	return store.Schema{Workload: "trial", Transactions: true, Judged: true, Tables: []store.Table{
		{Name: "account", Columns: store.Integers("id", "balance", "version"), Floors: []store.Minimum{{Column: "balance"}}},
		{Name: "transfer", Columns: append(store.Integers("id", "source"), store.Column{Name: "source_version", Derived: true})},
		{Name: "list", Columns: []store.Column{{Name: "id"}, {Name: "elements", Type: store.Ints}}},
		{Name: "thing", Columns: []store.Column{{Name: "id", Type: store.UUID}, {Name: "small", Narrow: true}, {Name: "is", Type: store.Boolean}, {Name: "text", Type: store.String}}},
		{Name: "orders", Columns: store.Integers("o_w", "o_d", "o_id", "customer", "operation"), KeyColumns: 3, Indexes: []store.Index{
			{Name: "by_customer", Columns: []string{"o_w", "o_d", "customer", "o_id"}, Late: true},
			{Name: "by_operation", Columns: []string{"operation"}, Unique: true}}},
		{Name: "line", Columns: store.Integers("l_w", "l_d", "l_o", "number", "amount"), KeyColumns: 4, Within: "orders"},
	}}
}

func trialTable(name string) *store.Table {
	schema := trialSchema()
	return schema.Table(name)
}

// trial is a Database that is opened, empty and dropped at the end.
type trial struct {
	*testing.T
	db      store.Database
	session store.Session
}

func newTrial(t *testing.T, address string, schema store.Schema) *trial {
	t.Helper()
	db, err := Open(t.Context(), store.Target{Address: address, ConnectTimeout: 20 * time.Second}, schema)
	expect.NoError(t, err)
	expect.AtEnd(t, func() error {
		return errors.Join(db.Settle(context.Background()), db.Drop(context.Background()), db.Close())
	})
	expect.NoError(t, db.Create(t.Context(), store.Marker{}))
	return &trial{T: t, db: db}
}

// use has the session do these statements.
func (t *trial) use(statements ...store.Statement) {
	t.Helper()
	for i := range statements {
		statements[i].Name = fmt.Sprintf("s%d", i)
	}
	session, err := t.db.Session(t.Context(), statements)
	expect.NoError(t, err)
	t.Cleanup(session.Close)
	t.session = session
}

func (t *trial) load(table string, rows ...[]int64) {
	t.Helper()
	of := trialTable(table)
	err := t.db.Load(t.Context(), store.Rows{Table: table, Columns: of.Names(), Count: len(rows), Row: func(i int, into []store.Value) []store.Value {
		return append(into, store.OfInts(rows[i]...)...)
	}})
	expect.NoError(t, err)
}

// collect gives rows as one text.
func collect(into *strings.Builder) func(store.Row) error {
	return func(row store.Row) error {
		values, err := row.AppendValues(nil)
		fmt.Fprint(into, values)
		return err
	}
}

// run does one statement, and says what it gave.
func (t *trial) run(statement int, parameters ...store.Value) (string, store.Reply) {
	var given strings.Builder
	r := t.session.Run(t.Context(), store.Call{Statement: statement, Parameters: parameters, Row: collect(&given)})
	return given.String(), r
}

// gives checks what a statement gives, and that it was committed.
func (t *trial) gives(want string, statement int, parameters ...store.Value) {
	t.Helper()
	if got, r := t.run(statement, parameters...); got != want || r.Outcome != history.Committed {
		t.Errorf("statement %d of %v gave %s, %+v; want %s", statement, parameters, got, r, want)
	}
}

// changes checks how many rows a statement has changed.
func (t *trial) changes(want int64, statement int, parameters ...store.Value) {
	t.Helper()
	if _, r := t.run(statement, parameters...); r.Affected != want || r.Outcome != history.Committed {
		t.Errorf("statement %d of %v changed %d rows, %+v; want %d", statement, parameters, r.Affected, r, want)
	}
}

func (t *trial) views() map[string]func(context.Context, func(store.Reader) error) error {
	return map[string]func(context.Context, func(store.Reader) error) error{"view": t.db.View, "audit": t.db.Audit}
}

// stands checks a whole table, in a View and in an Audit.
func (t *trial) stands(want, table string) {
	t.Helper()
	of := trialTable(table)
	for name, view := range t.views() {
		var found strings.Builder
		err := view(t.Context(), func(r store.Reader) error {
			return store.Whole(t.Context(), r, store.Statement{Table: table, Columns: of.Names(), Order: of.Key()}, collect(&found))
		})
		if err != nil || found.String() != want {
			t.Errorf("%s of %s: %s, %v; want %s", name, table, found.String(), err, want)
		}
	}
}

func testDatabase(t *testing.T, set *cluster.ReplicaSet) {
	for name, test := range map[string]func(*trial){
		"swallowed": testSwallowed, "types": testTypes, "upsert race": testUpsertRace,
		"elements": testElements, "views": testViews, "altered fields": testAlteredFields, "compiled": testCompiled,
	} {
		t.Run(name, func(t *testing.T) { test(newTrial(t, set.Address(), trialSchema())) })
	}
	t.Run("alone", func(t *testing.T) { testAlone(t, set) })
}

// testStore runs what every driver passes.
func testStore(t *testing.T, set *cluster.ReplicaSet) {
	plain := plainClient(t, set.Address())
	at := func(address string) store.Target {
		return store.Target{Address: "mongodb://" + address + "/?directConnection=true", ConnectTimeout: 20 * time.Second}
	}
	drivertest.RunStore(t, drivertest.Store{
		Open: Open, Lacks: Lacks(), Target: at(set.Node(0).Address()),
		Others: func(workload string) []drivertest.Other {
			return others(plain.Database("assay_"+workload), conformanceTable(workload))
		},
		MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
			database := plain.Database("assay_" + workload)
			makeForeign(t, database)
			return func(t *testing.T) { foreignIntact(t, database) }
		},
		Server:       set.Node(0).Address(),
		Via:          at,
		CommitMarker: []byte("commitTransaction"), Confirms: true,
		Restart: func(t *testing.T) { restart(t, set) },
		Engines: []string{"zlib"},
	})
}

// testWorkloads does a short run of each workload.
func testWorkloads(t *testing.T, set *cluster.ReplicaSet) {
	drivertest.ShortRuns(t, store.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second}, supports()...)
}

// conformanceTable is a table of the suite's.
func conformanceTable(workload string) string {
	if workload == drivertest.Conformance {
		return "account"
	}
	return "record"
}

// testSwallowed: a transaction of which one statement was refused commits nothing, though its
// work says nothing of that.
func testSwallowed(t *trial) {
	t.load("account", []int64{1, 10, 0})
	t.use(store.Statement{Verb: store.Update, Table: "account", Where: store.Where("id"), Set: []store.Assignment{store.Add("balance", store.Parameter(2))}})
	r := t.session.Transaction(t.Context(), true, func(ctx context.Context, x store.Transaction) error {
		for _, by := range []int64{1, -20, 2} {
			_, _ = x.Do(ctx, 0, nil, store.OfInts(1, by)...)
		}
		return nil
	})
	if r.Outcome != history.Failed || r.Violated != store.Floor || r.Broken {
		t.Errorf("%+v", r)
	}
	t.stands("[1 10 0]", "account")
}

func testTypes(t *trial) {
	t.use(
		store.Statement{Verb: store.Insert, Table: "thing", Columns: []string{"text", "is", "small", "id"}, Rows: 2},
		store.Statement{Verb: store.Update, Table: "thing", Where: store.Where("id"), Set: []store.Assignment{store.Add("small", store.Number(1)), store.Set("text", store.Parameter(2))}},
		store.Statement{Verb: store.Read, Table: "thing", Columns: []string{"small", "is", "text", "id"}, Order: []string{"id"}, Descending: true, Limit: store.Number(1)},
		store.Statement{Verb: store.Read, Table: "thing", Columns: []string{"text"}, Order: []string{"small"}, Limit: store.Parameter(1)},
	)
	first, second := slices.Repeat([]byte{1}, 16), slices.Repeat([]byte{2}, 16)
	t.changes(2, 0, store.OfText("$a"), store.OfBool(true), store.OfInt(-1), store.OfBytes(second), store.OfText(""), store.OfBool(false), store.OfInt(7), store.OfBytes(first))
	t.changes(1, 1, store.OfBytes(second), store.OfText("$b"))
	var small int
	t.gives("[$b][]", 3, store.OfInt(2))
	r := t.session.Run(t.Context(), store.Call{Statement: 2, Want: 1, Row: func(row store.Row) error { return row.Scan(nil, nil, &small) }})
	if r.Outcome != history.Failed {
		t.Errorf("a text was read as a number: %+v", r)
	}
	document, err := t.db.(*database).collections[3].FindOne(t.Context(), bson.D{{Key: "text", Value: "$b"}}).Raw()
	if err != nil || document.Lookup("small").Type != bson.TypeInt32 {
		t.Errorf("it is stored as %v, %v", document, err)
	}
}
