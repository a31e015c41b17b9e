package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

const bulkUpdateSchema = `
CREATE TABLE assay_document (
	id INTEGER PRIMARY KEY, owner INTEGER NOT NULL, number INTEGER NOT NULL,
	flag INTEGER NOT NULL, generation INTEGER NOT NULL, payload TEXT NOT NULL
) STRICT;`

// bulkUpdateStore is a bulkupdate.Store on one file.
type bulkUpdateStore struct{ *file }

// OpenBulkUpdate returns the Store of the file that target.Address names, which
// must not hold another workload's run. Address and errors are as with
// OpenBank.
func OpenBulkUpdate(_ context.Context, target workload.Target) (bulkupdate.Store, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &bulkUpdateStore{newFile(o, file{
		tables: []string{"assay_document"}, schema: bulkUpdateSchema, begin: "begin immediate",
	})}, nil
}

// Atomic implements bulkupdate.Store: "All changes within a single transaction
// in SQLite either occur completely or not at all"
// (https://www.sqlite.org/transactional.html).
func (s *bulkUpdateStore) Atomic() bool { return true }

// Waits implements bulkupdate.Store. SQLite counts none; its writers stand in a
// queue of this driver's own.
func (s *bulkUpdateStore) Waits(context.Context) ([]bulkupdate.Wait, error) { return nil, nil }

// Load implements bulkupdate.Store.
func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	if err := s.write(ctx); err != nil {
		return s.explain("load documents", err)
	}
	defer s.done()
	return s.explain("load documents", s.insert(ctx, batch))
}

func (s *bulkUpdateStore) insert(ctx context.Context, batch []bulkupdate.Document) (err error) {
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
	insert, err := tx.PrepareContext(ctx, "INSERT INTO assay_document (id, owner, number, flag, generation, payload) VALUES (?, ?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, d := range batch {
		if _, err := insert.ExecContext(ctx, d.ID, d.User, d.Number, number(d.Flag), d.Generation, d.Payload); err != nil {
			return fmt.Errorf("document %d: %w", d.ID, err)
		}
	}
	return tx.Commit()
}

// number is a boolean as SQLite has them.
func number(flag bool) int64 {
	if flag {
		return 1
	}
	return 0
}

// FinishLoad implements bulkupdate.Store.
func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error {
	if err := s.write(ctx); err != nil {
		return s.explain("finish load", err)
	}
	defer s.done()
	err := using(s.writing, func(db *sql.DB) error {
		for _, statement := range []string{
			"CREATE INDEX assay_document_owner ON assay_document (owner)", "ANALYZE",
			"UPDATE assay_mark SET loaded = 1", "PRAGMA wal_checkpoint(TRUNCATE)",
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	return s.explain("finish load", errors.Join(err, s.closeLoader()))
}

// Read implements bulkupdate.Store.
func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return s.view(ctx, func(tx *sql.Tx) error {
		return each(ctx, tx, "SELECT id, owner, number, flag, generation, payload FROM assay_document", func(rows *sql.Rows) error {
			var d bulkupdate.Document
			if err := rows.Scan(&d.ID, &d.User, &d.Number, &d.Flag, &d.Generation, &d.Payload); err != nil {
				return err
			}
			return stopped(document(d))
		})
	})
}

// bulkUpdateSession is one client's of workload bulkupdate.
type bulkUpdateSession struct {
	*connection
	update *sql.Stmt
}

// Session implements bulkupdate.Store.
func (s *bulkUpdateStore) Session(ctx context.Context) (bulkupdate.Session, error) {
	l, err := s.dial(ctx, "UPDATE assay_document SET flag = ?, generation = ? WHERE owner = ?")
	if err != nil {
		return nil, err
	}
	return &bulkUpdateSession{connection: l, update: l.statements[0]}, nil
}

// Update implements bulkupdate.Session. The transaction keeps its count to
// itself until it has ended, since it may go on after the caller has left.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	var changed int64
	e := n.do(ctx, &run{writes: true, doing: "update", work: func(ctx context.Context) (bool, error) {
		result, err := n.update.ExecContext(ctx, number(flag), generation, user)
		if err == nil {
			changed, err = result.RowsAffected()
		}
		return err == nil, err
	}})
	r := bulkupdate.Reply{Reply: e.Reply}
	if !e.left && e.Outcome == history.Committed {
		r.Changed = changed
	}
	return r
}
