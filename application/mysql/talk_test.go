package mysql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/binary"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	library "github.com/go-sql-driver/mysql"

	"assay/application/wire"
	"assay/application/wire/wiretest"
	"assay/cluster/mariadb"
	cluster "assay/cluster/mysql"
	"assay/driver/drivertest"
	"assay/internal/expect"
)

// between has work go through assay to a MariaDB of the test's own; see wiretest.Between.
func between(t *testing.T, o mariadb.Options, work func(address string, p *Server)) (recorder *wire.Recorder, passed int) {
	t.Helper()
	server := expect.Started(t, mariadb.Start, o)
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	return wiretest.Between(t, u.Host, func(address string) wire.Protocol {
		u.Host = address
		product, err := New(u.String())
		expect.NoError(t, err)
		return product
	}, 200, func(address string, p wire.Protocol) { work(address, p.(*Server)) })
}

// TestSameBytes has a library and the command line client work through assay: texts, prepared
// statements, several results, large rows, a file, errors and a deadlock.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	var called *Server
	recorder, passed := between(t, mariadb.Options{}, func(address string, p *Server) {
		called = p
		byLibrary(t, address, p)
		byClient(t, address, p)
	})
	if name := called.Reach().Product; name != "MariaDB" { // whatever its address says
		t.Errorf("the server is called %s", name)
	}
	all, left := recorder.Transactions()
	want := map[string]int{
		"INSERT INTO shop.sale VALUES (?, ?)|7 seven|1": 0, "INSERT INTO shop.sale VALUES (?, ?)|NULL x|1": 0, "UPDATE shop.sale SET name = ?|'all'|2": 0,
		"LOAD DATA LOCAL INFILE ? INTO TABLE shop.sale FIELDS TERMINATED BY ?": 0, "INSERT INTO shop.sale VALUES (? ...), (? ...) RETURNING id": 0,
	}
	kinds := map[wire.Outcome]int{}
	for _, x := range all {
		kinds[x.Outcome]++
		for _, s := range x.Statements {
			for key := range want {
				shape, rest, _ := strings.Cut(key, "|")
				if s.Shape == shape && s.Writes && s.Rows > 0 && (rest == "" || rest == fmt.Sprintf("%s|%d", strings.Join(s.Values, " "), s.Rows)) {
					want[key]++
				}
			}
		}
	}
	for key, n := range want {
		if n == 0 {
			t.Errorf("it was not recorded: %s", key)
		}
	}
	if left != 0 || kinds[wire.Refused] < 1 || kinds[wire.RolledBack] != 1 || kinds[wire.Unknown] != 0 || passed < 4<<20 {
		t.Errorf("the outcomes of %d transactions are %v, %d bytes", len(all), kinds, passed)
	}
}

// TestLibrarysOwnTests pass through assay, and what they send and read passes unchanged. Those are left
// out that want a server without compression, an encrypted one, or an address that does not answer.
func TestLibrarysOwnTests(t *testing.T) {
	t.Parallel()
	between(t, mariadb.Options{}, func(address string, p *Server) {
		db, err := sql.Open("mysql", p.User+":"+p.Password+"@tcp("+address+")/")
		expect.NoError(t, err)
		_, err = db.Exec("CREATE DATABASE shop")
		expect.NoError(t, err, db.Close())
		passed := wiretest.Library(t, []string{"github.com/go-sql-driver/mysql"}, "TestTLS|TestIssue1567|TestConnectorReturnsTimeout|TestLongData",
			"MYSQL_TEST_ADDR="+address, "MYSQL_TEST_USER="+p.User, "MYSQL_TEST_PASS="+p.Password, "MYSQL_TEST_DBNAME=shop")
		if passed < 300 {
			t.Errorf("%d tests passed", passed)
		}
	})
}

