// Command orders places orders with database/sql: go run ./examples/application/orders [naive|mended]
//
// The naive form tries an order again after any error, under a new number, and waits for answers
// for ever. The mended form gives each order its number once, so that the second attempt finds
// what the first has done, and gives each attempt a second.
package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

func main() {
	mended := len(os.Args) > 1 && os.Args[1] == "mended"
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		fail(err)
	}
	defer db.Close()
	for n := range 6 {
		if err := place(db, mended, n%3+1, n+1); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "the order was not placed:", err)
	os.Exit(1)
}

func place(db *sql.DB, mended bool, item, pieces int) (err error) {
	number := rand.Text()
	for range 5 {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if mended {
			ctx, cancel = context.WithTimeout(ctx, time.Second)
		} else {
			number = rand.Text()
		}
		err = order(ctx, db, mended, number, item, pieces)
		cancel()
		if err == nil {
			return nil
		}
		fmt.Fprintln(os.Stderr, err)
		if mended { // the pool would give a connection again that takes no writes
			db.SetMaxIdleConns(0)
			db.SetMaxIdleConns(2)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}

func order(ctx context.Context, db *sql.DB, mended bool, number string, item, pieces int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	again := ""
	if mended {
		again = " ON CONFLICT (number) DO NOTHING"
	}
	placed, err := tx.ExecContext(ctx, "INSERT INTO sale (number, item, pieces) VALUES ($1, $2, $3)"+again, number, item, pieces)
	if err != nil {
		return err
	}
	if n, err := placed.RowsAffected(); err != nil || n == 0 {
		return err // it was placed by an earlier attempt
	}
	if _, err := tx.ExecContext(ctx, "UPDATE item SET stock = stock - $1 WHERE id = $2", pieces, item); err != nil {
		return err
	}
	return tx.Commit()
}
