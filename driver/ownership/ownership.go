// Package ownership has the rules by which a run owns its schema: what is checked before the
// lease is taken, renewed or released, and before tables are made anew or dropped.
//
// It must not know any driver. A Place keeps mark and lease.
package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/wait"
	"assay/store"
)

// Row is the stored lease.
type Row struct {
	store.Lease
	// End is the expiry by the database's clock, or another value that changes with each
	// renewal.
	End int64
}

func (r *Row) lease() *store.Lease {
	if r == nil {
		return nil
	}
	return &r.Lease
}

// Place is where a database keeps the mark, the lease and the tables of a schema. T is the
// handle of one call: a transaction, or a connection.
type Place[T any] interface {
	// Title names the place in errors.
	Title() string
	// Look lets work read; Change lets it write too. If T is a transaction, Change commits it, and
	// repeats work until the outcome is known.
	Look(ctx context.Context, doing string, work func(T) error) error
	Change(ctx context.Context, doing string, work func(T) error) error

	// ReadMark returns nil if there is nothing of assay's, or only a lease. It returns
	// *store.ForeignError if something without assay's mark is there.
	ReadMark(ctx context.Context, t T) (*store.Marker, error)
	// WriteMark replaces the mark.
	WriteMark(ctx context.Context, t T, mark store.Marker) error
	// ReadLease returns nil if there is no lease.
	ReadLease(ctx context.Context, t T) (*Row, error)
	// WriteLease replaces the lease read (nil: none) and reports done, or changes nothing if it
	// is another by now. Remaining counts from now by the database's clock; a zero Since means
	// now. A nil lease deletes it.
	WriteLease(ctx context.Context, t T, was *Row, is *store.Lease) (done bool, err error)
	// Others returns *store.ForeignError if others have made something inside of our schema.
	Others(ctx context.Context, t T) error
	// Rows counts the rows for Find.
	Rows(ctx context.Context, t T) (int64, error)
}

// Schema is the part of a store.Database that is equal in all databases.
type Schema[T any] struct {
	place Place[T]
	of    store.Schema
	taken store.Taken
}

// New makes a Schema on a place, which may embed it.
func New[T any](place Place[T], of store.Schema) *Schema[T] { return &Schema[T]{place: place, of: of} }

// Taken is the holder of the lease taken last.
func (s *Schema[T]) Taken() store.Holder { return s.taken.Holder() }

// WorkFor implements store.ExistingTables.
func (s *Schema[T]) WorkFor(holder store.Holder) { s.taken.Set(holder) }

// Explained reports whether err is an error of this package's rules and needs no more words.
func Explained(err error) bool {
	return errors.As(err, new(*store.ForeignError)) || errors.As(err, new(*store.NoSchemaError)) || errors.As(err, new(*store.HeldError))
}

// Missing is the error of a schema that is not there.
func (s *Schema[T]) Missing() error { return &store.NoSchemaError{Name: s.place.Title()} }

// MustMark returns *store.NoSchemaError if there is no mark. Existing tables have no mark; for
// them it makes one of the lease's holder.
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

func (s *Schema[T]) readMark(ctx context.Context, t T) (*store.Marker, error) {
	mark, err := s.place.ReadMark(ctx, t)
	if foreign := (*store.ForeignError)(nil); store.IsUnmarked(ctx) && errors.As(err, &foreign) {
		return &store.Marker{Run: s.Taken().Run, Workload: s.of.Workload, Loaded: true}, nil
	}
	return mark, err
}

// MustBeOurs returns *store.NoSchemaError if there is no mark.
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

// Held returns *store.HeldError if another run holds the lease.
func (s *Schema[T]) Held(ctx context.Context, t T) error {
	row, err := s.place.ReadLease(ctx, t)
	if err != nil {
		return err
	}
	return row.lease().Admit(s.place.Title(), s.Taken().Token)
}

// Admit checks that lease and others allow to remove everything. It returns the mark, or nil if
// there is none.
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

// SetLoaded sets Loaded in the mark.
func (s *Schema[T]) SetLoaded(ctx context.Context, t T) error {
	mark, err := s.MustMark(ctx, t)
	if err != nil {
		return err
	}
	mark.Loaded = true
	return s.place.WriteMark(ctx, t, *mark)
}

// FinishLoad implements store.Database for databases that build nothing then.
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

const leaseTries = 20

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

// TakeLease implements store.Leaser. If several take the lease at once, one succeeds. The others
// read it again and find it alive.
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

var errOthers = errors.New("the lease is another's")

// ReleaseLease implements store.Leaser. It forgets the holder even if the release fails.
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

// EndLease deletes the lease, whoever has it, unless it is alive and another run's.
func (s *Schema[T]) EndLease(ctx context.Context, t T) error {
	return s.replace(ctx, t, func(was *store.Lease) (*store.Lease, error) {
		return nil, was.Admit(s.place.Title(), s.Taken().Token)
	})
}

// Direct is the T of a Place whose client finds a server for each command and explains its
// errors itself.
type Direct struct{}

func (Direct) Look(_ context.Context, _ string, work func(Direct) error) error { return work(Direct{}) }
func (Direct) Change(_ context.Context, _ string, work func(Direct) error) error {
	return work(Direct{})
}
