package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/keyvalue"
)

// beginWriting is how Describe tells of transactions that write, and beginEither of
// those that may only read.
const (
	beginWriting = "begin immediate"
	beginEither  = "begin immediate; begin, if it only reads"
)

// open returns the file that the target names, for a workload.
func open(target workload.Target, kind sqldb.Schema, begin string) (*file, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	f := file{kind: kind, sql: dialect(), begin: begin}
	for _, t := range kind.Tables {
		f.tables = append(f.tables, f.sql.Table(t.Name))
	}
	for _, statement := range f.sql.Create(kind.Tables) {
		f.schema += statement + ";\n"
	}
	return newFile(o, f), nil
}

// OpenChurn returns the Store of the file that target.Address names, which must
// not hold another workload's run. Address and errors are as with OpenBank.
func OpenChurn(_ context.Context, target workload.Target) (churn.Store, error) {
	f, err := open(target, sqldb.ChurnSchema(), beginWriting)
	if err != nil {
		return nil, err
	}
	return sqldb.Churn(compactor{f}), nil
}

// compactor is a file that can be written anew.
type compactor struct{ *file }

// Size implements sqldb.Compactor: the file as it is, after the log has been
// copied into it, with the pages that are free.
func (s compactor) Size(ctx context.Context) (workload.Size, error) {
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

func (s compactor) Repairs() []string { return []string{repairVacuum} }

// Repair implements sqldb.Compactor: VACUUM "rebuilds the database file, repacking
// it into a minimal amount of disk space"
// (https://www.sqlite.org/lang_vacuum.html), in the log first.
func (s compactor) Repair(ctx context.Context, name string) error {
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
	return s.explain("vacuum", using(s.file.writing, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, repairVacuum); err != nil {
			return err
		}
		_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	}))
}

// OpenBulkUpdate returns the Store of the file that target.Address names, which
// must not hold another workload's run. Address and errors are as with
// OpenBank.
func OpenBulkUpdate(_ context.Context, target workload.Target) (bulkupdate.Store, error) {
	return sqldb.Opened(sqldb.BulkUpdate)(open(target, sqldb.BulkUpdateSchema(), beginWriting))
}

// Waits implements sqldb.Waiter. SQLite counts none; its writers stand in a queue
// of this driver's own.
func (f *file) Waits(context.Context) ([]bulkupdate.Wait, error) { return nil, nil }

// engine is what SQLite stores tables in; it has no other.
const engine = "btree"

// OpenCandles returns the Store of the file that target.Address names, which
// must not hold another workload's run. Address and errors are as with
// OpenBank.
func OpenCandles(_ context.Context, target workload.Target) (candles.Store, error) {
	return sqldb.Opened(sqldb.Candles)(open(target, sqldb.CandlesSchema(), "begin immediate, a batch each; begin, if it only reads"))
}

func (f *file) Engines(context.Context) ([]string, error) { return []string{engine}, nil }

func (f *file) CreateOn(ctx context.Context, mark workload.Marker, _ string, _ bool) error {
	return f.Create(ctx, mark)
}

// OpenKeyValue returns the Store of the file that target.Address names, which must
// not hold another workload's run. Address and errors are as with OpenBank; there
// is no member but one to answer reads.
func OpenKeyValue(_ context.Context, target workload.Target, table keyvalue.Table) (keyvalue.Store, error) {
	if target.Read != "" && target.Read != workload.ReadPrimary {
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary}
	}
	f, err := open(target, sqldb.KeyValueSchema(table, nil), beginEither)
	if err != nil {
		return nil, err
	}
	return sqldb.KeyValue(keyValueFile{f}, table, nil), nil
}

// keyValueFile is a file with a table of records.
type keyValueFile struct{ *file }

// Promise implements sqldb.KeyValueDatabase, on the grounds on which
// isolationStore.Promise does.
func (keyValueFile) Promise() string { return keyvalue.PromiseLinearizable }

func (f keyValueFile) ConnectKeyValue(ctx context.Context, statements []sqldb.Statement) (sqldb.Executor, error) {
	return f.Connect(ctx, statements)
}
