package runner

import (
	"path/filepath"
	"testing"

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

// TestListed: with a foreign identifier put into a journal's row, in both languages, the number of
// rows is right, and the list is not.
func TestListed(t *testing.T) {
	t.Parallel()
	for name, config := range listings() {
		for _, alter := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "file")
			s := small("sqlite:"+path, 3, 200)
			become(&s, script.Definition())
			s.Config = &config
			act := func() {
				if alter {
					execute(t, path, "UPDATE journal SET id = 123456789 WHERE id = (SELECT max(id) FROM journal)")
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
