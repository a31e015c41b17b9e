package mysql

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	library "github.com/go-sql-driver/mysql"

	"assay/application/wire"
	"assay/application/wire/wiretest"
	"assay/cluster/mariadb"
	cluster "assay/cluster/mysql"
	"assay/internal/expect"
)

// onMariaDB starts a server and returns its address.
func onMariaDB(t *testing.T) string {
	t.Helper()
	server := expect.Started(t, mariadb.Start, mariadb.Options{})
	return server.Address()
}

func onMySQL(t *testing.T) string {
	t.Helper()
	server := expect.Started(t, cluster.Start, cluster.Options{})
	return server.Address()
}

// through is assay before a server, and how the library connects to it; several says that a text may have
// more than one statement.
func through(t *testing.T, address string, several bool) (*wire.Proxy, driver.Connector) {
	t.Helper()
	product, err := New(address)
	expect.NoError(t, err)
	proxy := wiretest.Listen(t, product)
	c := library.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.MultiStatements = "tcp", proxy.Address(), product.User, product.Password, several
	connector, err := library.NewConnector(c)
	expect.NoError(t, err)
	return proxy, connector
}

// TestTransactionsAsTheServerEndsThem: those of one text, chained ones, and those that are prepared
// and decided over another connection.
func TestTransactionsAsTheServerEndsThem(t *testing.T) {
	t.Parallel()
	proxy, connector := through(t, onMariaDB(t), true)
	connect := func() *sql.DB {
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(1)
		return db
	}
	one, two := connect(), connect()
	do := func(db *sql.DB, texts ...string) {
		for _, text := range texts {
			_, _ = db.Exec(text) // some are to fail
		}
	}
	do(one, "CREATE DATABASE shop", "CREATE TABLE shop.a (n INT PRIMARY KEY)", "INSERT INTO shop.a VALUES (1); INSERT INTO shop.a VALUES (1)",
		"BEGIN", "INSERT INTO shop.a VALUES (2)", "COMMIT AND CHAIN", "INSERT INTO shop.a VALUES (3)", "ROLLBACK",
		"BEGIN", "INSERT INTO shop.a VALUES (4)", "BEGIN", "INSERT INTO shop.a VALUES (5)", "ROLLBACK",
		"XA START 'x'", "INSERT INTO shop.a VALUES (6)", "XA END 'x'", "XA PREPARE 'x'")
	expect.NoError(t, one.Close())
	var err error
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err = two.Exec("XA COMMIT 'x'"); err == nil || time.Now().After(until) { // the server may still be ending the connection that has prepared it
			break
		}
	}
	expect.NoError(t, err)
	rows, err := two.Query("SELECT n FROM shop.a ORDER BY n")
	expect.NoError(t, err)
	var there []string
	for rows.Next() {
		var n string
		expect.NoError(t, rows.Scan(&n))
		there = append(there, n)
	}
	expect.NoError(t, rows.Err(), rows.Close(), two.Close(), proxy.Quiet(t.Context()))
	var committed []string
	all, _ := proxy.Recorder().Transactions()
	for _, x := range all {
		for _, s := range x.Statements {
			if x.Outcome == "committed" && s.Writes && s.Rows > 0 {
				committed = append(committed, s.Values...)
			}
		}
	}
	if want := []string{"1", "2", "4", "6"}; !slices.Equal(there, want) || !slices.Equal(committed, want) {
		for _, x := range all {
			t.Logf("%s %v", x.Outcome, x.Shapes())
		}
		t.Errorf("there are %v, and %v were committed", there, committed)
	}
}

// TestImplicitCommits have committed what was open before them, failed or not, where the server says so.
func TestImplicitCommits(t *testing.T) {
	t.Parallel()
	implicitCommits(t, onMariaDB(t), "START SLAVE")
}

// TestOnMySQLImplicitCommits is that on MySQL; `make mysql` runs it.
func TestOnMySQLImplicitCommits(t *testing.T) {
	implicitCommits(t, onMySQL(t), "START REPLICA")
}

// TestOnMySQLWritesBehindWith has UPDATE and DELETE behind WITH count as writes, sent as texts and prepared, and no SELECT.
func TestOnMySQLWritesBehindWith(t *testing.T) {
	proxy, connector := through(t, onMySQL(t), false)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	for _, text := range []string{"CREATE DATABASE shop", "CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT)", "INSERT INTO shop.stock VALUES (7, 5), (8, 5)"} {
		_, err := db.Exec(text)
		expect.NoError(t, err)
	}
	for _, values := range [][]any{nil, {7}} {
		id := map[bool]string{true: "7", false: "?"}[values == nil]
		for _, rest := range []string{"UPDATE shop.stock JOIN d USING (id) SET n = n - 1", "SELECT n FROM shop.stock JOIN d USING (id) FOR UPDATE", "SELECT n INTO @n FROM shop.stock JOIN d USING (id) FOR UPDATE"} {
			_, err := db.Exec("WITH d AS (SELECT "+id+" AS id) "+rest, values...)
			expect.NoError(t, err)
		}
	}
	_, err := db.Exec("WITH d AS (SELECT 8 AS id) DELETE FROM shop.stock WHERE id IN (SELECT id FROM d)")
	expect.NoError(t, err)
	if there := column(t, db, "SELECT CONCAT(id, ' ', n) FROM shop.stock"); !slices.Equal(there, []string{"7 3"}) {
		t.Errorf("there is %v", there)
	}
	expect.NoError(t, db.Close(), proxy.Quiet(t.Context()), proxy.Recorder().Problem())
	all, _ := proxy.Recorder().Transactions()
	var wrote []string
	for _, x := range all {
		for _, s := range x.Statements {
			if s.Writes && strings.HasPrefix(s.Shape, "WITH ") {
				wrote = append(wrote, fmt.Sprintf("%s %d", strings.Fields(s.Shape)[7], s.Rows))
			}
		}
	}
	if want := []string{"UPDATE 1", "UPDATE 1", "DELETE 1"}; !slices.Equal(wrote, want) {
		t.Errorf("what wrote is %v", wrote)
	}
}

