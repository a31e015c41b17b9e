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
		var v [6]int64
		err := stream(ctx, conn, readAccounts, func(row [][]byte) error {
			if err := bigints(row, v[:3]); err != nil {
				return err
			}
			return stopped(account(bank.Account{ID: v[0], Balance: v[1], Version: v[2]}))
		})
		if err != nil {
			return err
		}
		return stream(ctx, conn, readJournal, func(row [][]byte) error {
			if err := bigints(row, v[:]); err != nil {
				return err
			}
			return stopped(entry(bank.Entry{
				Transfer:      bank.Transfer{ID: v[0], Source: v[1], Destination: v[2], Amount: v[3]},
				SourceVersion: v[4], DestinationVersion: v[5],
			}))
		})
	})
}
