package main

import (
	"encoding/json"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assay/application"
	"assay/cluster/mariadb"
	"assay/internal/expect"
)

// shop is a server with a database for the sample applications.
type shop struct {
	dir, address, reset, rules string
}

func openShop(t *testing.T, address string) shop {
	t.Helper()
	samples, err := filepath.Abs(filepath.Join("..", "..", "examples", "application"))
	expect.NoError(t, err)
	s := shop{dir: t.TempDir(), address: address, reset: "psql -q -f '" + filepath.Join(samples, "shop.sql") + "'", rules: filepath.Join(samples, "shop.star")}
	if strings.HasPrefix(address, "mysql:") {
		s.reset = `mariadb -u "$MYSQL_USER" "$MYSQL_DATABASE" < '` + filepath.Join(samples, "shop-mariadb.sql") + "'"
	}
	return s
}

// app runs an application through assay. The password comes by the environment.
func (s shop) app(t *testing.T, args ...string) (ended, application.Report) {
	t.Helper()
	e := start(t, command{dir: s.dir, env: []string{"ASSAY_DB=" + s.address}, unwatched: true,
		args: append([]string{"app", "--invariants", s.rules, "--reset", s.reset, "--seed", "5", "--out", "out"}, args...)}).wait()
	var r application.Report
	if text, err := os.ReadFile(filepath.Join(s.dir, "out", "app.json")); err == nil {
		expect.NoError(t, json.Unmarshal(text, &r))
	}
	return e, r
}

// TestApplications has the naive form of each sample be found, and the mended one pass every event.
func TestApplications(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	program := filepath.Join(t.TempDir(), "orders")
	if said, err := exec.Command("go", "build", "-o", program, filepath.Join("..", "..", "examples", "application", "orders", "main.go")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	python, err := filepath.Abs(filepath.Join("..", "..", "examples", "application", "orders.py"))
	expect.NoError(t, err)
	maria, err := mariadb.Start(patiently(t), mariadb.Options{Password: password})
	expect.NoError(t, err)
	expect.AtEnd(t, maria.Close)
	host, port, err := net.SplitHostPort(maria.Node(0).Address())
	expect.NoError(t, err)
	create := exec.Command("mariadb", "-h", host, "-P", port, "-u", "assay", "-e", "CREATE DATABASE shop")
	create.Env = append(os.Environ(), "MYSQL_PWD="+password)
	if said, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for name, c := range map[string]struct {
		address string
		sample  []string
	}{
		"psycopg2 on PostgreSQL":     {newDatabase(t, server, "python"), []string{"/usr/bin/python3", python}},
		"database/sql on PostgreSQL": {newDatabase(t, server, "golang"), []string{program}},
		"database/sql on MariaDB":    {changed(t, maria.Address(), func(u *url.URL) { u.Path = "/shop" }), []string{program}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, sample := openShop(t, c.address), c.sample
			e, r := s.app(t, append([]string{"--tries", "200", "--patience", "6s", "--late", "20s", "--"}, append(sample, "mended")...)...)
			e.want(t, exitValid)
			for _, try := range r.Tries {
				if try.Happens != application.Survived && try.Happens != application.Retried {
					t.Errorf("the mended form at %s: %s, %s", try.Event, try.Happens, try.Detail)
				}
			}
			if len(r.Tries) < 15 || r.Untouched.Committed != 6 {
				t.Errorf("%d tries of %d transactions", len(r.Tries), r.Untouched.Committed)
			}
			s.quiet(t)
			expect.NoError(t, os.RemoveAll(filepath.Join(s.dir, "out")))
			e, r = s.app(t, append([]string{"--tries", "2", "--"}, append(sample, "naive")...)...)
			e.want(t, exitViolated)
			expect.Text(t, "the summary", e.stdout, "✗ done twice", "--event answer-lost@")
			_, lost, _ := strings.Cut(e.stdout, "--event ")
			lost = strings.Fields(lost)[0]
			for event, happens := range map[string]string{lost: application.Twice, strings.Replace(lost, "answer-lost", "answer-silent", 1): application.Hung} {
				e, r = s.app(t, append([]string{"--event", event, "--patience", "3s", "--"}, append(sample, "naive")...)...)
				e.want(t, exitViolated)
				if len(r.Tries) != 2 || r.Tries[1].Event != event || r.Tries[1].Happens != happens {
					t.Errorf("%s again: %+v", event, r.Tries)
				}
			}
			s.quiet(t)
		})
	}
}

// quiet wants the password in no file.
func (s shop) quiet(t *testing.T) {
	t.Helper()
	expect.NoError(t, filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{password, "hunter2"} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s has the password", path)
			}
		}
		return err
	}))
}

