package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// callbackError carries what a reader's callback returned past the wrapping, so
// that it goes back as it came.
type callbackError struct{ err error }

func (e *callbackError) Error() string { return e.err.Error() }

// stopped is the error of a callback, if there is one.
func stopped(err error) error {
	if err == nil {
		return nil
	}
	return &callbackError{err}
}

// view has read look at a schema that carries our mark, in one read-only
// transaction that sees one snapshot (PostgreSQL manual, "Repeatable Read
// Isolation Level").
func (p *schema) view(ctx context.Context, from *pool, read func(*pgx.Conn) error) error {
	err := from.use(ctx, func(conn *pgx.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: p.dialect.snapshot, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		if err = p.mustMark(ctx, tx); err == nil {
			err = read(conn)
		}
		if err != nil {
			// If this fails too, the pool will not keep the connection; the
			// first error is the one that matters.
			_ = tx.Rollback(ctx)
			return err
		}
		return tx.Commit(ctx)
	})
	var callback *callbackError
	if errors.As(err, &callback) {
		return callback.err
	}
	return operation("read", err)
}

// stream gives each row of a query, with its columns in binary format, to the
// callback. Rows come from the socket as they are taken, which holds the server
// back if the callback is slow. After an error of the callback, which is
// returned, the connection is closed, because the alternative is to receive all
// the rows that are left.
func stream(ctx context.Context, conn *pgx.Conn, sql string, row func(values [][]byte) error) error {
	ctx, abandon := context.WithCancel(ctx)
	defer abandon()
	result := conn.PgConn().ExecParams(ctx, sql, nil, nil, nil, []int16{binaryFormat})
	for result.NextRow() {
		if err := row(result.Values()); err != nil {
			abandon()
			_, _ = result.Close()
			return err
		}
	}
	_, err := result.Close()
	return err
}
