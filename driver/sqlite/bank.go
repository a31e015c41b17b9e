package sqlite

import (
	"context"
	"database/sql"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/bank"
)

// OpenBank returns the Store of the file that target.Address names, as
// sqlite:PATH with the optional parameters journal (wal, delete, truncate) and
// synchronous (full, normal, off, extra), by default wal and full: what is
// committed is on disk. It opens nothing yet. It returns
// *workload.OptionError.
func OpenBank(_ context.Context, target workload.Target) (bank.Store, error) {
	return sqldb.Opened(sqldb.Bank)(open(target, sqldb.BankSchema(), beginWriting))
}

// AuditView implements sqldb.BankDatabase: one read transaction, which sees one
// snapshot (https://www.sqlite.org/isolation.html). With a rollback journal instead
// of the write-ahead log it holds up writers while it lasts.
func (f *file) AuditView(ctx context.Context, read func(sqldb.Reader) error) error {
	return f.explain("audit", f.reading(ctx, func(tx *sql.Tx) error { return read(reader{tx}) }))
}
