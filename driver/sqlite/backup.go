package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	library "modernc.org/sqlite"

	"assay/store"
)

const (
	backupFile = "backup.sqlite"
	// stepPages is the number of pages copied between looks at the context.
	stepPages = 1000
)

// BackUp copies an address's database into a folder by SQLite's backup API
// (https://www.sqlite.org/backup.html), or copies the bare file if way is "copy". The API's copy is
// one reading transaction, so writers never restart it. With a write-ahead log nobody waits for it.
func BackUp(ctx context.Context, address, way, into string) (by string, err error) {
	address, _, _ = strings.Cut(address, "?") // what follows is how sessions use it
	o, err := parse(store.Target{Address: address})
	if err != nil {
		return "", err
	}
	to := filepath.Join(into, backupFile)
	if way != "" {
		// Another process copies: closing the file here would drop SQLite's locks
		// (https://www.sqlite.org/howtocorrupt.html, 2.2).
		text, err := exec.CommandContext(ctx, "cp", o.path, to).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("cp: %w: %s", err, strings.TrimSpace(string(text)))
		}
		return "a copy of the file without its log", err
	}
	name := o.dsn("rw", "_pragma=busy_timeout("+strconv.FormatInt(lockTimeout.Milliseconds(), 10)+")")
	err = within(ctx, name, func(h *handle) error {
		if err := h.change(ctx, "BEGIN"); err != nil {
			return err
		}
		if err := h.Query(ctx, "SELECT count(*) FROM sqlite_schema", func(store.Row) error { return nil }); err != nil {
			return err
		}
		return h.copyTo(ctx, to)
	})
	return "SQLite's backup API", err
}

func (h *handle) copyTo(ctx context.Context, path string) (err error) {
	backup, err := h.raw.(interface {
		NewBackup(to string) (*library.Backup, error)
	}).NewBackup(options{path: path}.dsn("rwc"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backup.Finish()) }()
	for more := true; more; {
		if more, err = backup.Step(stepPages); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Restored is the address of a backup's database in a folder.
func Restored(folder string) (address string) {
	return scheme + filepath.Join(folder, backupFile)
}
