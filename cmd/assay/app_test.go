package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/application"
	"assay/check"
	"assay/cluster/mariadb"
	"assay/cluster/mongodb"
	"assay/cluster/server"
	"assay/internal/expect"
)

// shop is a server with a database for the sample applications.
type shop struct {
	dir, address, reset string
	rules, env          []string
}

func openShop(t *testing.T, address string) shop {
	t.Helper()
	s := shop{dir: t.TempDir(), address: address, reset: "psql -q -f '" + sample(t, "shop.sql") + "'", rules: []string{"--invariants", sample(t, "shop.star")}}
	if address != "" {
		s.env = []string{"ASSAY_DB=" + address}
	}
	switch scheme, _, _ := strings.Cut(address, ":"); scheme {
	case "mysql":
		s.reset = `mariadb -u "$MYSQL_USER" "$MYSQL_DATABASE" < '` + sample(t, "shop-mariadb.sql") + "'"
	case "mongodb":
		s.reset, s.rules = "/usr/bin/python3 '"+sample(t, "shop_mongodb.py")+"'", nil
	}
	return s
}

// app runs an application through assay. The password comes by the environment.
func (s shop) app(t *testing.T, args ...string) (ended, application.Report) {
	t.Helper()
	expect.NoError(t, os.RemoveAll(filepath.Join(s.dir, "out"))) // of the run before
	e := ends(t, command{dir: s.dir, env: append(s.env, "PYTHONDONTWRITEBYTECODE=1"),
		args: slices.Concat([]string{"app", "--reset", s.reset, "--seed", "5", "--out", "out"}, s.rules, args)})
	var r application.Report
	if text, err := os.ReadFile(filepath.Join(s.dir, "out", "app.json")); err == nil {
		expect.NoError(t, json.Unmarshal(text, &r))
	}
	return e, r
}

// TestApplications has the naive form of each sample be found, and the mended one pass every event of
// a protocol, or the first ones: of another client of it, and of MongoDB, whose library waits longest.
func TestApplications(t *testing.T) {
	t.Parallel()
	applications(t, false)
}

// TestTrustApplications has the mended form of every sample pass every event; `make trust` runs it.
func TestTrustApplications(t *testing.T) {
	applications(t, true)
}

func applications(t *testing.T, every bool) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "orders")
	if said, err := exec.Command("go", "build", "-o", program, sample(t, filepath.Join("orders", "main.go"))).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	maria, err := mariadb.Start(patiently(t), mariadb.Options{Password: password})
	expect.NoError(t, err)
	expect.AtEnd(t, maria.Close)
	host, port, err := net.SplitHostPort(maria.Node(0).Address())
	expect.NoError(t, err)
	create := exec.Command("mariadb", "-h", host, "-P", port, "-u", "assay", "-e", "CREATE DATABASE golang; CREATE DATABASE java")
	create.Env = append(os.Environ(), "MYSQL_PWD="+password)
	if said, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	set, err := mongodb.Start(patiently(t), mongodb.Options{Layout: server.Layout{Nodes: 1}})
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	cache, err := server.CacheDir()
	expect.NoError(t, err)
	const all, some, first = 200, 8, 3
	for name, c := range map[string]applicationCase{
		"PyMongo on MongoDB":         {some, strings.Replace(set.Address(), "/?", "/shop?", 1), []string{"/usr/bin/python3", sample(t, "orders_mongodb.py")}},
		"psycopg2 on PostgreSQL":     {all, databaseOf(t, "python"), []string{"/usr/bin/python3", sample(t, "orders.py")}},
		"database/sql on PostgreSQL": {first, databaseOf(t, "golang"), []string{program}},
		"database/sql on MariaDB":    {all, changed(t, maria.Address(), func(u *url.URL) { u.Path = "/golang" }), []string{program}},
		"SQLAlchemy":                 {first, databaseOf(t, "sqlalchemy"), []string{"/usr/bin/python3", sample(t, "orders_sqlalchemy.py")}},
		"Django":                     {first, databaseOf(t, "django"), []string{"/usr/bin/python3", sample(t, "orders_django.py")}},
		"pg of Node":                 {first, databaseOf(t, "node"), []string{"node", sample(t, "orders.js")}},
		"HikariCP":                   {first, changed(t, maria.Address(), func(u *url.URL) { u.Path = "/java" }), []string{"java", "-XX:TieredStopAtLevel=1", "-cp", compiled(t, sample(t, "Orders.java")), "Orders"}},
	} {
		if every {
			c.tries = all
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.tried(t, "NODE_PATH="+filepath.Join(cache, "node", "node_modules"))
		})
	}
}

