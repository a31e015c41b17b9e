package main

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

// theirRecords is how many records there are.
const theirRecords = 300

// theirTables are in a file that somebody else has made: a usertable as YCSB makes it, with three
// hundred records, and another table beside it.
func theirTables(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(20000)")
	expect.NoError(t, err)
	expect.AtEnd(t, db.Close)
	fields, values := "", ""
	for i := range 10 {
		fields += fmt.Sprintf(", FIELD%d TEXT", i)
		values += ", 'theirs'"
	}
	for _, statement := range []string{
		"PRAGMA synchronous = off", "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY" + fields + ")",
		"CREATE TABLE other (id INTEGER)", "INSERT INTO other VALUES (7)",
		fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO usertable SELECT 'user' || i%s FROM n", theirRecords-1, values),
	} {
		_, err := db.Exec(statement)
		expect.NoError(t, err)
	}
	return db
}

// unchanged counts the records that nobody has changed.
const unchanged = `coalesce(sum(CASE WHEN field0 || field1 || field2 || field3 || field4 || field5 || field6 || field7 || field8 || field9 =
	'theirstheirstheirstheirstheirstheirstheirstheirstheirstheirs' THEN 1 ELSE 0 END), 0)`

// TestExistingTables: a run on tables that assay did not make says before which it reads and
// writes, changes records alone, and leaves all else as it was: when it ends by itself, when
// it is interrupted, killed, or refused. Each driver's own tests have what else may hang on them.
func TestExistingTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := theirTables(t, filepath.Join(dir, "theirs.db"))
	others := func() (all string) { // but the rows of usertable
		expect.NoError(t, db.QueryRow("SELECT group_concat(sql, ';') || (SELECT sum(id) FROM other) FROM sqlite_schema").Scan(&all))
		return all
	}
	before := others()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", "ycsb", "workloada"))
	expect.NoError(t, err)
	run := func(out string, more ...string) command {
		args := append([]string{"run", "ycsb", "-P", path, "-p", "insertorder=ordered", "-p", fmt.Sprint("recordcount=", theirRecords), "--use-existing", "--out", out}, more...)
		return command{dir: dir, args: args, env: []string{"ASSAY_DB=sqlite:theirs.db"}}
	}

	e := ends(t, run("ends", "-p", "operationcount=200", "-p", "insertproportion=0.2")).want(t, exitValid)
	expect.Text(t, "before it begins", unwrapped(e.stderr), "existing tables: reads usertable; writes usertable. Nothing is made, loaded, marked, altered or dropped", "No lease keeps other runs")
	r := resultOf(t, filepath.Join(dir, "ends"))
	expect.Text(t, "the notes", strings.Join(r.RunNotes, "\n"), "existing table; records not written by this run were not judged")
	var all, as int
	expect.NoError(t, db.QueryRow("SELECT count(*), "+unchanged+" FROM usertable").Scan(&all, &as))
	if r.Verdict != check.Valid || all <= theirRecords || as == 0 || as >= theirRecords || r.Loading.Rows != 0 {
		t.Errorf("%v, of %d records %d are as they were", r.Verdict, all, as)
	}
	assay(t, dir, "check", "ends").want(t, exitValid)
	expect.NoError(t, os.Remove(filepath.Join(dir, "ends", "ycsb.bin")))
	text := assay(t, dir, "check", "ends").want(t, exitUsage).complaint(t)
	expect.Text(t, "read again", text, "existing tables, which others may have changed since")

	p := start(t, run("cut", "--duration", "1h"))
	p.until(working)
	p.signal(syscall.SIGINT)
	p.wait().want(t, exitNoVerdict)
	c := run("killed", "--duration", "1h")
	c.messy = true
	p = start(t, c)
	p.until(working)
	p.signal(syscall.SIGKILL)
	p.wait()

	for want, more := range map[string][]string{"column nokey is missing": {"--key-column", "nokey"}, "without --drop": {"--drop"}, "column field10 is missing": {"-p", "fieldcount=11"},
		"there is none of this name": {"-p", "table=nowhere"}} {
		expect.Text(t, want, ends(t, run("refused", more...)).want(t, exitUsage).complaint(t), want)
	}
	if after := others(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestWorkloadsWithoutExistingTables are refused by their names.
func TestWorkloadsWithoutExistingTables(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, workload := range []string{"bank", "tpcc", "availability"} {
		text := assay(t, dir, "run", workload, "--use-existing", "--db", "sqlite:"+url.PathEscape("x.db")).want(t, exitUsage).complaint(t)
		expect.Text(t, workload, text, `"for `+workload+`" is not possible here`, "ycsb")
	}
	expect.Text(t, "mem", assay(t, dir, "run", "ycsb", "--use-existing", "--db", "mem://").want(t, exitUsage).complaint(t), "--use-existing")
}
