package main

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"assay/application"
	"assay/check"
	"assay/cluster/postgres"
	"assay/internal/expect"
)

// TestAnApplicationThatTriesForEver is never silent, and hangs all the same.
func TestAnApplicationThatTriesForEver(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "endless"))
	writeFile(t, `
import os, time, psycopg2
def ask(text):
    with psycopg2.connect(os.environ["DATABASE_URL"]) as connection, connection.cursor() as cursor:
        cursor.execute(text)
try:
    ask("INSERT INTO sale VALUES ('a', 1, 0)")
except psycopg2.Error:
    while True:
        ask("SELECT 1")
        time.sleep(0.1)
`, s.dir, "endless.py")
	e, r := s.app(t, "--time-limit", "60s", "--tries", "1", "--", "/usr/bin/python3", "endless.py")
	e.want(t, exitViolated)
	if len(r.Tries) != 2 || r.Tries[1].Happens != application.Hung || r.Tries[1].Verdict != check.Violated || r.Limit != 60 {
		t.Errorf("%v: %+v", e, r.Tries)
	}
	expect.Text(t, "the summary", unwrapped(e.stdout), "✗ hung", "s (--time-limit), and did not fall silent: it tries again for ever", "--time-limit 1m")
	for line := range strings.Lines(e.stdout) {
		if len([]rune(line)) > 81 && !strings.HasPrefix(line, "again ") {
			t.Errorf("a line is too long: %s", line)
		}
	}
}

// TestWhatIsBlockedEnds: a prepared transaction that was left behind keeps --reset and the invariants from
// their tables. Both are ended, with all that they have started (start sees to that).
func TestWhatIsBlockedEnds(t *testing.T) {
	t.Parallel()
	server, err := postgres.Start(patiently(t), postgres.Options{Password: password, Settings: []string{"max_prepared_transactions=2"}})
	expect.NoError(t, err)
	expect.AtEnd(t, server.Close)
	s := openShop(t, newDatabase(t, server, "blocked"))
	conn := connect(t, s.address)
	execute(t, conn, readFile(t, sample(t, "shop.sql")))
	execute(t, conn, "BEGIN; LOCK TABLE sale; PREPARE TRANSACTION 'left'")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"reset":      {[]string{"--reset", "sleep 1000 & psql -qc 'DROP TABLE sale'"}, "--reset \"sleep 1000 & psql -qc 'DROP TABLE sale'\" was ended by assay after"},
		"invariants": {s.rules, "a look at the invariants took longer than 3s, and assay ended that"},
	} {
		e := ends(t, command{dir: s.dir, env: s.env, args: append(append([]string{"app", "--time-limit", "3s", "--out", name}, c.args...), "--", "true")}).want(t, exitUsage)
		expect.Text(t, name, e.stderr, c.says, "pg_prepared_xacts", "--time-limit")
	}
}

// TestAClientThatAsksForAPasswordFails at once: it has no terminal, and waits for nobody.
func TestAClientThatAsksForAPasswordFails(t *testing.T) {
	t.Parallel()
	x := onTerminal(t, []string{"ASSAY_DB=" + databaseOf(t, "asks")}, "app", "--reset", "env -u PGPASSWORD psql -c 'SELECT 1'", "--time-limit", "1m", "--out", "out", "--", "true")
	code, text := x.end()
	expect.Text(t, "what is said", text, "--reset", "password")
	if code != exitUsage || strings.Contains(text, "was ended by assay") {
		t.Errorf("exit %d: %s", code, text)
	}
}

