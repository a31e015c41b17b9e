// Package ownership is how a run owns its schema in every database: what is looked at before
// the lease is taken, renewed or released, and before tables are made anew or dropped.
//
// It must not know any driver, nor how mark and lease are kept: that is a Place.
package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/wait"
	"assay/store"
)

// Row is the lease as a database keeps it.
type Row struct {
	store.Lease
	// End is when it expires, as the database counts, or whatever else tells a lease from the
	// same one after it was renewed.
	End int64
}

// lease is nil of no row.
func (r *Row) lease() *store.Lease {
	if r == nil {
		return nil
	}
	return &r.Lease
}

// Place is where a database keeps the mark, the lease and the tables of a schema. T is what
// one call uses: a transaction, or a connection.
type Place[T any] interface {
	// Title is what errors call the place.
	Title() string
	// Look has work read, and Change has it read and write. Where T is a transaction, Change
	// commits it, and does work again until it is known to be done.
	Look(ctx context.Context, doing string, work func(T) error) error
	Change(ctx context.Context, doing string, work func(T) error) error

	// ReadMark gives nil if there is nothing of ours, or only a lease, and *store.ForeignError
	// if there is something without our mark.
	ReadMark(ctx context.Context, t T) (*store.Marker, error)
	// WriteMark replaces a mark that is there.
	WriteMark(ctx context.Context, t T, mark store.Marker) error
	// ReadLease gives nil if there is none.
	ReadLease(ctx context.Context, t T) (*Row, error)
	// WriteLease replaces the lease that was read (nil for none), if it is still the same, and
	// reports whether it was. Of the new one Remaining counts from now, by the database's
	// clock, and Since is now if it is zero. A nil one deletes it.
	WriteLease(ctx context.Context, t T, was *Row, is *store.Lease) (done bool, err error)
	// Others gives *store.ForeignError for what others have made inside of a schema of ours.
	Others(ctx context.Context, t T) error
	// Rows counts the rows that Find tells.
	Rows(ctx context.Context, t T) (int64, error)
}

// Schema is the part of a store.Database that is alike in all of them.
type Schema[T any] struct {
	place Place[T]
	of    store.Schema
	taken store.Taken
}

// New is a schema at a place, which may have the schema as a part of it.
func New[T any](place Place[T], of store.Schema) *Schema[T] { return &Schema[T]{place: place, of: of} }

// Taken is the holder for whom the lease was taken last.
func (s *Schema[T]) Taken() store.Holder { return s.taken.Holder() }

// WorkFor implements store.ExistingTables.
func (s *Schema[T]) WorkFor(holder store.Holder) { s.taken.Set(holder) }

// Explained reports whether an error is one of these, which say all.
func Explained(err error) bool {
	return errors.As(err, new(*store.ForeignError)) || errors.As(err, new(*store.NoSchemaError)) || errors.As(err, new(*store.HeldError))
}

// Missing says that there is nothing of ours.
func (s *Schema[T]) Missing() error { return &store.NoSchemaError{Name: s.place.Title()} }

// MustMark is the mark, with *store.NoSchemaError if there is none. Tables that were there
// before have none.
func (s *Schema[T]) MustMark(ctx context.Context, t T) (*store.Marker, error) {
	if s.of.Existing {
		return &store.Marker{Run: s.Taken().Run, Workload: s.of.Workload}, nil
	}
	mark, err := s.readMark(ctx, t)
	if err == nil && mark == nil {
		err = s.Missing()
	}
	return mark, err
}

// readMark is the mark. Where it is known to be gone, and what is left is known to be the run's,
// it is the one of whom the lease was taken for.
func (s *Schema[T]) readMark(ctx context.Context, t T) (*store.Marker, error) {
	mark, err := s.place.ReadMark(ctx, t)
	if foreign := (*store.ForeignError)(nil); store.IsUnmarked(ctx) && errors.As(err, &foreign) {
		return &store.Marker{Run: s.Taken().Run, Workload: s.of.Workload, Loaded: true}, nil
	}
	return mark, err
}

// MustBeOurs gives *store.NoSchemaError if there is no mark.
func (s *Schema[T]) MustBeOurs(ctx context.Context, doing string) error {
	return s.place.Look(ctx, doing, func(t T) error {
		_, err := s.MustMark(ctx, t)
		return err
	})
}

// Marker implements store.Administration.
func (s *Schema[T]) Marker(ctx context.Context) (mark *store.Marker, err error) {
	err = s.place.Look(ctx, "look for an earlier run", func(t T) (err error) {
		mark, err = s.place.ReadMark(ctx, t)
		return err
	})
	return mark, err
}

