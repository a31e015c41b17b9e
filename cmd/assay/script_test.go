package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// example is the path of an example.
func example(name string) string { return filepath.Join("..", "..", "examples", name) }

// TestScriptExamples runs the examples on a real server: the bank caught where two
// transfers can read the same balance, which the level allows, and valid where they cannot; no job of the queue is
// taken twice; pgbench's transaction keeps its sums.
func TestScriptExamples(t *testing.T) {
	t.Parallel()
	address, decided := databaseOf(t, "examples"), []int{exitValid, exitNoVerdict} // the machine may be busy
	run := func(codes []int, verdict string, args ...string) {
		t.Helper()
		args = append([]string{"run", "script"}, args...)
		args = append(args, "--db", address, "--clients", "8", "--ops", "500", "--out", filepath.Join(t.TempDir(), "run"), "--quiet")
		if e := assay(t, ".", args...).want(t, codes...); !strings.Contains(e.stdout, "script: "+verdict) {
			t.Errorf("%v: %v", args, e)
		}
	}
	// All transfers meet, not all in both accounts.
	run([]int{exitValid}, "allowed", example("bank.star"), "--define", "accounts=4", "--pause", "3", "--isolation", "read committed")
	run(decided, "valid", example("bank.star"), "--isolation", "serializable")
	run(decided, "valid", example("queue.star"))
	run(decided, "valid", example("pgbench.sql"), "--setup", example("pgbench-setup.sql"), "--define", "scale=1")
}

// TestOnDocuments has a MongoDB for all that scripts and seeded bugs do there.
func TestOnDocuments(t *testing.T) {
	t.Parallel()
	server := serverFor(t, "mongodb:1")
	t.Run("scripts", func(t *testing.T) { testScriptOnDocuments(t, server) })
	t.Run("seeded bugs", func(t *testing.T) { testSeededOnMongoDB(t, server) })
}

// testScriptOnDocuments: a script in SQL is refused there, and one of documents where SQL is spoken,
// with the place and what to use; nothing is left of it.
func testScriptOnDocuments(t *testing.T, server *documentedServer) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ address, want string }{
		"bank.star":         {server.address, `bank.star:28:10: invariant "money": a query in SQL is for databases that speak SQL, and this one has documents; use aggregate(collection, pipeline)`},
		"pgbench.sql":       {server.address, "pgbench.sql:1:1: a script in pgbench's language is for databases that speak SQL"},
		"bank-mongodb.star": {"sqlite:" + filepath.Join(dir, "refused.db"), `bank-mongodb.star:28:10: invariant "money": aggregate is for databases of documents, and this one speaks SQL; use a query in SQL`},
	} {
		given := []string{"run", "script", example(name), "--db", c.address, "--out", filepath.Join(dir, "refused")}
		if strings.HasSuffix(name, ".sql") {
			given = append(given, "--define", "scale=1")
		}
		expect.Text(t, name, assay(t, ".", given...).want(t, exitUsage).complaint(t), c.want)
		if _, err := os.Stat(filepath.Join(dir, "refused")); err == nil {
			t.Errorf("%s: a folder was left", name)
		}
	}
}

// testSeededOnMongoDB: what is seeded in a workload on MongoDB is found there, and nothing
// is where nothing was seeded.
func testSeededOnMongoDB(t *testing.T, server *documentedServer) {
	dir := t.TempDir()
	for _, workload := range [][]string{
		{"smallbank", "lost-update", "--customers", "50", "--hotspot", "10", "--retry", "failed"},
		{"script", "half-done", example("bank-mongodb.star")},
	} {
		for bug, want := range map[string]check.Verdict{"": check.Valid, workload[1]: check.Violated} {
			folder := filepath.Join(dir, workload[0]+bug)
			args := append([]string{"run", workload[0], "--db", server.address, "--ops", "200", "--clients", "4", "--quiet", "--out", folder}, workload[2:]...)
			codes := []int{exitValid, exitNoVerdict}
			if bug != "" {
				args, codes = append(args, "--option", "bug="+bug+":0.2"), []int{exitViolated}
			}
			e := assay(t, ".", args...).want(t, codes...)
			if r := resultOf(t, folder); r.Verdict != want || r.Outcomes.Committed == 0 {
				t.Errorf("%s with the bug %q: %v, %+v: %v", workload[0], bug, r.Verdict, r.Outcomes, e)
			}
		}
	}
}

