package mysql

import (
	"database/sql"
	"errors"
	"testing"

	library "github.com/go-sql-driver/mysql"

	"assay/application/wire"
	"assay/internal/expect"
)

// TestAFailoverTakesNoWrites: all connections end at a COMMIT, which does not arrive, and those that are
// opened before it is over only read.
func TestAFailoverTakesNoWrites(t *testing.T) {
	t.Parallel()
	failsOver(t, onMariaDB(t))
}

// TestOnMySQLAFailoverTakesNoWrites is that on MySQL; `make mysql` runs it.
func TestOnMySQLAFailoverTakesNoWrites(t *testing.T) {
	failsOver(t, onMySQL(t))
}

func failsOver(t *testing.T, address string) {
	t.Helper()
	proxy, connector := through(t, address, false)
	connect := func() *sql.DB {
		db := sql.OpenDB(connector)
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = db.Close() }) // assay may have ended its connection
		return db
	}
	do := func(db *sql.DB, text string) error { _, err := db.Exec(text); return err }
	one, other := connect(), connect()
	expect.NoError(t, do(one, "CREATE DATABASE shop"), do(one, "CREATE TABLE shop.a (n INT)"), do(other, "DO 1"))
	proxy.Arm(&wire.Fault{Action: wire.Standby + "-10m", Time: 1, Matches: func(kind wire.Kind, _ string) bool { return kind == wire.Commit }})
	tx, err := one.Begin()
	expect.NoError(t, err)
	_, err = tx.Exec("INSERT INTO shop.a VALUES (1)")
	expect.NoError(t, err)
	if err := tx.Commit(); err == nil {
		t.Error("it was committed")
	}
	for _, db := range []*sql.DB{one, other} {
		expect.NoError(t, do(db, "DO 1")) // over a new connection
		if refused := new(library.MySQLError); !errors.As(do(db, "INSERT INTO shop.a VALUES (2)"), &refused) || refused.Number != 1792 {
			t.Errorf("a write: %v", refused)
		}
	}
	proxy.Arm(nil)
	expect.NoError(t, do(one, "INSERT INTO shop.a VALUES (3)"), proxy.Recorder().Problem())
	if there := column(t, one, "SELECT n FROM shop.a"); len(there) != 1 || there[0] != "3" {
		t.Errorf("there is %v", there)
	}
}
