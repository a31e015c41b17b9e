package main

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/cluster/mariadb"
	"assay/cluster/postgres"
	"assay/internal/expect"
)

// TestACapturedRunIsReplayed: a run of pgbench, captured from the server's log and replayed
// on another database at ten times its pace and without pauses, leaves the same rows.
func TestACapturedRunIsReplayed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "server.log")
	server, err := postgres.Start(patiently(t), postgres.Options{Log: log, Password: password})
	expect.NoError(t, err)
	expect.AtEnd(t, server.Close)
	first := newDatabase(t, server, "first")
	pgbench(t, "-i", "-q", first)
	for _, name := range []string{"paced", "again", "fast"} {
		execute(t, connect(t, server.Address()), "CREATE DATABASE "+name+" TEMPLATE first")
	}
	execute(t, connect(t, server.Address()), "ALTER DATABASE first SET log_min_duration_statement = 0")
	pgbench(t, "-n", "-c", "3", "-t", "40", first)
	assay(t, dir, "capture", log, "-o", "r.replay").want(t, exitValid)
	want := contents(t, first, "public")
	for name, speed := range map[string]string{"paced": "10", "again": "10", "fast": "max"} {
		db := changed(t, server.Address(), func(u *url.URL) { u.Path = "/" + name })
		e := assay(t, dir, "run", "replay", "r.replay", "--db", db, "--use-existing", "--speed", speed, "--out", name)
		e.sound(t, filepath.Join(dir, name))
		keepsSecret(t, e, dir)
		r := resultOf(t, filepath.Join(dir, name))
		if r.Replay == nil || r.Replay.NewErrors+r.Replay.GoneErrors+r.Replay.Skipped > 0 || len(r.Replay.Statements) < 7 {
			t.Fatalf("%s: %+v", name, r.Replay)
		}
		got := contents(t, db, "public")
		for _, table := range []string{"pgbench_accounts", "pgbench_branches", "pgbench_tellers"} {
			if got[table] != want[table] {
				t.Errorf("%s: %s is another one", name, table)
			}
		}
	}
	e := assay(t, dir, "compare", "paced", "again")
	expect.Text(t, "compare", e.stdout, "update pgbench_accounts", "p50")
}

func pgbench(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if said, err := exec.CommandContext(ctx, "pgbench", args...).CombinedOutput(); err != nil {
		t.Fatalf("pgbench %v: %v: %s", args[:len(args)-1], err, said)
	}
}

// recorded is a recording of two sessions, with errors that come again, that are new, and
// that are gone; %s is the dialect. The value that may not be told is long: digits of a
// time or an id may not look like it.
const recorded = `{"recording":1,"dialect":"%s","sessions":2}
{"s":1,"t":0,"connect":"a@b"}
{"s":1,"t":10,"d":0.1,"q":"BEGIN"}
{"s":1,"t":11,"d":0.1,"q":"INSERT INTO stock (id, n) VALUES (7, 40)"}
{"s":1,"t":12,"d":0.1,"q":"UPDATE stock SET n = n - 1 WHERE id = 1"}
{"s":1,"t":13,"d":0.1,"q":"COMMIT"}
{"s":1,"t":14,"d":0.1,"q":"INSERT INTO stock (id, n) VALUES (1, 1947124711)","e":"duplicate key","c":"23505"}
{"s":1,"t":15,"d":0.1,"q":"INSERT INTO stock (id, n) VALUES (2, 1947124712)"}
{"s":1,"t":16,"d":0.1,"q":"INSERT INTO stock (id, n) VALUES (8, 1)","e":"duplicate key","c":"23505"}
{"s":1,"t":30,"disconnect":true}
{"s":2,"t":2000,"connect":"a@b"}
{"s":2,"t":2001,"d":0.1,"q":"BEGIN"}
{"s":2,"t":2002,"d":0.1,"q":"DELETE FROM stock"}
{"s":2,"t":2003,"d":0.1,"q":"ROLLBACK"}
{"s":2,"t":2004,"d":0.1,"q":"SELECT n FROM stock WHERE id = 1"}
`

