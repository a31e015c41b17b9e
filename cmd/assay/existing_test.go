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

// theirs is a database that somebody else has made: a usertable as YCSB makes it, with three
// hundred records, and another table beside it.
type theirs struct {
	address string
	// all is everything but the rows of usertable: definitions, and what is in other tables.
	all func() string
	// rows counts the records, and those whose fields are all as they were.
	rows func() (all, asTheyWere int)
}

// theirRecords is how many records there are.
const theirRecords = 300

// theirStatements make such a database, by SQL that SQLite and PostgreSQL have alike.
func theirStatements() []string {
	fields, values := "", ""
	for i := range 10 {
		fields += fmt.Sprintf(", FIELD%d TEXT", i)
		values += ", 'theirs'"
	}
	all := []string{"CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY" + fields + ")", "CREATE TABLE other (id INTEGER)", "INSERT INTO other VALUES (7)"}
	for n := range theirRecords {
		all = append(all, fmt.Sprintf("INSERT INTO usertable VALUES ('user%d'%s)", n, values))
	}
	return all
}

func theirSQLite(t *testing.T, dir string) theirs {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "theirs.db")+"?_pragma=busy_timeout(20000)")
	expect.NoError(t, err)
	expect.AtEnd(t, db.Close)
	for _, statement := range append([]string{"PRAGMA synchronous = off"}, theirStatements()...) {
		_, err := db.Exec(statement)
		expect.NoError(t, err)
	}
	return theirs{"sqlite:theirs.db", func() (all string) {
		expect.NoError(t, db.QueryRow("SELECT group_concat(sql, ';') || (SELECT sum(id) FROM other) FROM sqlite_schema").Scan(&all))
		return all
	}, func() (all, as int) {
		expect.NoError(t, db.QueryRow("SELECT count(*), "+unchanged+" FROM usertable").Scan(&all, &as))
		return all, as
	}}
}

// unchanged counts the records that nobody has changed.
const unchanged = `coalesce(sum(CASE WHEN field0 || field1 || field2 || field3 || field4 || field5 || field6 || field7 || field8 || field9 =
	'theirstheirstheirstheirstheirstheirstheirstheirstheirstheirs' THEN 1 ELSE 0 END), 0)`

func theirPostgres(t *testing.T) theirs {
	t.Helper()
	address := newDatabase(t, startPostgres(t), "theirs")
	conn := connect(t, address)
	for _, statement := range theirStatements() {
		execute(t, conn, statement)
	}
	one := func(query string, into ...any) {
		t.Helper()
		expect.NoError(t, conn.QueryRow(patiently(t), query).Scan(into...))
	}
	return theirs{address, func() (all string) {
		one(`SELECT (SELECT string_agg(n.nspname || '.' || relname || relfilenode, ';' ORDER BY c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
			WHERE nspname NOT LIKE 'pg_%' AND nspname <> 'information_schema') || (SELECT string_agg(nspname, ';' ORDER BY oid) FROM pg_namespace WHERE nspname NOT LIKE 'pg_%')
			|| (SELECT string_agg(attname, ';' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'usertable'::regclass) || (SELECT sum(id) FROM other)`, &all)
		return all
	}, func() (all, as int) {
		one("SELECT count(*), "+unchanged+" FROM usertable", &all, &as)
		return all, as
	}}
}

// TestExistingTables: a run on tables that assay did not make says before which it reads and
// writes, changes records alone, and leaves all else as it was: when it ends by itself, when
// it is interrupted, killed, or refused.
func TestExistingTables(t *testing.T) {
	t.Parallel()
	for _, product := range []string{"sqlite", "postgres"} {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var db theirs
			if product == "sqlite" {
				db = theirSQLite(t, dir)
			} else {
				db = theirPostgres(t)
			}
			before := db.all()
			file := filepath.Join("..", "..", "examples", "ycsb", "workloada")
			path, err := filepath.Abs(file)
			expect.NoError(t, err)
			run := func(out string, more ...string) command {
				args := append([]string{"run", "ycsb", "-P", path, "-p", "insertorder=ordered", "-p", fmt.Sprint("recordcount=", theirRecords), "--use-existing", "--out", out}, more...)
				return command{dir: dir, args: args, env: []string{"ASSAY_DB=" + db.address}, unwatched: true}
			}

			e := start(t, run("ends", "-p", "operationcount=200", "-p", "insertproportion=0.2")).wait().want(t, exitValid)
			expect.Text(t, "before it begins", unwrapped(e.stderr), "existing tables: reads usertable; writes usertable. Nothing is made, loaded, marked, altered or dropped", "No lease keeps other runs")
			r := resultOf(t, filepath.Join(dir, "ends"))
			expect.Text(t, "the notes", strings.Join(r.RunNotes, "\n"), "existing table; records not written by this run were not judged")
			all, as := db.rows()
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
				expect.Text(t, want, start(t, run("refused", more...)).wait().want(t, exitUsage).complaint(t), want)
			}
			if after := db.all(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
		})
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
