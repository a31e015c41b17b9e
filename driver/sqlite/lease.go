package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	codes "modernc.org/sqlite/lib"

	"assay/driver/ownership"
	"assay/driver/sqldb"
	"assay/store"
)

// leaseSuffix names the lease's file, an SQLite file beside the workload's. It outlives the
// workload's file, and renewing the lease does not wait for the workload's writers, or they for it.
const leaseSuffix = "-lease"

// leaseSchema has moments in milliseconds since 1970, by the clock of the machine.
const leaseSchema = `CREATE TABLE IF NOT EXISTS assay_lease (
	id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL, holder TEXT NOT NULL,
	since INTEGER NOT NULL, expires INTEGER NOT NULL
) STRICT;`

// leaseTries bounds the reopening of a file that was removed between opening and writing.
const leaseTries = 5

var errNoLease = errors.New("there is no lease")

func (f *file) leasePath() string { return f.path + leaseSuffix }

// leaseFile opens the lease's file in a mode (rw or rwc) and calls work in an exclusive
// transaction. It returns errNoLease, or *store.ForeignError for somebody else's file.
func (f *file) leaseFile(ctx context.Context, mode string, work func(*handle) error) error {
	for try := 1; ; try++ {
		err := f.leaseOnce(ctx, mode, work)
		// Another released the lease and removed the file after this open.
		moved := primary(err) == codes.SQLITE_READONLY || primary(err) == codes.SQLITE_IOERR
		if !moved || try == leaseTries {
			return err
		}
	}
}

func (f *file) leaseOnce(ctx context.Context, mode string, work func(*handle) error) error {
	if _, err := os.Stat(f.leasePath()); mode == "rw" && errors.Is(err, fs.ErrNotExist) {
		return errNoLease
	}
	o := f.options
	o.path = f.leasePath()
	err := within(ctx, o.dsn(mode, append(f.pragmas(), "_pragma=journal_mode(delete)")...), func(h *handle) error {
		if err := h.change(ctx, "BEGIN EXCLUSIVE"); err != nil {
			return err
		}
		if err := f.leaseOurs(ctx, h, mode == "rwc"); err != nil {
			return err
		}
		if err := work(h); err != nil {
			return err
		}
		return h.change(ctx, "COMMIT")
	})
	if mode == "rw" && primary(err) == codes.SQLITE_CANTOPEN {
		return errNoLease // it was removed just now
	}
	if primary(err) == codes.SQLITE_NOTADB {
		return f.foreignLease()
	}
	return err
}

// leaseOurs checks that the file is a lease's. It makes the table if create is true.
func (f *file) leaseOurs(ctx context.Context, h *handle, create bool) error {
	var tables int
	var id int64
	if err := sqldb.One(ctx, h, "SELECT count(*) FROM sqlite_schema", nil, &tables); err != nil {
		return err
	}
	if err := sqldb.One(ctx, h, "PRAGMA application_id", nil, &id); err != nil {
		return err
	}
	switch {
	case tables > 0 && id != applicationID:
		return f.foreignLease()
	case tables > 0:
		return nil
	case !create:
		return errNoLease
	}
	return h.change(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID), leaseSchema)
}

func (f *file) foreignLease() error {
	return &store.ForeignError{Name: f.name + leaseSuffix, Hint: "name another file, or move that one away"}
}

func readLease(ctx context.Context, h *handle) (found *ownership.Row, err error) {
	err = h.Query(ctx, "SELECT token, holder, since, expires FROM assay_lease", func(row store.Row) error {
		var token, holder string
		var since, expires int64
		err := row.Scan(&token, &holder, &since, &expires)
		lease := store.NewLease(token, []byte(holder), time.UnixMilli(since), time.Until(time.UnixMilli(expires)))
		found = &ownership.Row{Lease: *lease, End: expires}
		return err
	})
	return found, err
}

func (f *file) ReadLease(ctx context.Context, _ ownership.Direct) (found *ownership.Row, err error) {
	err = f.leaseFile(ctx, "rw", func(h *handle) error {
		found, err = readLease(ctx, h)
		return err
	})
	if errors.Is(err, errNoLease) {
		return nil, nil
	}
	return found, f.explainOthers("look for a lease", err)
}

// WriteLease implements ownership.Place in an exclusive transaction. It removes an ended lease's
// file; a connection that has opened it gets SQLITE_READONLY_DBMOVED and opens it again.
func (f *file) WriteLease(ctx context.Context, _ ownership.Direct, was *ownership.Row, is *store.Lease) (done bool, err error) {
	const doing = "write the lease"
	mode, holder := "rw", []byte(nil)
	if is != nil {
		mode = "rwc"
		if err := f.inDirectory(doing); err != nil {
			return false, err
		}
		if holder, err = json.Marshal(is.Holder); err != nil {
			return false, f.explain(doing, err)
		}
	}
	err = f.leaseFile(ctx, mode, func(h *handle) error {
		now, err := readLease(ctx, h)
		done = err == nil && (now == nil) == (was == nil) && (now == nil || now.Token == was.Token && now.End == was.End)
		switch {
		case !done:
			return err
		case is == nil:
			return f.removeLease()
		case was != nil && was.Token != is.Token:
			if err := f.unused(ctx, was.Lease); err != nil {
				return err
			}
		}
		since := is.Since
		if since.IsZero() {
			since = time.Now()
		}
		return h.changeBy(ctx, "INSERT OR REPLACE INTO assay_lease (id, token, holder, since, expires) VALUES (1, $1, $2, $3, $4)",
			store.OfText(is.Token), store.OfText(string(holder)), store.OfInt(since.UnixMilli()), store.OfInt(time.Now().Add(is.Remaining).UnixMilli()))
	})
	if errors.Is(err, errNoLease) {
		return false, nil
	}
	return done && err == nil, f.explainOthers(doing, err)
}

// unused returns *store.HeldError if a connection has the workload's file open although its lease
// expired. The file could then not be made anew. With a write-ahead log every connection holds a
// shared lock, which conflicts with exclusive locking without shared memory
// (https://www.sqlite.org/wal.html, "Use of WAL Without Shared-Memory").
func (f *file) unused(ctx context.Context, lease store.Lease) error {
	if ours, err := f.look(ctx); err != nil || !ours {
		return err
	}
	err := within(ctx, f.dsn("rw", append(f.pragmas(), "_pragma=locking_mode(exclusive)")...), func(h *handle) error {
		return h.change(ctx, "BEGIN EXCLUSIVE", "ROLLBACK")
	})
	if code := primary(err); code == codes.SQLITE_BUSY || code == codes.SQLITE_LOCKED {
		return &store.HeldError{Name: f.name, Lease: lease, Open: true}
	}
	return err
}

func (f *file) removeLease() error {
	if err := os.Remove(f.leasePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