// TestReplayedErrors: errors are held against those of the recording, and no values are told
// unless that is asked for. Without consent nothing is sent.
func TestReplayedErrors(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		address := newDatabase(t, startPostgres(t), "shop")
		testReplayedErrors(t, "postgres", address, func(text string) string {
			var found string
			conn := connect(t, address)
			if !strings.HasPrefix(text, "SELECT") {
				execute(t, conn, text)
				return ""
			}
			expect.NoError(t, conn.QueryRow(patiently(t), text).Scan(&found))
			return found
		})
	})
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		server, err := mariadb.Start(patiently(t), mariadb.Options{})
		expect.NoError(t, err)
		expect.AtEnd(t, server.Close)
		u, err := url.Parse(server.Address())
		expect.NoError(t, err)
		secret, _ := u.User.Password()
		db, err := sql.Open("mysql", fmt.Sprintf("%s:%s@tcp(%s)/", u.User.Username(), secret, u.Host))
		expect.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() }) // the server ends with the test
		db.SetMaxOpenConns(1)
		_, err = db.ExecContext(patiently(t), "CREATE DATABASE shop")
		expect.NoError(t, err)
		_, err = db.ExecContext(patiently(t), "USE shop")
		expect.NoError(t, err)
		testReplayedErrors(t, "mysql", changed(t, server.Address(), func(u *url.URL) { u.Path = "/shop" }), func(text string) (found string) {
			if !strings.HasPrefix(text, "SELECT") {
				_, err := db.ExecContext(patiently(t), text)
				expect.NoError(t, err)
				return ""
			}
			expect.NoError(t, db.QueryRowContext(patiently(t), text).Scan(&found))
			return found
		})
	})
}

func testReplayedErrors(t *testing.T, dialect, address string, sql func(string) string) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, fmt.Sprintf(recorded, dialect), dir, "r.replay")
	const rows = "SELECT concat(count(*), ' ', sum(n)) FROM stock"
	for _, speed := range []string{"1", "max"} {
		sql("DROP TABLE IF EXISTS stock")
		sql("CREATE TABLE stock (id int PRIMARY KEY, n int)")
		sql("INSERT INTO stock VALUES (1, 10), (2, 20)")
		start(t, command{dir: dir, args: []string{"run", "replay", "r.replay", "--db", address}}).wait().want(t, exitUsage)
		if now := sql(rows); now != "2 30" {
			t.Fatalf("without consent the rows are %s", now)
		}
		e := assay(t, dir, "run", "replay", "r.replay", "--db", address, "--use-existing", "--speed", speed, "--out", "at-"+speed).want(t, exitNoVerdict)
		expect.Text(t, speed, e.stderr, "reads stock", "writes stock")
		if now := sql(rows); now != "4 70" {
			t.Errorf("speed %s: the rows are %s", speed, now)
		}
		r := resultOf(t, filepath.Join(dir, "at-"+speed))
		if r.Verdict != check.Unknown || r.Replay.SameErrors != 1 || r.Replay.NewErrors != 1 || r.Replay.GoneErrors != 1 || len(r.Replay.Errors) != 1 {
			t.Errorf("speed %s: %v, %+v", speed, r.Verdict, r.Replay)
		}
		if len(r.Checks) != 2 || r.Checks[0].Name != "outcomes" || r.Checks[1].Name != recordCheck {
			t.Errorf("speed %s: the checks are %+v", speed, r.Checks)
		}
		for _, name := range []string{"result.json", "report.html"} {
			if strings.Contains(readFile(t, dir, "at-"+speed, name), "1947124712") {
				t.Errorf("speed %s: a value is in %s", speed, name)
			}
		}
	}
	sql("DELETE FROM stock WHERE id > 2")
	assay(t, dir, "run", "replay", "r.replay", "--db", address, "--use-existing", "--show-values", "--out", "shown").want(t, exitNoVerdict)
	expect.Text(t, "with values", readFile(t, dir, "shown", "result.json"), "1947124712")
}
