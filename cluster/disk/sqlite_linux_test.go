package disk

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"testing"

	_ "modernc.org/sqlite"

	"assay/internal/expect"
)

var sqliteCuts = flag.Int("disk.cuts", 4, "cuts under each of SQLite's settings")

// TestSQLiteKeepsWhatItsManualPromises inserts rows, one transaction each, and cuts. Acknowledged
// rows survive as https://sqlite.org/pragma.html#pragma_synchronous says, and the file is never
// damaged.
func TestSQLiteKeepsWhatItsManualPromises(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		journal, synchronous string
		// The least and the most transactions that a worst cut loses.
		least, most int
	}{
		{"wal", "full", 0, 0},
		{"delete", "extra", 0, 0},
		// The folder is not synced after the removal of the journal, which comes back.
		{"delete", "full", 1, 1},
		{"truncate", "full", 0, 0},
		{"wal", "normal", 1, rowsBeforeCut},
		{"wal", "off", 1, rowsBeforeCut},
	} {
		t.Run(c.journal+"/"+c.synchronous, func(t *testing.T) {
			d := openDisk(t)
			address := fmt.Sprintf("file:%s?_pragma=journal_mode(%s)&_pragma=synchronous(%s)", d.in("a.sqlite"), c.journal, c.synchronous)
			insertUntilCut(t, d, address, 0, Worst, 0)
			rows := 0
			for i := range *sqliteCuts {
				mode := Modes()[i%len(Modes())]
				expect.NoError(t, d.Sync())
				insertUntilCut(t, d, address, rowsBeforeCut, mode, uint64(i))
				left := intactRows(t, address)
				lost := rows + rowsBeforeCut - left
				if lost > c.most || lost < c.least && mode == Worst {
					t.Errorf("cut %d, %s: %d acknowledged transactions are lost; at least %d and at most %d can be", i, mode, lost, c.least, c.most)
				}
				rows = left
			}
		})
	}
}

const rowsBeforeCut = 20

// insertUntilCut inserts rows and cuts the disk while the file is open.
func insertUntilCut(t *testing.T, d *Disk, address string, rows int, mode Mode, seed uint64) {
	t.Helper()
	db, err := sql.Open("sqlite", address)
	expect.NoError(t, err)
	db.SetMaxOpenConns(1)
	for i := range rows + 1 {
		statement := "INSERT INTO kept (text) VALUES (hex(randomblob(300)))"
		if i == 0 {
			statement = "CREATE TABLE IF NOT EXISTS kept (id INTEGER PRIMARY KEY, text TEXT)"
		}
		if _, err := db.ExecContext(context.Background(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if rows == 0 {
		expect.NoError(t, db.Close())
		return
	}
	if _, err := d.Cut(mode, seed); err != nil {
		t.Fatal(err)
	}
	_ = db.Close() // on a disk that is cut
	expect.NoError(t, d.Restore())
}

func intactRows(t *testing.T, address string) (rows int) {
	t.Helper()
	db, err := sql.Open("sqlite", address)
	expect.NoError(t, err)
	defer db.Close()
	var intact string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&intact); err != nil || intact != "ok" {
		t.Errorf("%s: %v", intact, err)
	}
	expect.NoError(t, db.QueryRow("SELECT count(*) FROM kept").Scan(&rows))
	return rows
}