// applicationCase is a sample and how many events its mended form meets.
type applicationCase struct {
	tries   int
	address string
	sample  []string
}

func (c applicationCase) tried(t *testing.T, env string) {
	t.Helper()
	s := openShop(t, c.address)
	s.env = append(s.env, env)
	app := func(form string, args ...string) (ended, application.Report) {
		return s.app(t, slices.Concat(args, []string{"--"}, c.sample, []string{form})...)
	}
	e, r := app("mended", "--tries", fmt.Sprint(c.tries), "--patience", "8s", "--late", "20s")
	e.want(t, exitValid)
	t.Logf("the mended form in %d tries, the untouched one among them", len(r.Tries))
	for _, try := range r.Tries {
		if try.Happens != application.Survived && try.Happens != application.Retried {
			t.Errorf("the mended form at %s: %s, %s", try.Event, try.Happens, try.Detail)
		}
	}
	if len(r.Tries) < min(15, c.tries) || r.Untouched.Committed < 6 {
		t.Errorf("%d tries of %d transactions", len(r.Tries), r.Untouched.Committed)
	}
	s.quiet(t)
	expect.NoError(t, os.RemoveAll(filepath.Join(s.dir, "out")))
	e, _ = app("naive", "--tries", "2")
	e.want(t, exitViolated)
	expect.Text(t, "the summary", e.stdout, "✗ done twice", "--event answer-lost@", "\nat              ")
	_, lost, _ := strings.Cut(e.stdout, "--event ")
	lost = strings.Fields(lost)[0]
	for event, happens := range map[string]string{lost: application.Twice, strings.Replace(lost, "answer-lost", "answer-silent", 1): application.Hung} {
		e, r = app("naive", "--event", event, "--patience", "4s")
		e.want(t, exitViolated)
		if len(r.Tries) != 2 || r.Tries[1].Event != event || r.Tries[1].Happens != happens {
			t.Errorf("%s again: %+v", event, r.Tries)
		}
	}
	s.quiet(t)
}

// sample is the path of a sample application.
func sample(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "examples", "application", name))
	expect.NoError(t, err)
	return path
}

// compiled has the Java sample and client be compiled, and says where they and their libraries are.
func compiled(t *testing.T, sources ...string) (classes string) {
	t.Helper()
	dir := t.TempDir()
	classes = dir
	for _, jar := range []string{"HikariCP", "mariadb-java-client", "slf4j-api", "slf4j-nop", "junit-jupiter-api", "junit-jupiter-engine", "junit-platform-commons", "junit-platform-engine",
		"junit-platform-launcher", "junit-platform-console", "junit-platform-reporting", "picocli", "apiguardian-api", "opentest4j", "opentest4j-reporting-events"} {
		classes += ":/usr/share/java/" + jar + ".jar"
	}
	if said, err := exec.Command("javac", append([]string{"-d", dir, "-cp", classes}, sources...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return classes
}

// TestAStoppedProxyConvictsNobody: an application waits that gets nothing through a proxy that was
// stopped. One that is killed leaves no verdict.
func TestAStoppedProxyConvictsNobody(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "stopped"))
	app := []string{"app", "--reset", s.reset, "--patience", "2s", "--tries", "1", "--out", "out", "--",
		"sh", "-c", `echo "SELECT pg_sleep(1); INSERT INTO sale VALUES ('a', 1, 0)" | psql -q`}
	e := start(t, command{dir: s.dir, env: s.env, args: app})
	for _, err := os.Stat(filepath.Join(s.dir, "out", "run-003.log")); err != nil; _, err = os.Stat(filepath.Join(s.dir, "out", "run-003.log")) {
		time.Sleep(10 * time.Millisecond) // until the application runs for the third time
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "out", "app.json"))
	expect.NoError(t, err)
	expect.Text(t, "what a killed run leaves", string(text), `"verdict": "unknown"`, "assay was ended before")
	e.signal(syscall.SIGSTOP)
	time.Sleep(5 * time.Second)
	e.signal(syscall.SIGCONT)
	expect.Text(t, "the summary", unwrapped(e.wait().want(t, exitNoVerdict).stdout), "? not known", "assay itself stood still")
}