// TestApplicationsThatCannotBeTried says why, and with which code.
func TestApplicationsThatCannotBeTried(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	s := openShop(t, newDatabase(t, server, "shop"))
	writeFile(t, "invariant('sold', 'SELECT 1 FROM nowhere', equals = 1)\n", s.dir, "wrong.star")
	writeFile(t, "invariant('sold'\n", s.dir, "broken.star")
	writeFile(t, "x = 1\n", s.dir, "none.star")
	address := "ASSAY_DB=" + s.address
	for name, c := range map[string]struct {
		env, shell string
		code       int
		says       string
	}{
		"no database":         {"ASSAY_DB=", "app -- true", exitUsage, "which database"},
		"another protocol":    {"ASSAY_DB=redis://localhost", "app -- true", exitUsage, "does not speak the protocol of redis: addresses; it speaks PostgreSQL (postgres://), MySQL"},
		"no application":      {address, "app", exitUsage, "there is no application"},
		"before the dashes":   {address, "app true", exitUsage, "stands before --"},
		"no such program":     {address, "app -- ./nothing", exitUsage, "cannot run ./nothing"},
		"no event":            {address, "app --event nothing -- true", exitUsage, "is no event"},
		"a broken file":       {address, "app --invariants broken.star -- true", exitUsage, "broken.star:"},
		"no invariant":        {address, "app --invariants none.star -- true", exitUsage, "declares no invariant"},
		"a wrong invariant":   {address, "app --invariants wrong.star -- true", exitUsage, "wrong.star:1"},
		"a reset that fails":  {address, "app --reset 'echo no luck; exit 3' -- true", exitUsage, "ended with 3: no luck"},
		"it never connects":   {address, "app -- sh -c 'exit 0'", exitCannotRun, "opened no connection (ended with 0): assay listened on 127.0.0.1:"},
		"it sleeps":           {address, "app --patience 1s -- sleep 60", exitCannotRun, "opened no connection (was ended by assay after"},
		"it ends by a signal": {address, `app -- sh -c 'psql -qc "SELECT 1"; kill -SEGV $$'`, exitNoVerdict, "ended by signal: segmentation fault"},
		"a foreign protocol":  {address, `app -- /usr/bin/python3 -c 'import os, urllib.request as u; u.urlopen("http://%s:%s/" % (os.environ["PGHOST"], os.environ["PGPORT"]))'`, exitNoVerdict, "does not speak PostgreSQL's protocol"},
		"the server is gone":  {"ASSAY_DB=postgres://me@127.0.0.1:1/shop", "app -- psql -c 'SELECT 1'", exitNoVerdict, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			expect.NoError(t, os.CopyFS(dir, os.DirFS(s.dir)))
			e := start(t, command{dir: dir, env: []string{c.env}, unwatched: true, shell: `exec "$0" ` + c.shell}).wait()
			if e.code != c.code || !strings.Contains(e.stderr+e.stdout, c.says) {
				t.Errorf("want %d and %q: %v", c.code, c.says, e)
			}
		})
	}
}

// TestServedFaults has a test of the user's set a fault, and learn whether it was met.
func TestServedFaults(t *testing.T) {
	t.Parallel()
	s := openShop(t, startPostgres(t).Address())
	samples, err := filepath.Abs(filepath.Join("..", "..", "examples", "application"))
	expect.NoError(t, err)
	served := start(t, command{dir: s.dir, env: []string{"ASSAY_DB=" + s.address}, args: []string{"app", "--serve", "127.0.0.1:0", "--control", "127.0.0.1:0"}})
	served.until("for tests on http://")
	_, said, _ := strings.Cut(served.err.String(), "application on ")
	listens, said, _ := strings.Cut(said, ", and for tests on ")
	through := changed(t, s.address, func(u *url.URL) { u.Host = listens })
	u, err := url.Parse(s.address)
	expect.NoError(t, err)
	test := exec.Command("/usr/bin/python3", "-c", `
import assay_faults, os, psycopg2
def write(text):
    with psycopg2.connect(os.environ["THROUGH"]) as connection, connection.cursor() as cursor:
        cursor.execute(text)
write("CREATE TABLE t (n int)")
for make, there in ((assay_faults.cut_after_commit, 1), (assay_faults.cut_before_commit, 1)):
    try:
        with make("INSERT INTO t"):
            try:
                write("INSERT INTO t VALUES (1)")
            except psycopg2.OperationalError:
                pass
            else:
                raise SystemExit("no error came")
            write("SELECT 1")
    finally:
        pass
    with psycopg2.connect(os.environ["THROUGH"]) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM t")
        rows = cursor.fetchone()[0]
        if rows != there:
            raise SystemExit("there are %d rows" % rows)
try:
    with assay_faults.fault("deadlock", "statement", "nowhere"):
        write("SELECT 2")
    raise SystemExit("a fault that was not met went unsaid")
except AssertionError:
    pass
try:
    assay_faults.call("PUT", "/fault", {"action": "smash", "at": "commit"})
    raise SystemExit("smash is no fault")
except assay_faults.urllib.request.HTTPError as error:
    print(error.code, error.read().decode())
print(assay_faults.transactions()["committed"])
`)
	test.Env = append(os.Environ(), "PYTHONPATH="+samples, "PYTHONDONTWRITEBYTECODE=1", "THROUGH="+through, "ASSAY_CONTROL="+strings.TrimSpace(said))
	answer, err := test.CombinedOutput()
	if err != nil || !strings.Contains(string(answer), `400 "action" is "smash"`) {
		t.Errorf("the test: %v, %s", err, answer)
	}
	served.signal(syscall.SIGINT)
	expect.Text(t, "the summary", served.wait().want(t, exitValid).stdout, "transactions, of which", "were committed, over")
	for _, args := range [][]string{{"--serve", "127.0.0.1:0", "--", "true"}, {"--serve", "127.0.0.1:0", "--control", "0.0.0.0:0"}, {"--serve", u.Host, "--control", "127.0.0.1:0"}} {
		start(t, command{dir: s.dir, env: []string{"ASSAY_DB=" + s.address}, args: append([]string{"app"}, args...)}).wait().want(t, exitUsage)
	}
}
