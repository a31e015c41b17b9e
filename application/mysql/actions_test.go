package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	library "github.com/go-sql-driver/mysql"

	"assay/application/wire"
	"assay/internal/expect"
)

// TestActions has each action be done in a transaction, and looks at what the application reads and at
// whether the server has its row.
func TestActions(t *testing.T) {
	t.Parallel()
	actions(t, onMariaDB(t))
}

// TestOnMySQLActions is that on MySQL; `make mysql` runs it.
func TestOnMySQLActions(t *testing.T) {
	actions(t, onMySQL(t))
}

func actions(t *testing.T, address string) {
	t.Helper()
	proxy, connector := through(t, address, false)
	db := sql.OpenDB(connector)
	do := func(text string) {
		t.Helper()
		_, err := db.Exec(text)
		expect.NoError(t, err)
	}
	do("CREATE DATABASE shop")
	do("CREATE TABLE shop.a (n INT PRIMARY KEY)")
	const ended = "the connection ends"
	for n, c := range []struct {
		action wire.Action
		at     string
		reads  string
		there  bool
		goesOn bool // the connection
	}{
		{wire.Shutdown, "INSERT", "Error 1053 (08S01)", false, false}, {wire.Reset, "COMMIT", ended, false, false}, {wire.Cut, "INSERT", ended, false, false}, {wire.Silent, "INSERT", "context deadline", false, false},
		{wire.AnswerLost, "COMMIT", ended, true, false}, {wire.AnswerSilent, "COMMIT", "context deadline", true, false}, {wire.Late + "1ms", "COMMIT", "<nil>", true, true},
		{wire.GiveDeadlock, "INSERT", "Error 1213 (40001)", false, true}, {wire.GiveSerialization, "INSERT", "Error 1213 (40001)", false, true}, {wire.GiveSerialization, "COMMIT", "Error 1213 (40001)", false, true},
	} {
		about := fmt.Sprintf("%s at %s", c.action, c.at)
		conn, err := db.Conn(t.Context())
		expect.NoError(t, err)
		other, err := db.Conn(t.Context())
		expect.NoError(t, err, other.PingContext(t.Context()))
		_, err = conn.ExecContext(t.Context(), "BEGIN")
		expect.NoError(t, err)
		proxy.Arm(&wire.Fault{Action: c.action, Time: 1, Matches: func(_ wire.Kind, shapes string) bool { return strings.Contains(shapes, c.at) }})
		for _, text := range []string{fmt.Sprintf("INSERT INTO shop.a VALUES (%d)", n), "COMMIT"} {
			limit := time.Minute
			if strings.HasPrefix(c.reads, "context") && strings.Contains(text, c.at) {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			_, err = conn.ExecContext(ctx, text)
			if cancel(); err != nil {
				break
			}
		}
		proxy.Arm(nil)
		said := fmt.Sprint(err)
		if _, numbered := errors.AsType[*library.MySQLError](err); err != nil && !numbered && !errors.Is(err, context.DeadlineExceeded) {
			said = ended
		}
		if !strings.HasPrefix(said, c.reads) {
			t.Errorf("%s: the application reads %v, want %s", about, err, c.reads)
		}
		if _, err := conn.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO shop.a VALUES (%d)", 100+n)); (err == nil) != c.goesOn {
			t.Errorf("%s: the connection goes on: %v", about, err)
		}
		if err := other.PingContext(t.Context()); (err != nil) != (c.action == wire.Cut) {
			t.Errorf("%s: another connection: %v", about, err)
		}
		_, _ = conn.Close(), other.Close() // one may have ended
		there, after := 0, 0
		for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // the server may still be at it
			expect.NoError(t, db.QueryRow("SELECT COUNT(*) FROM shop.a WHERE n = ?", n).Scan(&there), db.QueryRow("SELECT COUNT(*) FROM shop.a WHERE n = ?", 100+n).Scan(&after))
			if (there > 0) == c.there || time.Now().After(until) {
				break
			}
		}
		if (there > 0) != c.there || (after > 0) != c.goesOn {
			t.Errorf("%s: the server has %d rows of it, and %d of what came behind it", about, there, after)
		}
	}
	proxy.Arm(&wire.Fault{Action: wire.TooMany, Place: wire.PlaceConnect, Time: 1})
	conn, err := connector.Connect(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "Error 1040") {
		t.Errorf("too many connections: %v, %v", conn, err)
	}
	expect.NoError(t, db.Close())
}
