package runner

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/check"
	"assay/report"
	"assay/workload/script"
)

// listings declare the rows of a journal, in both languages.
func listings() map[string]script.Config {
	starlark := script.Defaults()
	starlark.File, starlark.Text = "f.star", `
def setup(db):
    db.exec("CREATE TABLE journal (id bigint PRIMARY KEY, amount bigint)")

def f(tx, r):
    tx.exec("INSERT INTO journal VALUES ($1, $2)", r.id(), r.range(1, 9))

transaction("f", run = f)
counted("journal", "f")
listed("journal", "f")
`
	pgbench := script.Defaults()
	pgbench.File, pgbench.Text = "f.sql", `
-- assay: counted journal:
-- assay: listed journal column id:
\set amount random(1, 9)
INSERT INTO journal VALUES (:operation_id, :amount);
`
	pgbench.Setup, pgbench.SetupText = "setup.sql", "CREATE TABLE journal (id bigint PRIMARY KEY, amount bigint);"
	return map[string]script.Config{"Starlark": starlark, "pgbench": pgbench}
}

// mustList runs both languages, with a foreign identifier put into a journal's row: the number of
// rows is right, and the list is not.
func mustList(t *testing.T, address func() string, execute func(statement string)) {
	for name, config := range listings() {
		for _, alter := range []bool{false, true} {
			s := small(address(), 3, 200)
			become(&s, script.Definition())
			s.Config = &config
			act := func() {
				if alter {
					execute("UPDATE journal SET id = 123456789 WHERE id = (SELECT max(id) FROM journal)")
				}
			}
			out := carryOutBy(t, s, Options{Progress: &intruder{stage: atReading, act: act}})
			want := check.Valid
			if alter {
				want = check.Violated
			}
			if got := verdictOf(out.Result, script.CheckListed); got != want || verdictOf(out.Result, script.CheckCounted) != check.Valid {
				t.Errorf("%s, altered %v: listed is %v: %s", name, alter, got, details(out.Result))
			}
			if again := recheck(t, out.Folder); verdictOf(again.Result, script.CheckListed) != want {
				t.Errorf("%s, altered %v, judged again: %s", name, alter, details(again.Result))
			}
		}
	}
}

func verdictOf(r *report.Result, name string) check.Verdict {
	for _, c := range r.Checks {
		if c.Name == name {
			return c.Verdict
		}
	}
	return check.Unknown
}

// TestListedOnSQLite finds a counted row replaced by another identifier.
func TestListedOnSQLite(t *testing.T) {
	t.Parallel()
	var path string
	mustList(t, func() string {
		path = filepath.Join(t.TempDir(), "file")
		return "sqlite:" + path
	}, func(statement string) { execute(t, path, statement) })
}

// TestListedOnPostgreSQL is the same there.
func TestListedOnPostgreSQL(t *testing.T) {
	t.Parallel() // it mostly waits
	c := onServers(t, "postgres:1,fsync=off")
	mustList(t, c.Address, func(statement string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conn, err := pgx.Connect(ctx, c.Address())
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, "SET search_path = assay_script; "+statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	})
}