// TestTwoWorkers has a lost update be found by an invariant, and not where the row is locked.
func TestTwoWorkers(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "stock"))
	for form, code := range map[string]int{"naive": exitViolated, "mended": exitValid} {
		e, r := s.app(t, "--tries", "2", "--patience", "6s", "--", "/usr/bin/python3", sample(t, "stock.py"), form)
		e.want(t, code)
		if broke := strings.Contains(unwrapped(e.stdout), "pieces: wanted 3000, got"); broke != (form == "naive") || r.Untouched.Committed != 8 {
			t.Errorf("%s: %v", form, e)
		}
	}
}

// TestFaultsOfAClusterReachApplications has a server of ours be killed that had not written what
// it acknowledged, as its manual allows, and one that had.
func TestFaultsOfAClusterReachApplications(t *testing.T) {
	t.Parallel()
	for cluster, c := range map[string]struct {
		happens []string
		verdict check.Verdict
		says    string
	}{
		"postgres:1,set.synchronous_commit=off,set.wal_writer_delay=10s": {[]string{application.Lost}, check.Allowed, "synchronous_commit=off"},
		"postgres:1": {[]string{application.Survived, application.Retried}, check.Valid, ""},
	} {
		t.Run(cluster, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, "")
			s.reset = strings.Replace(s.reset, "-q", "-qc 'SET synchronous_commit = on'", 1)
			e, r := s.app(t, "--cluster", cluster, "--fault", "kill primary for 1s", "--", "sh", "-c", "/usr/bin/python3 '"+sample(t, "orders.py")+"' mended && sleep 0.3 && /usr/bin/python3 '"+sample(t, "orders.py")+"' mended")
			e.want(t, exitValid)
			if len(r.Tries) != 2 || !slices.Contains(c.happens, r.Tries[1].Happens) || r.Tries[1].Verdict != c.verdict || !strings.Contains(r.Tries[1].Detail, c.says) {
				t.Errorf("%v: %+v", e, r.Tries)
			}
			expect.Text(t, "the command", r.Again, "assay app --cluster", "orders.py")
		})
	}
}