// ofOthers is a script that reads a table of another schema, and writes its own.
const ofOthers = `
def setup(db):
    db.exec("CREATE TABLE paid (id bigint PRIMARY KEY, amount bigint NOT NULL)")

def pay(tx, r):
    rate = tx.value("SELECT percent FROM elsewhere.rate WHERE id = 1")
    tx.expect(rate, equals = 7, what = "the rate")
    tx.exec("INSERT INTO paid (id, amount) VALUES ($1, $2)", r.id(), 100 * rate)

transaction("pay", run = pay)
counted("paid", transaction = "pay")
invariant("rates", "SELECT count(*) FROM elsewhere.rate", equals = 1)
`

// TestScriptReadsAnotherSchema: with --allow-foreign alone, and what is there stays as it
// was, also when assay clears what is its own.
func TestScriptReadsAnotherSchema(t *testing.T) {
	t.Parallel()
	address := databaseOf(t, "rates")
	owner := connect(t, address)
	execute(t, owner, "CREATE SCHEMA elsewhere")
	execute(t, owner, "CREATE TABLE elsewhere.rate (id bigint PRIMARY KEY, percent bigint)")
	execute(t, owner, "INSERT INTO elsewhere.rate VALUES (1, 7)")
	dir := t.TempDir()
	writeFile(t, ofOthers, dir, "pay.star")
	args := []string{"run", "script", "pay.star", "--db", address, "--clients", "2", "--ops", "100", "--quiet", "--out", "run"}
	text := assay(t, dir, args...).want(t, exitUsage).complaint(t)
	if want := "pay.star:12:10: invariant \"rates\": elsewhere.rate lies outside of assay's schema"; !strings.Contains(text, want) {
		t.Errorf("%q does not say %q", text, want)
	}
	for _, folder := range []string{"first", "second"} { // which clears what the first has left, and is dropped
		args[len(args)-1] = folder
		assay(t, dir, append(args, "--allow-foreign", "--drop")...).want(t, exitValid, exitNoVerdict)
		if r := resultOf(t, filepath.Join(dir, folder)); r.Verdict != check.Valid || r.Outcomes.Committed != 100 {
			t.Errorf("the verdict is %v, outcomes %+v", r.Verdict, r.Outcomes)
		}
	}
	var rows, percent, schemas int
	err := owner.QueryRow(patiently(t), `SELECT count(*), min(percent), (SELECT count(*) FROM pg_namespace WHERE nspname = 'assay_script') FROM elsewhere.rate`).
		Scan(&rows, &percent, &schemas)
	if err != nil || rows != 1 || percent != 7 || schemas != 0 {
		t.Errorf("the other schema has %d rates, %d percent, and there are %d schemas of assay's: %v", rows, percent, schemas, err)
	}
}

// TestScriptMeetsARestart: transactions of a script that a restarted server has lost or not
// are accounted for.
func TestScriptMeetsARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := assay(t, ".", "run", "script", example("bank.star"), "--cluster", "postgres:1", "--isolation", "serializable", "--retry", "failed", "--clients", "4",
		"--warmup", "200ms", "--duration", "3s", "--timeout", "5s", "--fault", "kill primary at 500ms for 1s", "--out", filepath.Join(dir, "run")).want(t, exitValid, exitNoVerdict)
	r := resultOf(t, filepath.Join(dir, "run"))
	if r.Verdict != check.Valid || len(r.Faults) != 1 || !r.Faults[0].Proven || r.Outcomes.Committed == 0 || r.Outcomes.Failed+r.Outcomes.Unknown == 0 {
		t.Errorf("the verdict is %v, faults %+v, outcomes %+v: %v", r.Verdict, r.Faults, r.Outcomes, e)
	}
}