// TestServedForLong has more transactions than a recording keeps: each is in the file, and the figures agree.
func TestServedForLong(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "long"))
	served, through, _ := serveFor(t, s, "--out", "kept")
	u, err := url.Parse(through)
	expect.NoError(t, err)
	writeFile(t, "SELECT 1;\n", s.dir, "one.sql")
	bench := exec.Command("pgbench", "-n", "-c", "4", "-t", "26000", "-f", filepath.Join(s.dir, "one.sql"))
	secret, _ := u.User.Password()
	bench.Env = append(os.Environ(), "PGHOST="+u.Hostname(), "PGPORT="+u.Port(), "PGUSER="+u.User.Username(), "PGPASSWORD="+secret, "PGDATABASE="+u.Path[1:], "PGSSLMODE=disable")
	if said, err := bench.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	served.signal(syscall.SIGINT)
	e := served.wait().want(t, exitValid)
	var figures application.Untouched
	expect.NoError(t, json.Unmarshal([]byte(readFile(t, s.dir, "kept", "app.json")), &figures))
	lines := strings.Count(readFile(t, s.dir, "kept", "transactions.jsonl"), "\n")
	said, _, _ := strings.Cut(strings.ReplaceAll(e.stdout, ",", ""), " ")
	if n, err := strconv.Atoi(said); err != nil || n < 104_000 || n != lines || n != figures.Transactions || figures.Committed != n {
		t.Errorf("%d lines, and %+v: %v", lines, figures.Kinds, e)
	}
}

// serveFor starts a proxy, and returns the database's address through it and where tests set faults.
func serveFor(t *testing.T, s shop, args ...string) (served *process, through, control string) {
	t.Helper()
	served = start(t, command{dir: s.dir, watched: true, env: []string{"ASSAY_DB=" + s.address}, args: append([]string{"app", "--serve", "127.0.0.1:0", "--control", "127.0.0.1:0"}, args...)})
	served.until("for tests on http://")
	_, said, _ := strings.Cut(served.err.String(), "application on ")
	listens, said, _ := strings.Cut(said, ", and for tests on ")
	return served, changed(t, s.address, func(u *url.URL) { u.Host = listens }), strings.TrimSpace(said)
}

// TestAFailoverTakesNoWrites: all connections end, and those that are opened before it is over only read,
// which a client that looks for a primary sees.
func TestAFailoverTakesNoWrites(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "failover"))
	served, through, control := serveFor(t, s)
	test := exec.Command("/usr/bin/python3", "-c", `
import assay_faults, os, psycopg2
from psycopg2.errors import ReadOnlySqlTransaction
def connect(**more):
    return psycopg2.connect(os.environ["THROUGH"], **more)
def do(connection, text):
    with connection, connection.cursor() as cursor:
        cursor.execute(text)
def fails(of, does, *args, **more):
    try:
        does(*args, **more)
    except of as error:
        return str(error)
    raise SystemExit("no error: %s %s" % (args, more))
one, other = connect(), connect()
do(one, "CREATE TABLE t (n int)")
do(other, "SELECT 1")
with assay_faults.fault("read-only-10m", "commit", "INSERT INTO t"):
    fails(psycopg2.Error, do, one, "INSERT INTO t VALUES (1)")
    fails(psycopg2.Error, do, other, "SELECT 1")
    pooled = connect()
    for text in "SELECT 1", "RESET ALL":
        do(pooled, text)
        fails(ReadOnlySqlTransaction, do, pooled, "INSERT INTO t VALUES (2)")
    print(fails(psycopg2.OperationalError, connect, target_session_attrs="read-write"))
fails(psycopg2.Error, do, pooled, "SELECT 1")
last = connect(target_session_attrs="read-write")
do(last, "INSERT INTO t VALUES (4)")
with last.cursor() as cursor:
    cursor.execute("SELECT n FROM t")
    if cursor.fetchall() != [(4,)]:
        raise SystemExit("other rows are there")
with assay_faults.fault("read-only-1ms", "commit", "INSERT INTO t"):
    fails(psycopg2.Error, do, last, "INSERT INTO t VALUES (5)")
    for attempt in range(1000):
        try:
            do(connect(), "INSERT INTO t VALUES (6)")
            break
        except ReadOnlySqlTransaction:
            pass
    else:
        raise SystemExit("it does not end")
`)
	test.Env = append(os.Environ(), "PYTHONPATH="+filepath.Dir(sample(t, "assay_faults.py")), "PYTHONDONTWRITEBYTECODE=1", "THROUGH="+through, "ASSAY_CONTROL="+control)
	if said, err := test.CombinedOutput(); err != nil || !strings.Contains(string(said), "read-only") {
		t.Errorf("%v: %s", err, said)
	}
	served.signal(syscall.SIGINT)
	served.wait().want(t, exitValid)
}
