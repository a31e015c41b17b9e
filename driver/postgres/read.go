package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

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
	return operation("read", err)
}
