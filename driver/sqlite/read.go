package sqlite

import (
	"context"
	"database/sql"

	"assay/workload/bank"
)

// Read implements bank.Store.
func (s *store) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.view(ctx, func(tx *sql.Tx) error {
		err := each(ctx, tx, "SELECT id, balance, version FROM assay_account ORDER BY id", func(rows *sql.Rows) error {
			var a bank.Account
			if err := rows.Scan(&a.ID, &a.Balance, &a.Version); err != nil {
				return err
			}
			return stopped(account(a))
		})
		if err != nil {
			return err
		}
		return each(ctx, tx, `SELECT id, source, destination, amount, source_version, destination_version
		FROM assay_transfer`, func(rows *sql.Rows) error {
			var e bank.Entry
			err := rows.Scan(&e.ID, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion)
			if err != nil {
				return err
			}
			return stopped(entry(e))
		})
	})
}
