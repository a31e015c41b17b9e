package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/driver/sqldb"
	"assay/driver/sqlite"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/tpcc"
)

// column is a column of a table, as SQLite has it.
type column struct {
	table, name string
	text, key   bool
}

// columnsOf are all columns of all tables of a file but those of the mark.
func columnsOf(ctx context.Context, t *testing.T, path string) (all []column) {
	t.Helper()
	read(ctx, t, path, `SELECT s.name, c.name, c.type = 'TEXT', c.pk > 0 FROM sqlite_schema s JOIN pragma_table_info(s.name) c
		WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%' AND s.name NOT LIKE 'assay_mark%' ORDER BY s.name, c.cid`,
		func(rows *sql.Rows) error {
			var c column
			err := rows.Scan(&c.table, &c.name, &c.text, &c.key)
			all = append(all, c)
			return err
		})
	return all
}

func read(ctx context.Context, t *testing.T, path, query string, row func(*sql.Rows) error) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	expect.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(ctx, query)
	expect.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		expect.NoError(t, row(rows))
	}
	expect.NoError(t, rows.Err())
}

// alter executes a statement, which must change one row. ok is false if a key has the new
// value already.
func alter(ctx context.Context, t *testing.T, path, statement string) (ok bool) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	expect.NoError(t, err)
	defer db.Close()
	result, err := db.ExecContext(ctx, statement)
	if err != nil && strings.Contains(err.Error(), "UNIQUE") {
		return false
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v", statement, n, err)
	}
	return true
}

// rowsOf choose a row that was loaded and one that is the last, which the run has made
// where it makes any.
func rowsOf(of []column) map[string]string {
	var keys, order []string
	for _, c := range of {
		if c.key {
			keys = append(keys, c.name)
		}
		if strings.HasSuffix(c.name, "_operation") {
			order = []string{c.name}
		}
	}
	if order == nil {
		order = keys
	}
	choose := func(direction string) string {
		return fmt.Sprintf("(%[1]s) = (SELECT %[1]s FROM %[2]s ORDER BY %[3]s LIMIT 1)",
			strings.Join(keys, ", "), of[0].table, strings.Join(order, direction+", ")+direction)
	}
	return map[string]string{"first": choose(" ASC"), "last": choose(" DESC")}
}

// statementsOf alter each column of each table, remove a row of each, and add one: each
// with statements to be tried in turn, until no key is in the way.
func statementsOf(all []column) map[string][]string {
	statements := map[string][]string{}
	for len(all) > 0 {
		end := slices.IndexFunc(all, func(c column) bool { return c.table != all[0].table })
		if end < 0 {
			end = len(all)
		}
		of, table := all[:end], all[0].table
		all = all[end:]
		for which, where := range rowsOf(of) {
			var names, added []string
			for _, c := range of {
				to := []string{c.name + " + 1", c.name + " + 1000003"}
				if c.text {
					to = []string{fmt.Sprintf("CASE substr(%[1]s, 1, 1) WHEN 'x' THEN 'y' ELSE 'x' END || substr(%[1]s, 2)", c.name)}
				}
				for _, value := range to {
					name := fmt.Sprintf("%s.%s, %s row", table, c.name, which)
					statements[name] = append(statements[name], fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", table, c.name, value, where))
				}
				value := c.name
				if c.key || strings.HasSuffix(c.name, "_operation") {
					value += " + 1000003"
				}
				names, added = append(names, c.name), append(added, value)
			}
			statements[table+", "+which+" row removed"] = []string{"DELETE FROM " + table + " WHERE " + where}
			statements[table+", one more like the "+which] = []string{fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s WHERE %s",
				table, strings.Join(names, ", "), strings.Join(added, ", "), table, where)}
		}
	}
	return statements
}

// TestTPCCJudgesEveryColumn alters each column of each table, in a row that was loaded and
// in one that the run has made, removes a row of each table and adds one, and wants the
// judge to see each. The columns are those that the file has, so that none is forgotten.
func TestTPCCJudgesEveryColumn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tpcc.db")
	by := definition.SupportOf(tpcc.Definition(), sqlite.Open, sqldb.Lacks())
	run := drivertest.ShortRun{Workload: tpcc.Definition(), Config: &tpcc.Config{Warehouses: 2, Items: 100, Customers: 10, Loaders: 2}, Seed: 7, Clients: 2, Each: 60, Attempts: 20}
	history := filepath.Join(t.TempDir(), "history")
	// judged says which checks have this verdict.
	judged := func(verdict string, do func(db store.Database)) (checks []string) {
		db, err := by.Open(t.Context(), store.Target{Address: "sqlite:" + path})
		expect.NoError(t, err)
		defer db.Close()
		do(db)
		for _, r := range run.JudgeDone(t.Context(), t, db, history).Results {
			if r.Verdict.String() == verdict {
				checks = append(checks, r.Name)
			}
		}
		return checks
	}
	valid := judged("valid", func(db store.Database) {
		expect.NoError(t, run.Do(t.Context(), db, history))
	})
	if want := []string{tpcc.CheckConsistency, tpcc.CheckOrders, tpcc.CheckPayments, tpcc.CheckDeliveries, tpcc.CheckStock, tpcc.CheckAnswers}; !slices.Equal(valid, want) {
		t.Fatalf("nothing was altered, and valid are %v", valid)
	}
	saved, err := os.ReadFile(path)
	expect.NoError(t, err)
	all := columnsOf(t.Context(), t, path)
	statements := statementsOf(all)
	if len(all) < 90 || len(statements) < 2*len(all) {
		t.Fatalf("%d columns and %d changes are too few: %v", len(all), len(statements), all)
	}
	for what, tries := range statements {
		expect.NoError(t, os.WriteFile(path, saved, 0o644))
		if !slices.ContainsFunc(tries, func(statement string) bool { return alter(t.Context(), t, path, statement) }) {
			t.Errorf("%s: no statement could be done: %v", what, tries)
			continue
		}
		if violated := judged("violated", func(store.Database) {}); len(violated) == 0 {
			t.Errorf("%s: nothing is violated", what)
		}
	}
}
