package mysql

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	library "github.com/go-sql-driver/mysql"

	"assay/application/wire/wiretest"
	"assay/cluster/mariadb"
	"assay/internal/expect"
)

// TestTransactionsAsTheServerEndsThem: those of one text, chained ones, and those that are prepared
// and decided over another connection.
func TestTransactionsAsTheServerEndsThem(t *testing.T) {
	t.Parallel()
	server, err := mariadb.Start(t.Context(), mariadb.Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, server.Close)
	product, err := New(server.Address())
	expect.NoError(t, err)
	proxy := wiretest.Listen(t, product)
	connect := func() *sql.DB {
		c := library.NewConfig()
		c.Net, c.Addr, c.User, c.Passwd, c.MultiStatements = "tcp", proxy.Address(), product.User, product.Password, true
		connector, err := library.NewConnector(c)
		expect.NoError(t, err)
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
