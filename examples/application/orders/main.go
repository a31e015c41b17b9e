// Command orders places orders with database/sql, on PostgreSQL or MariaDB:
//
//	go run ./examples/application/orders [naive|mended]
//
// The naive form retries an order after any error, under a new number, and waits for answers for
// ever. The mended form keeps the order's number, so that a retry finds what the first attempt
// did, gives each attempt a second, and goes on trying for as long as a failover takes.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
)

func main() {
	mended := len(os.Args) > 1 && os.Args[1] == "mended"
	s := shop{
		insert: "INSERT INTO sale (number, item, pieces) VALUES ($1, $2, $3)", again: " ON CONFLICT (number) DO NOTHING",
		update: "UPDATE item SET stock = stock - $1 WHERE id = $2",
	}
	driver, address := "pgx", os.Getenv("DATABASE_URL")
	if host := os.Getenv("MYSQL_HOST"); host != "" {
		c := mysql.NewConfig()
		c.Net, c.Addr, c.User, c.Passwd, c.DBName = "tcp", host+":"+os.Getenv("MYSQL_PORT"), os.Getenv("MYSQL_USER"), os.Getenv("MYSQL_PASSWORD"), os.Getenv("MYSQL_DATABASE")
		if mended { // since COMMIT knows of no context
			c.ReadTimeout = time.Second
		}
		driver, address = "mysql", c.FormatDSN()
		s = shop{
			insert: "INSERT INTO sale (number, item, pieces) VALUES (?, ?, ?)", again: " ON DUPLICATE KEY UPDATE number = number",
			update: "UPDATE item SET stock = stock - ? WHERE id = ?",
		}
	}
	if !mended {
		s.again = ""
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		fail(err)
	}
	defer db.Close()
	s.DB = db
	for n := range 6 {
		if err := s.place(mended, n%3+1, n+1); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "the order was not placed:", err)
	os.Exit(1)
}

// shop is the database, and the statements in its language.
type shop struct {
	*sql.DB
	insert, again, update string
}

func (s shop) place(mended bool, item, pieces int) (err error) {
	number, attempts := rand.Text(), 5
	if mended {
		attempts = 200
	}
	for attempt := range attempts {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if mended {
			ctx, cancel = context.WithTimeout(ctx, time.Second)
		} else {
			number = rand.Text()
		}
		err = s.order(ctx, number, item, pieces)
		cancel()
		if err == nil {
			return nil
		}
		fmt.Fprintln(os.Stderr, err)
		if mended { // the pool would give a connection again that takes no writes
			s.SetMaxIdleConns(0)
			s.SetMaxIdleConns(2)
		}
		time.Sleep(min(50*time.Millisecond*time.Duration(attempt+1), 500*time.Millisecond))
	}
	return err
}

func (s shop) order(ctx context.Context, number string, item, pieces int) error {
	tx, err := s.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	placed, err := tx.ExecContext(ctx, s.insert+s.again, number, item, pieces)
	if err != nil {
		return err
	}
	if n, err := placed.RowsAffected(); err != nil || n == 0 {
		return err // it was placed by an earlier attempt
	}
	if _, err := tx.ExecContext(ctx, s.update, pieces, item); err != nil {
		return err
	}
	return tx.Commit()
}
