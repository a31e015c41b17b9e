package runner

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/runner/catalog"
	"assay/runner/readback"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// fewRows is a short run of a workload with tables of its own.
func fewRows(t *testing.T, w definition.Workload, database string) Scenario {
	t.Helper()
	switch w.Name {
	case churn.Name:
		return churning(database, 3)
	case bulkupdate.Name:
		return bulkUpdates(database, 3)
	case candles.Name:
		return smallCandles(database)
	}
	s := small(database, 3, 300)
	if w.Name == bank.Name {
		return s
	}
	become(&s, w)
	ofFewRows(t, &s, "")
	s.Database = database
	switch c := s.Config.(type) {
	case *availability.Config:
		s.Load.Rate, s.Load.Arrivals = 3000, availability.LoadDefaults().Arrivals
		s.Plan()
	case *entity.Config:
		c.Entities = 50
	case *isolation.Config:
		c.Test = "all"
	}
	return s
}

// TestTrustEveryColumn alters a value of each column of each table, in the first and the last row,
// between the run and the reading. The verdict must be violated, unless the workload does not judge
// the column.
func TestTrustEveryColumn(t *testing.T) {
	for _, w := range catalog.Workloads() {
		schema, err := w.Schema(store.Target{})
		expect.NoError(t, err)
		if schema.Open { // the user's own tables, of which the user's rules speak
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file")
			s := fewRows(t, w, "sqlite:"+path)
			out := carryOut(t, s)
			if v := out.Result.Verdict; v != check.Valid && v != check.Allowed {
				t.Fatalf("the run itself is %s: %s", v, details(out.Result))
			}
			columnsOf(t, w, s, out, path)
		})
	}
}

func columnsOf(t *testing.T, w definition.Workload, s Scenario, out Outcome, path string) {
	target := store.Target{Seed: s.Load.Seed}
	if c, chooses := s.Config.(definition.Targeting); chooses {
		c.Target(&target)
	}
	schema, err := w.Schema(target)
	expect.NoError(t, err)
	db, err := sql.Open("sqlite", path)
	expect.NoError(t, err)
	expect.AtEnd(t, db.Close)
	for _, table := range schema.Tables {
		for _, column := range table.Columns {
			named := slices.ContainsFunc(w.NotJudged, func(u definition.Unjudged) bool {
				return u.Table == table.Name && u.Column == column.Name && u.What == ""
			})
			for _, last := range []bool{false, true} {
				found := altered(t, db, &table, column.Name, last, func() bool { return convicts(t, s, out, path) })
				if found == named && (!last || !found) {
					t.Errorf("%s.%s: an altered value is found: %t (in the last row: %t); the workload says that the column is not judged: %t", table.Name, column.Name, found, last, named)
				}
			}
		}
	}
}

// altered alters a value in the first or last row, calls found, and restores it.
func altered(t *testing.T, db *sql.DB, table *store.Table, column string, last bool, found func() bool) bool {
	t.Helper()
	name := `"assay_` + table.Name + `"`
	key := table.Key()
	where := strings.Join(key, " = ? AND ") + " = ?"
	order := "1"
	if last {
		order += " DESC"
	}
	pick := fmt.Sprintf("SELECT %s, %s FROM %s WHERE %[2]s IS NOT NULL ORDER BY %s LIMIT 1", strings.Join(key, ", "), column, name, order)
	values := make([]any, len(key)+1)
	into := make([]any, len(values))
	for i := range values {
		into[i] = &values[i]
	}
	if err := db.QueryRowContext(t.Context(), pick).Scan(into...); err != nil {
		t.Errorf("%s.%s: %v", table.Name, column, err)
		return true
	}
	was := values[len(key)]
	now := otherThan(was, slices.Contains(key, column) || slices.ContainsFunc(table.Indexes, func(i store.Index) bool { return i.Unique && slices.Contains(i.Columns, column) }))
	identity := values[:len(key)]
	change := func(to any, of []any) {
		_, err := db.ExecContext(t.Context(), fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s", name, column, where), append([]any{to}, of...)...)
		if err != nil {
			t.Errorf("%s.%s = %v: %v", table.Name, column, to, err)
		}
	}
	change(now, identity)
	changed := slices.Clone(identity)
	if at := slices.Index(key, column); at >= 0 {
		changed[at] = now
	}
	defer func() { change(was, changed) }()
	return found()
}

// otherThan is another value of the type; for a key an unused one.
func otherThan(value any, key bool) any {
	switch v := value.(type) {
	case int64:
		if key {
			return v + 1_000_003
		}
		if v == 1 {
			return int64(0)
		}
		return v + 1
	case string:
		if strings.HasPrefix(v, "[") { // a list
			return "[987654321]"
		}
		if strings.HasPrefix(v, "x") {
			return "y" + v[min(1, len(v)):]
		}
		return "x" + v[min(1, len(v)):]
	case []byte:
		other := slices.Clone(v)
		other[len(other)-1] ^= 1
		return other
	default:
		return value
	}
}

type unasked struct{}

func (unasked) Confirm(context.Context) error               { return nil }
func (unasked) Reading(ctx context.Context) context.Context { return ctx }

func convicts(t *testing.T, s Scenario, out Outcome, path string) bool {
	t.Helper()
	folder := t.TempDir()
	text, err := os.ReadFile(filepath.Join(out.Folder, FileHistory))
	expect.NoError(t, err)
	expect.NoError(t, os.WriteFile(filepath.Join(folder, FileHistory), text, 0o600))
	work, err := openWork(t.Context(), s, "sqlite:"+path, 0)
	expect.NoError(t, err)
	unread, err := readback.Reading{Folder: folder, State: s.definition().State, MayBeEmpty: true, Progress: func(int64) {}}.Save(t.Context(), work, unasked{})
	if err = errors.Join(err, work.Close()); err != nil {
		t.Fatal(err)
	}
	judged, err := s.Config.Judge(t.Context(), s.Load.Seed, definition.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, s.definition().State), Promise: out.Result.Database.Promise})
	expect.NoError(t, err)
	return check.Combine(judged.Results) == check.Violated || unread.Rows > 0
}
