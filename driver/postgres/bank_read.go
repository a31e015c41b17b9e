package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"assay/workload/bank"
)

const (
	readAccounts = `SELECT id, balance, version FROM ` + bankSchema + `.account ORDER BY id`
	readJournal  = `SELECT id, source, destination, amount, source_version, destination_version FROM ` + bankSchema + `.transfer`
)

func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.readFrom(ctx, s.pool, account, entry)
}

// readFrom reads accounts and journal over connections of this pool.
func (s *bankStore) readFrom(ctx context.Context, from *pool, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.view(ctx, from, func(conn *pgx.Conn) error {
		err := stream(ctx, conn, readAccounts, func(row [][]byte) error {
			var a bank.Account
			if err := bigints(row, &a.ID, &a.Balance, &a.Version); err != nil {
				return err
			}
			return stopped(account(a))
		})
		if err != nil {
			return err
		}
		return stream(ctx, conn, readJournal, func(row [][]byte) error {
			var e bank.Entry
			err := bigints(row, &e.ID, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion)
			if err != nil {
				return err
			}
			return stopped(entry(e))
		})
	})
}
