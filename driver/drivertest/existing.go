package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// Existing is a database with tables of somebody else. usertable has a text key, the texts
// field0 and field1, and the record user1 with "one" and "two". order is the same table under a
// reserved word. crooked has no field1, and its field0 is no text.
type Existing struct {
	Open   store.Opener
	Target store.Target
	// Key is the name of the key column.
	Key string
	// Altered maps tables of usertable's form to a word about the thing, such as a trigger, that
	// alters their rows. Beside is a word about a thing on usertable that alters no rows.
	Altered map[string]string
	Beside  string
	// Others describes all definitions, and all rows but those of usertable and order.
	Others func(t *testing.T) string
}

func (e Existing) schema(table string) store.Schema {
	return store.Schema{Workload: "existing", Existing: true, Reads: true, Tables: []store.Table{{Name: table, Columns: []store.Column{
		{Name: e.Key, Type: store.ASCII, Length: 20}, {Name: "field0", Type: store.String, Length: 10}, {Name: "field1", Type: store.String, Length: 10},
	}}}}
}

// RunExisting tests that a driver works on tables that assay did not make, and that only the
// workload's statements change anything.
func RunExisting(t *testing.T, e Existing) {
	before := e.Others(t)
	t.Run("Shape", func(t *testing.T) {
		for table, differs := range map[string][]string{"crooked": {"field0", "field1"}, "nowhere": {"there is no"}} {
			db, err := e.Open(t.Context(), e.Target, e.schema(table))
			expect.NoError(t, err)
			_, err = store.OnExisting(t.Context(), db, e.Target, false)
			shape, is := errors.AsType[*store.ShapeError](err)
			if !is {
				t.Fatalf("%s: %v", table, err)
			}
			for _, name := range differs {
				if !strings.Contains(strings.ReplaceAll(shape.Error(), "is none", "is no"), name) {
					t.Errorf("%s: %q does not name %s", table, shape, name)
				}
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for table, word := range e.Altered {
		t.Run(table, func(t *testing.T) { e.altered(t, table, word) })
	}
	for _, table := range []string{"usertable", "order"} {
		t.Run("Work/"+table, func(t *testing.T) { e.work(t, table) })
	}
	if after := e.Others(t); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// altered wants the table refused if the workload writes it. It may be used if it is only read,
// or if the workload judges by rules of its own.
func (e Existing) altered(t *testing.T, table, word string) {
	db, err := e.Open(t.Context(), e.Target, e.schema(table))
	expect.NoError(t, err)
	defer db.Close()
	to := e.Target
	to.ReadOnly, to.Written = []string{table}, []string{table}
	_, err = store.OnExisting(t.Context(), db, to, false)
	if shape, is := errors.AsType[*store.ShapeError](err); !is || !strings.Contains(err.Error(), word) {
		t.Errorf("%v (%v) does not name %s", err, shape, word)
	}
	if used, err := store.OnExisting(t.Context(), db, to, true); err == nil {
		e.told(t, used, store.SettingAltering, word)
	} else if _, is := errors.AsType[*store.ShapeError](err); !is { // what it is may itself be refused
		t.Error(err)
	}
	to.Written = nil
	if used, err := store.OnExisting(t.Context(), db, to, false); err == nil {
		e.told(t, used, store.SettingAttached, word)
	}
}

func (e Existing) told(t *testing.T, db store.Database, setting, word string) {
	product, err := db.Describe(t.Context())
	expect.NoError(t, err)
	if !slices.ContainsFunc(product.Settings, func(s store.Setting) bool { return s.Name == setting && strings.Contains(s.Value, word) }) {
		t.Errorf("the setting %q does not name %q: %v", setting, word, product.Settings)
	}
}

func (e Existing) work(t *testing.T, table string) {
	schema := e.schema(table)
	db, err := e.Open(t.Context(), e.Target, schema)
	expect.NoError(t, err)
	defer db.Close()
	to := e.Target
	to.Written = []string{table}
	used, err := store.OnExisting(t.Context(), db, to, false)
	expect.NoError(t, err)
	if table == "usertable" && e.Beside != "" {
		e.told(t, used, store.SettingAttached, e.Beside)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	ok("take the lease", used.TakeLease(ctx, store.Holder{Token: "token", Run: "0f0f0f0f-run"}, time.Minute, ""))
	ok("create", used.Create(ctx, store.Marker{Run: "0f0f0f0f-run", Workload: "existing"}))
	mark, err := used.Marker(ctx)
	if ok("mark", err); mark == nil || mark.Run != "0f0f0f0f-run" {
		t.Errorf("the mark is %v", mark)
	}
	e.operate(ctx, t, used, &schema)
	ok("settle", used.Settle(ctx))
	var rows []string
	ok("view", used.View(ctx, func(r store.Reader) error {
		return r.Read(ctx, store.Statement{Name: "all", Verb: store.Read, Table: schema.Tables[0].Name, Columns: schema.Tables[0].Names()}, func(row store.Row) error {
			values, err := row.AppendValues(nil)
			rows = append(rows, fmt.Sprint(values))
			return err
		})
	}))
	slices.Sort(rows)
	if got, want := fmt.Sprint(rows), "[[user1 one new] [user2 a b]]"; got != want {
		t.Errorf("there are %s, not %s", got, want)
	}
	_, err = used.Describe(ctx)
	ok("describe", err)
	ok("release the lease", used.ReleaseLease(ctx, "token"))
	for what, err := range map[string]error{
		"drop": used.Drop(ctx), "load": used.Load(ctx, store.Rows{Table: schema.Tables[0].Name, Count: 1}), "finish": used.FinishLoad(ctx),
		"the driver's own drop": db.Drop(ctx),
	} {
		if _, is := errors.AsType[*store.NotOursError](err); !is {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func (e Existing) operate(ctx context.Context, t *testing.T, db store.Database, schema *store.Schema) {
	names := schema.Tables[0].Names()
	session, err := db.Session(ctx, []store.Statement{
		{Name: "insert", Verb: store.Insert, Table: schema.Tables[0].Name, Columns: names, Values: []store.Expression{store.Parameter(1), store.Parameter(2), store.Parameter(3)}},
		{Name: "update", Verb: store.Update, Table: schema.Tables[0].Name, Where: store.Where(e.Key), Set: []store.Assignment{store.Set("field1", store.Parameter(2))}},
		{Name: "read", Verb: store.Read, Table: schema.Tables[0].Name, Columns: names, Where: store.Where(e.Key)},
	})
	expect.NoError(t, err)
	defer session.Close()
	texts := func(all ...string) (values []store.Value) {
		for _, text := range all {
			values = append(values, store.OfText(text))
		}
		return values
	}
	var found []string
	row := func(row store.Row) error {
		values, err := row.AppendValues(nil)
		found = append(found, fmt.Sprint(values))
		return err
	}
	for _, call := range []store.Call{
		{Statement: 0, Parameters: texts("user2", "a", "b")}, {Statement: 1, Parameters: texts("user1", "new")},
		{Statement: 2, Parameters: texts("user1"), Row: row}, {Statement: 2, Parameters: texts("user2"), Row: row},
	} {
		if r := session.Run(ctx, call); r.Outcome != history.Committed {
			t.Fatalf("statement %d: %v", call.Statement, r.Err)
		}
	}
	if got, want := fmt.Sprint(found), "[[user1 one new] [user2 a b]]"; got != want {
		t.Errorf("read %s, not %s", got, want)
	}
	if db.Lacks()[store.UniqueKeys] == "" {
		if r := session.Run(ctx, store.Call{Statement: 0, Parameters: texts("user2", "a", "b")}); r.Violated != store.Unique || r.Outcome != history.Failed {
			t.Errorf("a second record of the key: %+v", r)
		}
	}
}
