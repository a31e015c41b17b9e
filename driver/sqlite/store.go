package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"assay/workload"
	"assay/workload/bank"
)

// Both tables are clustered by their id, which is the rowid, so that they need
// no index beside them.
const bankSchema = `
CREATE TABLE assay_account (
	id INTEGER PRIMARY KEY, balance INTEGER NOT NULL, version INTEGER NOT NULL
) STRICT;
CREATE TABLE assay_transfer (
	id INTEGER PRIMARY KEY, source INTEGER NOT NULL, destination INTEGER NOT NULL, amount INTEGER NOT NULL,
	source_version INTEGER NOT NULL, destination_version INTEGER NOT NULL
) STRICT;`

// store is a bank.Store on one file.
type store struct{ *file }

// OpenBank returns the Store of the file that target.Address names, as
// sqlite:PATH with the optional parameters journal (wal, delete, truncate) and
// synchronous (full, normal, off, extra), by default wal and full: what is
// committed is on disk. It opens nothing yet. It returns
// *workload.OptionError.
func OpenBank(_ context.Context, target workload.Target) (bank.Store, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &store{newFile(o, file{
		tables: []string{"assay_account", "assay_transfer"}, schema: bankSchema, begin: "begin immediate",
	})}, nil
}

// LoadAccounts implements bank.Store.
func (s *store) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	if err := s.write(ctx); err != nil {
		return s.explain("load accounts", err)
	}
	defer s.done()
	return s.explain("load accounts", s.insert(ctx, batch))
}

func (s *store) insert(ctx context.Context, batch []bank.Account) (err error) {
	if s.loader == nil {
		if s.loader, err = s.writing(); err != nil {
			return err
		}
		s.loader.SetMaxIdleConns(1)
	}
	tx, err := s.loader.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, rolledBack(tx.Rollback()))
		}
	}()
	insert, err := tx.PrepareContext(ctx, "INSERT INTO assay_account (id, balance, version) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, a := range batch {
		if _, err := insert.ExecContext(ctx, a.ID, a.Balance, a.Version); err != nil {
			return fmt.Errorf("account %d: %w", a.ID, err)
		}
	}
	return tx.Commit()
}

// FinishLoad implements bank.Store. There is nothing to build late: both
// tables are their own index.
func (s *store) FinishLoad(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return s.explain("finish load", err)
	}
	defer s.done()
	err := using(s.writing, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "UPDATE assay_mark SET loaded = 1"); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	})
	return s.explain("finish load", errors.Join(err, s.closeLoader()))
}
