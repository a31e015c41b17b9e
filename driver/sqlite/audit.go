package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"assay/workload/bank"
)

// Audit implements bank.Auditor: one read transaction, which sees one snapshot
// (https://www.sqlite.org/isolation.html). With a rollback journal instead of
// the write-ahead log it holds up writers while it lasts.
func (s *store) Audit(ctx context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("sqlite: audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	return s.explain("audit", s.reading(ctx, func(tx *sql.Tx) error {
		for i, id := range ids {
			states[i] = bank.State{}
			err := tx.QueryRowContext(ctx, "SELECT balance, version FROM assay_account WHERE id = ?", id).
				Scan(&states[i].Balance, &states[i].Version)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		return nil
	}))
}

// AuditAll implements bank.Auditor.
func (s *store) AuditAll(ctx context.Context) (bank.Totals, error) {
	var t bank.Totals
	err := s.reading(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*), coalesce(sum(balance), 0), coalesce(sum(version), 0) FROM assay_account").
			Scan(&t.Accounts, &t.Balance, &t.Versions)
	})
	return t, s.explain("audit of all accounts", err)
}
