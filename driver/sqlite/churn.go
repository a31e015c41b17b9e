package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	"assay/workload"
	"assay/workload/churn"
)

const churnSchema = `
CREATE TABLE assay_entry (id INTEGER PRIMARY KEY, payload TEXT NOT NULL) STRICT;`

// churnStore is a churn.Store on one file.
type churnStore struct{ *file }

// OpenChurn returns the Store of the file that target.Address names, which must
// not hold another workload's run. Address and errors are as with OpenBank.
func OpenChurn(_ context.Context, target workload.Target) (churn.Store, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &churnStore{newFile(o, file{tables: []string{"assay_entry"}, schema: churnSchema, begin: "begin immediate"})}, nil
}

// Size implements churn.Store: the file as it is, after the log has been copied
// into it, with the pages that are free.
func (s *churnStore) Size(ctx context.Context) (workload.Size, error) {
	size, err := s.file.Size(ctx)
	if err != nil {
		return size, err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return workload.Size{}, s.explain("size", err)
	}
	size.Bytes, size.Tables, size.Indexes = info.Size(), 0, 0
	return size, nil
}

const repairVacuum = "VACUUM"

// Repairs implements churn.Store.
func (s *churnStore) Repairs() []string { return []string{repairVacuum} }

// Repair implements churn.Store: VACUUM "rebuilds the database file, repacking
// it into a minimal amount of disk space"
// (https://www.sqlite.org/lang_vacuum.html), in the log first.
func (s *churnStore) Repair(ctx context.Context, name string) error {
	if name != repairVacuum {
		return fmt.Errorf("sqlite: there is no repair %q", name)
	}
	if err := s.mustExist(ctx); err != nil {
		return err
	}
	if err := s.write(ctx); err != nil {
		return s.explain("vacuum", err)
	}
	defer s.done()
	return s.explain("vacuum", using(s.writing, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, repairVacuum); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	}))
}

// Read implements churn.Store.
func (s *churnStore) Read(ctx context.Context, row func(churn.Row) error) error {
	return s.view(ctx, func(tx *sql.Tx) error {
		return each(ctx, tx, "SELECT id, payload FROM assay_entry", func(rows *sql.Rows) error {
			var r churn.Row
			if err := rows.Scan(&r.ID, &r.Payload); err != nil {
				return err
			}
			return stopped(row(r))
		})
	})
}

// churnSession is one client's of workload churn.
type churnSession struct {
	*connection
	insert, remove *sql.Stmt
}

// Session implements churn.Store.
func (s *churnStore) Session(ctx context.Context) (churn.Session, error) {
	l, err := s.dial(ctx, "INSERT INTO assay_entry (id, payload) VALUES (?, ?)", "DELETE FROM assay_entry WHERE id = ?")
	if err != nil {
		return nil, err
	}
	return &churnSession{connection: l, insert: l.statements[0], remove: l.statements[1]}, nil
}

// Insert implements churn.Session: for a database in this process a prepared
// statement for each row, all in one transaction, is what one statement is for a
// server.
func (n *churnSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	return n.each(ctx, "insert", len(rows), func(ctx context.Context, i int) error {
		_, err := n.insert.ExecContext(ctx, rows[i].ID, rows[i].Payload)
		return err
	})
}

// Delete implements churn.Session, as Insert.
func (n *churnSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	return n.each(ctx, "delete", len(ids), func(ctx context.Context, i int) error {
		_, err := n.remove.ExecContext(ctx, ids[i])
		return err
	})
}

func (n *churnSession) each(ctx context.Context, doing string, count int, do func(ctx context.Context, i int) error) churn.Reply {
	return n.do(ctx, &run{writes: true, doing: doing, work: func(ctx context.Context) (bool, error) {
		for i := range count {
			if err := do(ctx, i); err != nil {
				return false, err
			}
		}
		return true, nil
	}}).Reply
}
