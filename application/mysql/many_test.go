package mysql

import (
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	library "github.com/go-sql-driver/mysql"

	"assay/application/wire"
	"assay/cluster/mariadb"
	"assay/internal/expect"
)

// TestTrustManyStatements passes more than 100,000 statements over four connections at once and compares the
// bytes at both sides: prepared ones, and texts of a hundred statements each, which the server answers one
// by one.
func TestTrustManyStatements(t *testing.T) {
	t.Parallel()
	recorder, passed := between(t, mariadb.Options{}, func(address string, p *Server) {
		c := library.NewConfig()
		c.Net, c.Addr, c.User, c.Passwd, c.MultiStatements = "tcp", address, p.User, p.Password, true
		db, err := sql.Open("mysql", c.FormatDSN())
		expect.NoError(t, err)
		_, err = db.Exec("CREATE DATABASE shop; CREATE TABLE shop.many (worker int, n int)")
		expect.NoError(t, err)
		var workers sync.WaitGroup
		for worker := range 4 {
			workers.Go(func() {
				if err := many(db, worker); err != nil {
					t.Error(err)
				}
			})
		}
		workers.Wait()
		expect.NoError(t, db.Close())
	})
	counts, left := statements(recorder)
	want := map[string]int{"INSERT INTO shop.many VALUES (?, ?)": 20_000, "SELECT ? + ?": 82_400}
	for shape, n := range want {
		if counts[shape] != n {
			t.Errorf("%d were recorded, not %d: %s", counts[shape], n, shape)
		}
	}
	if left != 0 || passed < 6<<20 {
		t.Errorf("%d transactions were not kept, and %d bytes passed", left, passed)
	}
}

// many sends one worker's part: 5,000 inserts and 1,000 questions prepared, and 200 texts.
func many(db *sql.DB, worker int) error {
	insert, err := db.Prepare("INSERT INTO shop.many VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	ask, err := db.Prepare("SELECT ? + ?")
	if err != nil {
		return err
	}
	defer ask.Close()
	for n := range 5_000 {
		if _, err := insert.Exec(worker, n); err != nil {
			return err
		}
		var sum int
		if n%5 != 0 {
			continue
		}
		if err := ask.QueryRow(worker, n).Scan(&sum); err != nil || sum != worker+n {
			return fmt.Errorf("%d + %d is %d: %w", worker, n, sum, err)
		}
	}
	text := "BEGIN;" + strings.Repeat("SELECT 3 + 4;", 98) + "COMMIT"
	for range 200 {
		if _, err := db.Exec(text); err != nil {
			return err
		}
	}
	return nil
}

// statements counts what was recorded, by shape.
func statements(recorder *wire.Recorder) (counts map[string]int, left int) {
	all, left := recorder.Transactions()
	counts = map[string]int{}
	for _, x := range all {
		for _, s := range x.Statements {
			if s.Kind != wire.Prepare {
				counts[s.Shape]++
			}
		}
	}
	return counts, left
}