// TestApplicationsOnAnotherServer says in what answers differ, and of which it cannot.
func TestApplicationsOnAnotherServer(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "one"))
	other := databaseOf(t, "two")
	writeFile(t, `
import os, sys, psycopg2
cursor = psycopg2.connect(os.environ["DATABASE_URL"]).cursor()
for text in sys.stdin.read().split(";"):
    try:
        cursor.execute(text)
    except psycopg2.Error as error:
        print(error)
        cursor.execute("ROLLBACK")
cursor.execute("SELECT current_database() = 'two'")
sys.exit(int(sys.argv[1]) if cursor.fetchone()[0] else 0)
`, s.dir, "ask.py")
	s.reset = `[ "$PGDATABASE" = one ] && order=ASC collation=en-x-icu || order=DESC collation=C
psql -qc "DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT n FROM generate_series(1, 3) AS n ORDER BY n $order; CREATE TABLE IF NOT EXISTS w (y text COLLATE \"$collation\"); TRUNCATE w; INSERT INTO w VALUES ('a'), ('B')"`
	run := func(asked, exit string, code int) (application.Comparison, ended) {
		expect.NoError(t, os.RemoveAll(filepath.Join(s.dir, "out"))) // of the run before
		e := ends(t, command{dir: s.dir, env: append(s.env, "OTHER="+other), args: []string{"app", "--compare", "env:OTHER", "--reset", s.reset, "--out", "out", "--",
			"sh", "-c", "echo \"$1\" | /usr/bin/python3 ask.py \"$2\"", "sh", asked, exit}}).want(t, code)
		var c application.Comparison
		text, err := os.ReadFile(filepath.Join(s.dir, "out", "app.json"))
		expect.NoError(t, err, json.Unmarshal(text, &c))
		return c, e
	}
	c, e := run("SELECT n FROM t; SELECT y FROM w ORDER BY y; SELECT random(); SELECT 1/0; SELECT 'x'; SELECT current_database(); SELECT y || repeat('y', 40000) FROM w; SHOW nothing", "3", exitThreshold)
	got := map[string]string{}
	for _, d := range c.Differences {
		got[d.Statement] = d.What
	}
	want := map[string]string{
		"the application": "it ended otherwise", "SELECT n FROM t": "the same rows in another order, and there is no ORDER BY",
		"SELECT y FROM w ORDER BY y": "the same rows in another order, in spite of ORDER BY: equal keys, or another collation",
		"SELECT current_database()":  "other rows", "SELECT current_database() = ?": "other rows",
	}
	if !maps.Equal(got, want) || c.Unsteady != 2 || c.Same < 5 || len(c.Times) < 8 {
		t.Errorf("%v %+v", e, c)
	}
	expect.Text(t, "the summary", unwrapped(e.stdout), "ended with 0", "ended with 3", "3 rows: (1), (2), (3); 3 rows: (3), (2), (1)")
	s.quiet(t)
	other = s.address
	if c, _ = run("SELECT n FROM t; SELECT 1/0", "3", exitValid); len(c.Differences) > 0 || c.Same < 4 {
		t.Errorf("one server with itself: %+v", c)
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
	s := openShop(t, databaseOf(t, "shop"))
	writeFile(t, "invariant('sold', 'SELECT 1 FROM nowhere', equals = 1)\n", s.dir, "wrong.star")
	writeFile(t, "invariant('sold'\n", s.dir, "broken.star")
	writeFile(t, "x = 1\n", s.dir, "none.star")
	address := "ASSAY_DB=" + s.address
	encrypted := "ASSAY_DB=" + changed(t, s.address, func(u *url.URL) { u.RawQuery = "sslmode=require" })
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
		"both":                {address, "app --db sqlite:a --cluster postgres:1 -- true", exitUsage, "neither --db nor --serve"},
		"a fault of nothing":  {address, "app --fault 'kill primary' -- true", exitUsage, "--fault needs --cluster"},
		"a wrong fault":       {address, "app --cluster postgres:1 --fault 'tickle primary' -- true", exitUsage, "tickle"},
		"a foreign cluster":   {address, "app --cluster cassandra:1 -- true", exitUsage, "does not speak the protocol of cassandra"},
		"no event":            {address, "app --event nothing -- true", exitUsage, "is no event"},
		"an event elsewhere":  {address, "app --event late-10s@connect:1 -- true", exitUsage, "late-10s cannot be done at connect; want one of too-many-connections, reset, silent"},
		"a broken file":       {address, "app --invariants broken.star -- true", exitUsage, "broken.star:2:1: got end of file"},
		"no invariant":        {address, "app --invariants none.star -- true", exitUsage, "declares no invariant"},
		"a wrong invariant":   {address, "app --invariants wrong.star -- true", exitUsage, "wrong.star:1:10: invariant sold: "},
		"a mute reset":        {address, "app --reset false -- true", exitUsage, "ended with 1: it printed nothing"},
		"a reset that fails":  {address, "app --reset 'echo no luck; exit 3' -- true", exitUsage, "ended with 3: no luck"},
		"it never connects":   {address, "app --out o -- sh -c 'echo no driver; exit 3'", exitCannotRun, `opened no connection (ended with 3 and printed last "no driver"; o/run-001.log has what it printed): assay listened on 127.0.0.1:`},
		"no time":             {address, "app --time-limit 0s -- true", exitUsage, "--time-limit 0s leaves no time"},
		"it sleeps":           {address, "app --patience 1s -- sleep 60", exitCannotRun, "opened no connection (was ended by assay after"},
		"it ends by a signal": {address, `app -- sh -c 'psql -qc "SELECT 1"; kill -SEGV $$'`, exitNoVerdict, "ended by signal: segmentation fault"},
		"a foreign protocol":  {address, `app -- /usr/bin/python3 -c 'import os, urllib.request as u; u.urlopen("http://%s:%s/" % (os.environ["PGHOST"], os.environ["PGPORT"]))'`, exitNoVerdict, "does not speak PostgreSQL's protocol"},
		"no encryption there": {encrypted, "app -- psql -c 'SELECT 1'", exitNoVerdict, "server refused TLS connection"},
		"the server is gone":  {"ASSAY_DB=postgres://me@127.0.0.1:1/shop", "app -- psql -c 'SELECT 1'", exitNoVerdict, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			expect.NoError(t, os.CopyFS(dir, os.DirFS(s.dir)))
			e := ends(t, command{dir: dir, env: []string{c.env}, shell: `exec "$0" ` + c.shell})
			if e.code != c.code || !strings.Contains(unwrapped(e.stderr+e.stdout), c.says) {
				t.Errorf("want %d and %q: %v", c.code, c.says, e)
			}
		})
	}
}

