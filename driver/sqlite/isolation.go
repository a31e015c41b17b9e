package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"assay/workload"
	"assay/workload/isolation"
)

// A list is one row with its elements as JSON, which SQLite appends to in one
// statement; and a list that is written as a whole is then one statement too,
// as it is in the applications that do that. Groups have an index, so that a
// count does not look at the rows of the whole run.
const isolationSchema = `
CREATE TABLE assay_list (key INTEGER PRIMARY KEY, elements TEXT NOT NULL) STRICT;
CREATE TABLE assay_register (key INTEGER PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE assay_member (id INTEGER PRIMARY KEY, grp INTEGER NOT NULL) STRICT;
CREATE INDEX assay_member_grp ON assay_member (grp);
CREATE TABLE assay_pair (id INTEGER PRIMARY KEY, value INTEGER NOT NULL) STRICT;`

// isolationStore is an isolation.Store on one file.
type isolationStore struct{ *file }

// OpenIsolation returns the Store of the file that target.Address names, which
// must not hold another workload's run. Address and errors are as with
// OpenBank.
func OpenIsolation(_ context.Context, target workload.Target) (isolation.Store, error) {
	o, err := parse(target)
	if err != nil {
		return nil, err
	}
	return &isolationStore{newFile(o, file{
		tables: []string{"assay_list", "assay_register", "assay_member", "assay_pair"}, schema: isolationSchema,
		begin: "begin immediate; begin, if it only reads",
	})}, nil
}

// Promise implements isolation.Store. SQLite's documentation promises
// serializable isolation "by actually serializing the writes"
// (https://www.sqlite.org/isolation.html), and in real time: whoever writes
// holds the only write lock from its beginning, so that what it reads is what
// the last commit left; and whoever reads "remembers the location of the last
// valid commit record in the WAL" when it begins
// (https://www.sqlite.org/wal.html), so it sees all that was committed by
// then. With a rollback journal readers and writers lock each other out.
func (s *isolationStore) Promise() string { return "strict-serializable" }

// Read implements isolation.Store.
func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	return s.view(ctx, func(tx *sql.Tx) error {
		var elements []int64
		err := each(ctx, tx, "SELECT key, elements FROM assay_list ORDER BY key", func(rows *sql.Rows) error {
			var key int64
			var text []byte
			if err := rows.Scan(&key, &text); err != nil {
				return err
			}
			if err := parseList(text, &elements); err != nil {
				return fmt.Errorf("list %d: %w", key, err)
			}
			return stopped(list(key, elements))
		})
		if err != nil {
			return err
		}
		return each(ctx, tx, "SELECT key, value FROM assay_register ORDER BY key", func(rows *sql.Rows) error {
			var key, value int64
			if err := rows.Scan(&key, &value); err != nil {
				return err
			}
			return stopped(register(key, value))
		})
	})
}

// parseList reads the elements of a list into what into has room for.
func parseList(text []byte, into *[]int64) error {
	*into = (*into)[:0]
	return json.Unmarshal(text, into)
}