// Find implements store.Administration.
func (s *Schema[T]) Find(ctx context.Context) (found *store.Leftover, err error) {
	err = s.place.Look(ctx, "look for an earlier run", func(t T) error {
		mark, err := s.readMark(ctx, t)
		if err != nil || mark == nil {
			return err
		}
		rows, err := s.place.Rows(ctx, t)
		found = &store.Leftover{Marker: *mark, Rows: rows}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Removable implements store.Administration.
func (s *Schema[T]) Removable(ctx context.Context) error {
	return s.place.Look(ctx, "look for what others have made", func(t T) error {
		mark, err := s.place.ReadMark(ctx, t)
		if err != nil || mark == nil {
			return err
		}
		return s.place.Others(ctx, t)
	})
}

// Held gives *store.HeldError if the lease keeps us out.
func (s *Schema[T]) Held(ctx context.Context, t T) error {
	row, err := s.place.ReadLease(ctx, t)
	if err != nil {
		return err
	}
	return row.lease().Admit(s.place.Title(), s.Taken().Token)
}

// Admit is the mark that is there, nil for none, if the lease and what others have made allow
// that all under it is removed.
func (s *Schema[T]) Admit(ctx context.Context, t T) (*store.Marker, error) {
	if s.of.Existing {
		return nil, &store.NotOursError{Doing: "remove " + s.place.Title()}
	}
	mark, err := s.place.ReadMark(ctx, t)
	if err == nil {
		err = s.Held(ctx, t)
	}
	if err == nil && mark != nil {
		err = s.place.Others(ctx, t)
	}
	return mark, err
}

// SetLoaded sets the mark's Loaded.
func (s *Schema[T]) SetLoaded(ctx context.Context, t T) error {
	mark, err := s.MustMark(ctx, t)
	if err != nil {
		return err
	}
	mark.Loaded = true
	return s.place.WriteMark(ctx, t, *mark)
}

// FinishLoad implements store.Database where nothing is to be built.
func (s *Schema[T]) FinishLoad(ctx context.Context) error {
	return s.place.Change(ctx, "finish loading", func(t T) error { return s.SetLoaded(ctx, t) })
}

// Lease implements store.Leaser.
func (s *Schema[T]) Lease(ctx context.Context) (lease *store.Lease, err error) {
	err = s.place.Look(ctx, "look for a lease", func(t T) error {
		row, err := s.place.ReadLease(ctx, t)
		lease = row.lease()
		return err
	})
	return lease, err
}

// leaseTries bounds how often a lease is read again that another has changed meanwhile.
const leaseTries = 20

// replace puts another lease in the place of the one that is there, as next says.
func (s *Schema[T]) replace(ctx context.Context, t T, next func(was *store.Lease) (*store.Lease, error)) error {
	for try := range leaseTries {
		was, err := s.place.ReadLease(ctx, t)
		if err != nil {
			return err
		}
		is, err := next(was.lease())
		if err != nil || was == nil && is == nil {
			return err
		}
		if done, err := s.place.WriteLease(ctx, t, was, is); done || err != nil {
			return err
		}
		if err := wait.Pause(ctx, time.Duration(try)*5*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("the lease changed hands %d times meanwhile", leaseTries)
}

// TakeLease implements store.Leaser. Of several that take it at the same time one finds the
// lease as it has read it, and the others read it again and find it alive.
func (s *Schema[T]) TakeLease(ctx context.Context, holder store.Holder, ttl time.Duration, gone string) error {
	err := s.place.Change(ctx, "take the lease", func(t T) error {
		if _, err := s.place.ReadMark(ctx, t); err != nil {
			return err
		}
		return s.replace(ctx, t, func(was *store.Lease) (*store.Lease, error) {
			return &store.Lease{Holder: holder, Remaining: ttl}, was.MayTake(s.place.Title(), holder, gone)
		})
	})
	if err == nil {
		s.taken.Set(holder)
	}
	return err
}

// RenewLease implements store.Leaser.
func (s *Schema[T]) RenewLease(ctx context.Context, token string, ttl time.Duration) error {
	return s.place.Change(ctx, "renew the lease", func(t T) error {
		return s.replace(ctx, t, func(was *store.Lease) (*store.Lease, error) {
			if err := was.MayRenew(s.place.Title(), token); err != nil {
				return nil, err
			}
			return &store.Lease{Holder: was.Holder, Since: was.Since, Remaining: ttl}, nil
		})
	})
}

// errOthers ends the release of a lease that is another's.
var errOthers = errors.New("the lease is another's")

// ReleaseLease implements store.Leaser. Of a lease of our own nothing is renewed any more.
func (s *Schema[T]) ReleaseLease(ctx context.Context, token string) error {
	if s.Taken().Token == token {
		s.taken.Set(store.Holder{})
	}
	err := s.place.Change(ctx, "release the lease", func(t T) error {
		return s.replace(ctx, t, func(was *store.Lease) (*store.Lease, error) {
			if was != nil && was.Token != token {
				return nil, errOthers
			}
			return nil, nil
		})
	})
	if errors.Is(err, errOthers) {
		return nil
	}
	return err
}

// EndLease ends a lease that does not keep us out, whosever it was.
func (s *Schema[T]) EndLease(ctx context.Context, t T) error {
	return s.replace(ctx, t, func(was *store.Lease) (*store.Lease, error) {
		return nil, was.Admit(s.place.Title(), s.Taken().Token)
	})
}

// Direct is what a call uses of a client that finds a server for each command, and part of a
// Place whose methods explain their errors themselves.
type Direct struct{}

// Look and Change implement Place.
func (Direct) Look(_ context.Context, _ string, work func(Direct) error) error { return work(Direct{}) }
func (Direct) Change(_ context.Context, _ string, work func(Direct) error) error {
	return work(Direct{})
}