// TestEncryptedApplications insist on TLS, and know assay by the file that they are given.
func TestEncryptedApplications(t *testing.T) {
	t.Parallel()
	for cluster, script := range map[string]string{
		"postgres:1": `psql "sslmode=verify-full sslrootcert=$0" -qc "INSERT INTO sale VALUES ('a', 1, 0)" && psql sslmode=verify-full -qc "SELECT 1" && cmp "$0" "$ASSAY_CA"`,
		"mariadb:1":  `mariadb --ssl --ssl-verify-server-cert --ssl-ca="$0" -u "$MYSQL_USER" "$MYSQL_DATABASE" -e "INSERT INTO sale VALUES ('a', 1, 0)"`,
	} {
		t.Run(cluster, func(t *testing.T) {
			t.Parallel()
			s := openShop(t, map[bool]string{true: "mysql://"}[cluster == "mariadb:1"])
			e, r := s.app(t, "--cluster", cluster, "--tries", "2", "--", "sh", "-c", script, "{ca}")
			e.want(t, exitValid)
			if len(r.Tries) != 3 || r.Untouched.Committed < 1 || r.Tries[0].Exit != 0 || r.Tries[1].Happens != application.Crashed {
				t.Errorf("%v: %+v", e, r.Tries)
			}
		})
	}
}

// TestACommandIsRepeated with where its addresses are, which have no password, or with what is shown of them.
func TestACommandIsRepeated(t *testing.T) {
	cmd := newApp()
	expect.NoError(t, cmd.ParseFlags([]string{"--reset", "psql -f a"}))
	for want, f := range map[string]*appFlags{
		"assay app --db @staging.db --compare env:OTHER --reset psql -f a --seed 0":                         {db: "@staging.db", compare: "env:OTHER", other: "postgres://u:hunter2@h/e"},
		"assay app --db postgres://u:xxxxx@h/d --compare postgres://u:xxxxx@h/e --reset psql -f a --seed 0": {db: "host=h", compare: "host=h", other: "postgres://u:hunter2@h/e"},
		"assay app --reset psql -f a --seed 0":                                                              {},
	} {
		f.plan.Database, f.plan.Reset = "postgres://u:xxxxx@h/d", "psql -f a"
		if got := strings.Join(f.command(cmd), " "); got != want {
			t.Errorf("%s", got)
		}
	}
}

