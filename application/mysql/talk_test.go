package mysql

import (
	"context"
	"database/sql"
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
	"assay/internal/expect"
)

// TestSameBytes has a library and the command line client work through assay: texts, prepared
// statements, several results, large rows, a file, errors and a deadlock.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	server, err := mariadb.Start(t.Context(), mariadb.Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, server.Close)
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	recorder, passed := wiretest.Between(t, u.Host, func(address string) wire.Protocol {
		u.Host = address
		product, err := New(u.String())
		expect.NoError(t, err)
		return product
	}, 200, func(address string, p wire.Protocol) {
		byLibrary(t, address, p.(*Server))
		byClient(t, address, p.(*Server))
	})
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
	cmd := exec.Command("mariadb", "--local-infile", "--auto-rehash", "-h", host, "-P", port, "-u", s.User, "shop", "-e", text)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+s.Password)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}