// TestEncryptedServer logs in at an encrypted server by a client that is encrypted or
// not; and says why where the certificate is not the server's, or there is none.
func TestEncryptedServer(t *testing.T) {
	t.Parallel()
	ours, theirs := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	shown := ours.Server("127.0.0.1")
	server := expect.Started(t, mariadb.Start, mariadb.Options{Password: "hunter2", Settings: []string{"ssl-cert=" + shown.Certificate, "ssl-key=" + shown.Key}})
	plain := expect.Started(t, mariadb.Start, mariadb.Options{Password: "hunter2", Settings: []string{"skip-ssl"}})
	for _, c := range []struct {
		address, authority string
		encrypted          bool
		problem            string
	}{
		{server.Address(), ours.File, false, "<nil>"}, {server.Address(), ours.File, true, "<nil>"},
		{server.Address(), theirs.File, false, "certificate"}, {plain.Address(), ours.File, true, "offers no encryption"},
	} {
		product, err := New(c.address + "?ssl-mode=VERIFY_IDENTITY&ssl-ca=" + c.authority)
		expect.NoError(t, err)
		proxy := wiretest.Listen(t, product)
		var trusts *tls.Config
		if c.encrypted {
			trusts = trusting(proxy)
		}
		db := open(t, proxy, product, product.Password, trusts)
		var name, cipher, large string
		err = db.QueryRow("SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher)
		if err == nil {
			err = db.QueryRow("SELECT repeat('x', ?)", 2_000_000).Scan(&large)
		}
		expect.NoError(t, db.Close(), proxy.Quiet(t.Context()))
		if err == nil {
			refuses(t, proxy, product)
		}
		if problem := fmt.Sprint(proxy.Recorder().Problem()); !strings.Contains(problem, c.problem) || (c.problem == "<nil>") != (err == nil && cipher != "" && len(large) == 2_000_000) {
			t.Errorf("%s: %v, cipher %q, and the problem is %s", c.address, err, cipher, problem)
		}
	}
}

// trusting is how a client knows assay.
func trusting(proxy *wire.Proxy) *tls.Config {
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}
	config.RootCAs.AppendCertsFromPEM(proxy.Authority())
	return config
}

// open opens a client's connections, which are encrypted if it says whom it trusts.
func open(t *testing.T, proxy *wire.Proxy, s *Server, password string, trusts *tls.Config) *sql.DB {
	t.Helper()
	c := library.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.TLS = "tcp", proxy.Address(), s.User, password, trusts
	connector, err := library.NewConnector(c)
	expect.NoError(t, err)
	return sql.OpenDB(connector)
}

// TestEncryptedApplication has clients insist on encryption, and on the certificate, towards a server
// that knows neither; a wrong password is still one.
func TestEncryptedApplication(t *testing.T) {
	t.Parallel()
	server := expect.Started(t, mariadb.Start, mariadb.Options{Password: "hunter2", Settings: []string{"skip-ssl"}})
	product, err := New(server.Address())
	expect.NoError(t, err)
	proxy := wiretest.Listen(t, product)
	host, port, err := net.SplitHostPort(proxy.Address())
	expect.NoError(t, err)
	cmd := exec.Command("mariadb", "--ssl", "--ssl-verify-server-cert", "--ssl-ca", wiretest.Authority(t, proxy), "-h", host, "-P", port, "-u", product.User,
		"-e", "status; SELECT repeat('y', 3000000)")
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+product.Password)
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "Cipher in use is") || strings.Count(string(said), "y") < 3_000_000 {
		t.Errorf("%v: %.2000s", err, said)
	}
	db := open(t, proxy, product, product.Password, trusting(proxy))
	expect.NoError(t, db.Ping(), db.Close())
	refuses(t, proxy, product)
	leaves(t, proxy)
	expect.NoError(t, proxy.Quiet(t.Context()), proxy.Recorder().Problem())
	db = open(t, proxy, product, product.Password, &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"})
	if err := db.Ping(); err == nil {
		t.Error("a client that trusts nobody has logged in")
	}
	expect.NoError(t, db.Close(), proxy.Quiet(t.Context()))
	expect.Text(t, "the problem", fmt.Sprint(proxy.Recorder().Problem()), "the application refuses assay's certificate")
}

