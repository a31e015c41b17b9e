package lease

import (
	"context"
	"errors"
	"fmt"

	"assay/store"
)

// held renews the lease or, if the database takes no writes (it may be full), reads it: reading
// back needs no write. refused is why it was read.
func (l *Lease) held(ctx context.Context) (refused, err error) {
	refused = errTakesNoWrites
	if !l.found {
		refused = l.renew(ctx)
	}
	if refused == nil || isMissing(refused) || l.IsLost() != nil {
		return nil, refused
	}
	err = l.read(ctx)
	if held := (*store.HeldError)(nil); errors.As(err, &held) {
		l.Lose(err)
	}
	if err != nil && !isMissing(err) {
		return nil, refused
	}
	return refused, err
}

// errTakesNoWrites stands for the error of an earlier write.
var errTakesNoWrites = errors.New("the database takes no writes")

// read returns *store.HeldError if another run has the lease, and *store.NoSchemaError if the
// lease is gone.
func (l *Lease) read(ctx context.Context) error {
	var there *store.Lease
	err := l.attempt(ctx, func(ctx context.Context) (err error) { there, err = l.store.Lease(ctx); return err })
	if err != nil || there == nil && l.Holder.Token == "" {
		return err
	}
	return there.MayRenew("the database", l.Holder.Token)
}

// AsFound is a lease for reading a run's data in a database that refuses writes. If its holder
// changes, the lease is lost.
func AsFound(ctx context.Context, db store.Administration, run string, on Terms, refused error) (*Lease, error) {
	l := New(db, run, on)
	l.found, l.seen.refused, l.Holder.Token = true, refused, ""
	there, err := db.Lease(ctx)
	if err != nil {
		return nil, errors.Join(refused, err)
	}
	if there != nil {
		if l.Holder.Token = there.Token; !ended(there.Holder) {
			err = there.Admit("the database", "")
		}
	}
	return l, err
}

// Reading is the context for reading the run's data.
func (l *Lease) Reading(ctx context.Context) context.Context {
	if l == nil || !l.look().unmarked {
		return ctx
	}
	return store.WithoutMark(ctx)
}

// NoteUnmarked is the note of a run whose mark is gone.
const NoteUnmarked = "assay's mark was gone at the end: somebody or a fault removed it; the rows beside it are this run's, and are judged"

// Notes say if the lease was read and not renewed, and if the mark is gone.
func (l *Lease) Notes() (notes []string) {
	if l == nil {
		return nil
	}
	found := l.look()
	if found.unmarked {
		notes = append(notes, NoteUnmarked)
	}
	if found.refused == nil {
		return notes
	}
	return append(notes, fmt.Sprintf("%s (%v): assay read it back without renewing its lease, which was the same before and after", NoteTakesNoWrites, found.refused))
}

func (l *Lease) look() seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// NoteTakesNoWrites begins the note about a lease that was read and not renewed.
const NoteTakesNoWrites = "the database took no writes at the end"