func implicitCommits(t *testing.T, address, replica string) {
	t.Helper()
	product, err := New(address)
	expect.NoError(t, err)
	proxy := wiretest.Listen(t, product)
	c := library.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.MultiStatements, c.MaxAllowedPacket = "tcp", proxy.Address(), product.User, product.Password, true, 400
	connector, err := library.NewConnector(c)
	expect.NoError(t, err)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	do := func(text string, values ...any) { _, _ = db.Exec(text, values...) } // some are to fail
	_, err = db.Exec("CREATE DATABASE shop; CREATE TABLE shop.a (n VARCHAR(50) PRIMARY KEY, body TEXT)")
	expect.NoError(t, err)
	for i, text := range []string{
		"CREATE TABLE shop.a (n INT)", "CREATE TABLE shop.b (n INT)", "ALTER TABLE shop.nowhere ADD n INT", "DROP TABLE shop.nowhere", "CREATE USER root@localhost", "GRANT SELECT ON shop.a TO nobody",
		"CREATE TABLE b (n INT)", "CREATE TABEL x", "CREATE TABLE shop.c (n INT) CHARSET nothing", "CREATE TEMPORARY TABLE shop.d (n INT)", "DROP TEMPORARY TABLE shop.nowhere",
		"SET autocommit = 1", "UNLOCK TABLES", "ANALYZE TABLE shop.a", "FLUSH STATUS", "/*!40000 ALTER TABLE shop.a DISABLE KEYS */", "/*!999999 DROP TABLE shop.a */", replica,
		"CREATE TABLE shop.c (n INT) ENGINE = nothing",
	} {
		do("BEGIN")
		do("INSERT INTO shop.a (n) VALUES (?)", i)
		do(text)
		do("ROLLBACK")
		do("BEGIN; INSERT INTO shop.a (n) VALUES ('text " + fmt.Sprint(i) + "'); " + text)
		do("ROLLBACK")
	}
	// A long value comes before the statement that has it.
	do("INSERT INTO shop.a (body, n) VALUES (?, ?)", strings.Repeat("x", 180), "with a long one")
	there := column(t, db, "SELECT n FROM shop.a")
	expect.NoError(t, db.Close(), proxy.Quiet(t.Context()), proxy.Recorder().Problem())
	all, _ := proxy.Recorder().Transactions()
	known := map[string]wire.Outcome{}
	for _, x := range all {
		for _, s := range x.Statements {
			if s.Writes && s.Rows > 0 && s.Error == "" {
				known[strings.Trim(s.Values[len(s.Values)-1], "'")] = x.Outcome
				if len(s.Values) == 2 && s.Values[0] != strings.Repeat("x", 180) {
					t.Errorf("the long value is %q", s.Values[0])
				}
			}
		}
	}
	unsure := 0
	for n, outcome := range known {
		if is := slices.Contains(there, n); outcome == wire.Unknown {
			unsure++
		} else if is != (outcome == wire.Committed) {
			t.Errorf("%s: %s, and there is %v", n, outcome, is)
		}
	}
	if len(known) != 2*19+1 || unsure > 4 || len(there) < 15 {
		t.Errorf("%d are known, %d not surely, and %d are there", len(known), unsure, len(there))
	}
}

func column(t *testing.T, db *sql.DB, text string) (all []string) {
	t.Helper()
	rows, err := db.Query(text)
	expect.NoError(t, err)
	for rows.Next() {
		var one string
		expect.NoError(t, rows.Scan(&one))
		all = append(all, one)
	}
	expect.NoError(t, rows.Err(), rows.Close())
	return all
}

// TestReadingTheLog passes, and is no transaction; neither is what a replica is started by.
func TestReadingTheLog(t *testing.T) {
	t.Parallel()
	recorder, passed := between(t, mariadb.Options{Settings: []string{"log-bin=log", "binlog-format=ROW"}}, func(address string, s *Server) {
		host, port, err := net.SplitHostPort(address)
		expect.NoError(t, err)
		client := func(program string, args ...string) string {
			cmd := exec.Command(program, append([]string{"--skip-ssl", "-h", host, "-P", port, "-u", s.User}, args...)...)
			cmd.Env = append(os.Environ(), "MYSQL_PWD="+s.Password)
			said, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", program, err, said)
			}
			return string(said)
		}
		client("mariadb", "-e", "CREATE DATABASE shop; CREATE TABLE shop.sale (n INT, of LONGTEXT); INSERT INTO shop.sale VALUES (1, repeat('x', 200000)); INSERT INTO shop.sale VALUES (2, 'last')")
		file, _, _ := strings.Cut(client("mariadb", "-NBe", "SHOW MASTER STATUS"), "\t")
		expect.Text(t, "the log", client("mariadb-binlog", "--read-from-remote-server", "--verbose", file), "CREATE TABLE shop.sale", "'last'")
	})
	all, _ := recorder.Transactions()
	for _, x := range all {
		if x.Outcome != wire.Committed {
			t.Errorf("%+v", x)
		}
	}
	if passed < 200_000 {
		t.Errorf("%d bytes passed", passed)
	}
}