// TestServedFaults has a test of the user's set a fault, and learn whether it was met.
func TestServedFaults(t *testing.T) {
	t.Parallel()
	s := openShop(t, databaseOf(t, "served"))
	served, through, control := serveFor(t, s, "--event", "reset@begin:2", "--out", "kept")
	u, err := url.Parse(s.address)
	expect.NoError(t, err)
	test := exec.Command("/usr/bin/python3", "-c", `
import assay_faults, os, psycopg2
def write(text):
    with psycopg2.connect(os.environ["THROUGH"]) as connection, connection.cursor() as cursor:
        cursor.execute(text)
failed = 0
for n in range(4):
    try:
        write("SELECT 0")
    except psycopg2.Error:
        failed += 1
if failed != 2:
    raise SystemExit("%d of 4 failed, of which each second is to" % failed)
assay_faults.call("DELETE", "/fault")
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
	test.Env = append(os.Environ(), "PYTHONPATH="+filepath.Dir(sample(t, "assay_faults.py")), "PYTHONDONTWRITEBYTECODE=1", "THROUGH="+through, "ASSAY_CONTROL="+control, "http_proxy=http://127.0.0.1:1")
	answer, err := test.CombinedOutput()
	if err != nil || !strings.Contains(string(answer), `400 "action" is "smash"`) {
		t.Errorf("the test: %v, %s", err, answer)
	}
	writeFile(t, `
public class Uses {
    int write() throws Exception {
        return new ProcessBuilder("psql", System.getenv("THROUGH"), "-qc", "BEGIN", "-c", "INSERT INTO t VALUES (2)", "-c", "COMMIT").inheritIO().start().waitFor();
    }
    @org.junit.jupiter.api.Test
    void aLostAnswer() throws Exception {
        try (AssayFaults fault = AssayFaults.cutAfterCommit("INSERT INTO t")) {
            org.junit.jupiter.api.Assertions.assertNotEquals(0, write());
        }
    }
    @org.junit.jupiter.api.Test
    void noPlace() {
        org.junit.jupiter.api.Assertions.assertThrows(AssertionError.class, () -> AssayFaults.cutBeforeCommit("nowhere").close());
        org.junit.jupiter.api.Assertions.assertThrows(IllegalArgumentException.class, () -> AssayFaults.fault("smash", "commit", "", 1));
        org.junit.jupiter.api.Assertions.assertTrue(AssayFaults.transactions().contains("committed"));
    }
    @org.junit.jupiter.api.Test
    void fails() {
        try (AssayFaults fault = AssayFaults.cutAfterCommit("nowhere")) {
        }
    }
}
`, s.dir, "Uses.java")
	java := exec.Command("java", "-cp", compiled(t, filepath.Join(s.dir, "Uses.java"), sample(t, "AssayFaults.java")),
		"org.junit.platform.console.ConsoleLauncher", "--disable-banner", "--disable-ansi-colors", "--select-class", "Uses")
	java.Env = test.Env
	answer, _ = java.CombinedOutput() // one of them is to fail
	expect.Text(t, "JUnit", string(answer), "[         2 tests successful      ]", "[         1 tests failed          ]", "the application came to no such commit: nowhere")
	writeFile(t, `
import assay_faults, os, psycopg2, pytest
def write(text):
    with psycopg2.connect(os.environ["THROUGH"]) as connection, connection.cursor() as cursor:
        cursor.execute(text)
def test_a_lost_answer():
    with assay_faults.cut_after_commit("INSERT INTO t"):
        with pytest.raises(psycopg2.OperationalError):
            write("INSERT INTO t VALUES (3)")
def test_no_place():
    with assay_faults.cut_before_commit("nowhere"):
        write("SELECT 1")
`, s.dir, "test_orders.py")
	pytest := exec.Command("/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_orders.py")
	pytest.Dir, pytest.Env = s.dir, test.Env
	answer, _ = pytest.CombinedOutput()
	expect.Text(t, "pytest", string(answer), "1 failed, 1 passed", "AssertionError", "nowhere")
	encrypted := exec.Command("sh", "-c", `curl --noproxy '*' -sSf "$ASSAY_CONTROL/ca.pem" > ca.pem && psql "$THROUGH&sslmode=verify-full&sslrootcert=ca.pem" -Atc '\conninfo'`)
	encrypted.Dir, encrypted.Env = s.dir, append(test.Env, "PGCHANNELBINDING=disable")
	answer, err = encrypted.CombinedOutput()
	expect.NoError(t, err)
	expect.Text(t, "an encrypted client", string(answer), "SSL connection")
	served.signal(syscall.SIGINT)
	e := served.wait()
	kept, err := os.ReadFile(filepath.Join(s.dir, "kept", "transactions.jsonl"))
	expect.NoError(t, err)
	expect.Text(t, "the transactions", string(kept), `"outcome":"committed","told":false`, `"values":["2"]`)
	expect.Text(t, "the summary", e.want(t, exitValid).stdout, "transactions, of which", "were committed, over")
	for _, args := range [][]string{{"--serve", "127.0.0.1:0", "--", "true"}, {"--serve", "127.0.0.1:0", "--control", "0.0.0.0:0"}, {"--serve", u.Host, "--control", "127.0.0.1:0"}} {
		ends(t, command{dir: s.dir, env: []string{"ASSAY_DB=" + s.address}, args: append([]string{"app"}, args...)}).want(t, exitUsage)
	}
}
