package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"assay/workload/bank"
)

var _ bank.Auditor = (*bankStore)(nil)

// Audit implements bank.Auditor. An audit can fail with a serialization failure
// where transfers are serializable.
func (s *bankStore) Audit(ctx context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("postgres: audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	return operation("audit", s.reading(ctx, func(tx pgx.Tx) error {
		for i, id := range ids {
			states[i] = bank.State{}
			err := tx.QueryRow(ctx, `SELECT balance, version FROM `+bankSchema+`.account WHERE id = $1`, id).
				Scan(&states[i].Balance, &states[i].Version)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
		}
		return nil
	}))
}

// AuditAll implements bank.Auditor.
func (s *bankStore) AuditAll(ctx context.Context) (bank.Totals, error) {
	var t bank.Totals
	err := s.reading(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `SELECT count(*), coalesce(sum(balance), 0)::bigint, coalesce(sum(version), 0)::bigint
			FROM `+bankSchema+`.account`).Scan(&t.Accounts, &t.Balance, &t.Versions)
	})
	if err != nil {
		return bank.Totals{}, operation("audit of all accounts", err)
	}
	return t, nil
}

// reading runs work in one read-only transaction that sees one snapshot. Where
// transfers are serializable so is this: a snapshot alone can show a state that
// no serial order of the transfers has (the read-only transaction anomaly;
// Fekete, O'Neil and O'Neil, SIGMOD Record 33/3, 2004).
func (s *bankStore) reading(ctx context.Context, work func(pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: s.dialect.snapshot, AccessMode: pgx.ReadOnly}
	if s.level == serializable {
		options.IsoLevel = pgx.Serializable
	}
	err := s.pool.inTransaction(ctx, options, work)
	if hasCode(err, codeUndefinedTable, codeInvalidSchemaName) {
		return s.missing()
	}
	return err
}