// TestOnMySQLWholePassword has MySQL ask for the password itself, which it wants over encrypted
// connections as it is, and else under its key; `make mysql` runs it.
func TestOnMySQLWholePassword(t *testing.T) {
	server := expect.Started(t, cluster.Start, cluster.Options{Password: "hunter2"})
	for options, encrypted := range map[string]bool{"": false, "?ssl-mode=REQUIRED": true} {
		product, err := New("mysql://assay:hunter2@" + server.Node(0).Address() + "/" + options)
		expect.NoError(t, err)
		proxy := wiretest.Listen(t, product)
		for _, trusts := range []*tls.Config{nil, nil, trusting(proxy), trusting(proxy)} { // after the first time the server was told to forget the user
			db := open(t, proxy, product, "hunter2", trusts)
			var name, cipher string
			expect.NoError(t, db.QueryRow("SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher))
			if (cipher != "") != encrypted {
				t.Errorf("%q: the cipher is %q", options, cipher)
			}
			_, err = db.Exec("FLUSH PRIVILEGES")
			expect.NoError(t, err, db.Close())
		}
		refuses(t, proxy, product) // a server that knows the user, and one that was told to forget it
		db := open(t, proxy, product, "hunter2", nil)
		_, err = db.Exec("FLUSH PRIVILEGES")
		expect.NoError(t, err, db.Close())
		refuses(t, proxy, product)
		expect.NoError(t, proxy.Recorder().Problem())
		if name := product.Reach().Product; name != "MySQL" {
			t.Errorf("the server is called %s", name)
		}
		if encrypted {
			guest, err := New("mysql://guest:other@127.0.0.1/")
			expect.NoError(t, err)
			db = open(t, proxy, product, "hunter2", nil)
			_, err = db.Exec("CREATE USER guest IDENTIFIED BY 'other'")
			expect.NoError(t, err, db.Close())
			db = open(t, proxy, guest, "other", nil)
			if db.Ping() == nil {
				t.Error("assay gave a password that it does not know")
			}
			expect.NoError(t, db.Close(), proxy.Quiet(t.Context()))
			expect.Text(t, "the problem", fmt.Sprint(proxy.Recorder().Problem()), `asks for the password of "guest", and assay knows the one of "assay"`)
			proxy.Record(nil)
			db = open(t, proxy, guest, "other", trusting(proxy))
			expect.NoError(t, db.Ping(), db.Close(), proxy.Recorder().Problem())
		}
	}
}

// leaves asks for encryption and resets the connection, which is no failure of assay's.
func leaves(t *testing.T, proxy *wire.Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", proxy.Address())
	expect.NoError(t, err)
	_, err = readPacket(conn)
	asks := make([]byte, loginHead)
	binary.LittleEndian.PutUint32(asks, capTLS|1<<9)
	_, wrong := conn.Write(packet(1, asks))
	expect.NoError(t, err, wrong, conn.(*net.TCPConn).SetLinger(0), conn.Close())
}

// refuses has applications that are encrypted, and that are not, give a wrong password and none.
func refuses(t *testing.T, proxy *wire.Proxy, s *Server) {
	t.Helper()
	for _, trusts := range []*tls.Config{nil, trusting(proxy)} {
		for _, wrong := range []string{"wrong", ""} {
			db := open(t, proxy, s, wrong, trusts)
			if got := fmt.Sprint(db.Ping()); !strings.Contains(got, "Error 1045") {
				t.Errorf("the password %q, encrypted %v: %s", wrong, trusts != nil, got)
			}
			expect.NoError(t, db.Close())
		}
	}
}

func byLibrary(t *testing.T, address string, s *Server) {
	t.Helper()
	c := library.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.MultiStatements = "tcp", address, s.User, s.Password, true
	db, err := sql.Open("mysql", c.FormatDSN())
	expect.NoError(t, err)
	defer db.Close()
	do := func(text string, values ...any) {
		t.Helper()
		if _, err := db.Exec(text, values...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	do("CREATE DATABASE shop; CREATE TABLE shop.sale (id int, name longtext)")
	do("INSERT INTO shop.sale VALUES (?, ?)", 7, "seven")
	do("INSERT INTO shop.sale VALUES (?, ?)", nil, "x")
	do("UPDATE shop.sale SET name = 'all'; SELECT * FROM shop.sale; SELECT 1; DO 1")
	do("SET autocommit = 1")
	tx, err := db.Begin()
	expect.NoError(t, err)
	_, err = tx.Exec("DELETE FROM shop.sale WHERE id = 7")
	expect.NoError(t, err, tx.Rollback())
	if _, err := db.Exec("INSERT INTO shop.nowhere VALUES (1)"); err == nil {
		t.Error("there is a table nowhere")
	}
	for _, size := range []int{1, 250, 300, 70_000, 2_000_000} { // lengths of other forms, and over the buffer
		var got string
		expect.NoError(t, db.QueryRow("SELECT repeat('x', ?), 1", size).Scan(&got, new(int)))
		if len(got) != size {
			t.Errorf("%d bytes came of %d", len(got), size)
		}
	}
	do("INSERT INTO shop.sale VALUES (?, ?)", 8, strings.Repeat("y", 1_500_000))
	stopped, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = db.ExecContext(stopped, "DO sleep(0.3)")
	if err == nil {
		t.Error("a statement was not given up")
	}
	expect.NoError(t, db.Ping())
}

func byClient(t *testing.T, address string, s *Server) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	expect.NoError(t, err)
	file := filepath.Join(t.TempDir(), "rows")
	expect.NoError(t, os.WriteFile(file, []byte(strings.Repeat("1,one\n2,two\n", 10_000)), 0o644))
	text := "SELECT count(*) FROM sale; SHOW TABLES; LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE shop.sale FIELDS TERMINATED BY ',';" +
		"PREPARE q FROM 'SELECT ? + 1'; SET @a = 4; EXECUTE q USING @a; CREATE PROCEDURE p() SELECT * FROM sale LIMIT 3; CALL p(); INSERT INTO shop.sale VALUES (1, 'a'), (2, 'b') RETURNING id; START TRANSACTION; COMMIT"
	cmd := exec.Command("mariadb", "--skip-ssl", "--local-infile", "--auto-rehash", "-h", host, "-P", port, "-u", s.User, "shop", "-e", text)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+s.Password)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}
