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

	"assay/driver/sqldb"
	"assay/store"
)

// leaseSuffix names the file of the lease, beside the workload's own. It is an
// SQLite file of its own, so that it outlives the workload's when that is made
// anew, and that renewing the lease does not wait for the workload's writers, nor
// they for it.
const leaseSuffix = "-lease"

// leaseSchema keeps moments in milliseconds since 1970, by the clock of whoever
// has the file open: SQLite has no other, and a file has one machine.
const leaseSchema = `CREATE TABLE IF NOT EXISTS assay_lease (
	id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL, holder TEXT NOT NULL,
	since INTEGER NOT NULL, expires INTEGER NOT NULL
) STRICT;`

// leaseTries bounds how often a lease's file is opened again that was removed
// between opening and writing.
const leaseTries = 5

// errNoLease says that there is no lease's file, or none that is made to its end.
var errNoLease = errors.New("there is no lease")

func (f *file) leasePath() string { return f.path + leaseSuffix }

// leaseFile opens the lease's file, in this mode (rw or rwc), and calls work in
// one transaction, which has the file to itself. Without the file it gives
// errNoLease. One that is not ours gives *store.ForeignError.
func (f *file) leaseFile(ctx context.Context, mode string, work func(*handle) error) error {
	for try := 1; ; try++ {
		err := f.leaseOnce(ctx, mode, work)
		// Another removed it, released, after it was opened here.
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

// leaseOurs makes sure that the file is a lease's, and makes the table if that is
// asked for.
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

// leaseDo reads the lease, nil if there is none, and calls work in the same
// transaction; without the file it gives errNoLease.
func (f *file) leaseDo(ctx context.Context, doing, mode string, work func(*handle, *store.Lease) error) error {
	return f.explainOthers(doing, f.leaseFile(ctx, mode, func(h *handle) error {
		var lease *store.Lease
		err := h.Query(ctx, "SELECT token, holder, since, expires FROM assay_lease", func(row store.Row) error {
			var token, holder string
			var since, expires int64
			err := row.Scan(&token, &holder, &since, &expires)
			lease = store.NewLease(token, []byte(holder), time.UnixMilli(since), time.Until(time.UnixMilli(expires)))
			return err
		})
		if err != nil {
			return err
		}
		return work(h, lease)
	}))
}

// orNoLease is err, unless it says that there is none.
func orNoLease(err error) error {
	if errors.Is(err, errNoLease) {
		return nil
	}
	return err
}

// Lease returns the lease in the file beside the workload's.
func (f *file) Lease(ctx context.Context) (found *store.Lease, err error) {
	err = f.leaseDo(ctx, "look for a lease", "rw", func(_ *handle, lease *store.Lease) error {
		found = lease
		return nil
	})
	return found, orNoLease(err)
}

// admit gives *store.HeldError if another holds the lease.
func (f *file) admit(ctx context.Context) error {
	lease, err := f.Lease(ctx)
	if err != nil {
		return err
	}
	return lease.Admit(f.name, f.taken.Holder().Token)
}

// TakeLease takes the lease, in an exclusive transaction.
func (f *file) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	const doing = "take the lease"
	if _, err := f.look(ctx); err != nil {
		return err
	}
	if err := f.inDirectory(doing); err != nil {
		return err
	}
	text, err := json.Marshal(holder)
	if err != nil {
		return f.explain(doing, err)
	}
	err = f.leaseDo(ctx, doing, "rwc", func(h *handle, lease *store.Lease) error {
		if err := lease.MayTake(f.name, holder, gone); err != nil {
			return err
		}
		if lease != nil && lease.Token != holder.Token {
			if err := f.unused(ctx, lease); err != nil {
				return err
			}
		}
		now := time.Now()
		return h.changeBy(ctx, "INSERT OR REPLACE INTO assay_lease (id, token, holder, since, expires) VALUES (1, $1, $2, $3, $4)",
			store.OfText(holder.Token), store.OfText(string(text)), store.OfInt(now.UnixMilli()), store.OfInt(now.Add(ttl).UnixMilli()))
	})
	if err == nil {
		f.taken.Set(holder)
	}
	return err
}

// unused gives *store.HeldError if a connection has the workload's file open, whose
// lease was let expire: then it cannot be made anew, and whoever takes the lease would
// have taken it for nothing. In write-ahead mode every connection holds a shared lock on
// the file; the one that would have it to itself without shared memory needs all of it
// (https://www.sqlite.org/wal.html, "Use of WAL Without Shared-Memory").
func (f *file) unused(ctx context.Context, lease *store.Lease) error {
	if ours, err := f.look(ctx); err != nil || !ours {
		return err
	}
	err := within(ctx, f.dsn("rw", append(f.pragmas(), "_pragma=locking_mode(exclusive)")...), func(h *handle) error {
		return h.change(ctx, "BEGIN EXCLUSIVE", "ROLLBACK")
	})
	if code := primary(err); code == codes.SQLITE_BUSY || code == codes.SQLITE_LOCKED {
		return &store.HeldError{Name: f.name, Lease: *lease, Open: true}
	}
	return err
}

// RenewLease moves the expiry on.
func (f *file) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	err := f.leaseDo(ctx, "renew the lease", "rw", func(h *handle, lease *store.Lease) error {
		if err := lease.MayRenew(f.name, token); err != nil {
			return err
		}
		return h.changeBy(ctx, "UPDATE assay_lease SET expires = $1", store.OfInt(time.Now().Add(ttl).UnixMilli()))
	})
	if errors.Is(err, errNoLease) {
		return &store.NoSchemaError{Name: f.name}
	}
	return err
}

// ReleaseLease removes the file of the lease, if it is this one. Whoever has
// opened it meanwhile is refused its write (SQLITE_READONLY_DBMOVED) and opens it
// anew.
func (f *file) ReleaseLease(ctx context.Context, token string) error {
	return orNoLease(f.leaseDo(ctx, "release the lease", "rw", func(_ *handle, lease *store.Lease) error {
		if lease == nil || lease.Token != token {
			return nil
		}
		return f.removeLease()
	}))
}

// removeLease is for whoever has the lease's file to itself.
func (f *file) removeLease() error {
	if err := os.Remove(f.leasePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// dropLease removes the file of the lease that admit has let pass.
func (f *file) dropLease(ctx context.Context) error {
	return orNoLease(f.leaseDo(ctx, "drop the lease", "rw", func(_ *handle, lease *store.Lease) error {
		if err := lease.Admit(f.name, f.taken.Holder().Token); err != nil {
			return err
		}
		return f.removeLease()
	}))
}
