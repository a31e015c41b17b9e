package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"assay/store"
)

// held renews the lease. A database that refuses that, as one does that is full or takes no
// writes, is asked for it: what is to be read there needs no write.
func (l *Lease) held(ctx context.Context) error {
	refused := errTakesNoWrites
	if !l.found {
		refused = l.renew(ctx)
	}
	if refused == nil || isMissing(refused) || l.IsLost() != nil {
		return refused
	}
	err := l.read(ctx)
	if held := (*store.HeldError)(nil); errors.As(err, &held) {
		l.Lose(err)
	}
	if err != nil && !isMissing(err) {
		return refused
	}
	l.refused = cmp.Or(l.refused, refused)
	return err
}

// errTakesNoWrites stands for the error of the write that was tried first.
var errTakesNoWrites = errors.New("the database takes no writes")

// read gives *store.HeldError if the lease has another token than ours, and
// *store.NoSchemaError if there is none where one was.
func (l *Lease) read(ctx context.Context) error {
	var there *store.Lease
	err := l.attempt(ctx, func(ctx context.Context) (err error) { there, err = l.store.Lease(ctx); return err })
	if err != nil || there == nil && l.Holder.Token == "" {
		return err
	}
	return there.MayRenew("the database", l.Holder.Token)
}

// AsFound is a lease for reading what a run left in a database that refuses the writes by
// which a lease is taken: whoever has it stays who has it, or it is lost.
func AsFound(ctx context.Context, db store.Administration, run string, on Terms, refused error) (*Lease, error) {
	l := New(db, run, on)
	l.found, l.refused, l.Holder.Token = true, refused, ""
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

// Reading is the context with which what the run made is read.
func (l *Lease) Reading(ctx context.Context) context.Context {
	if l == nil || !l.unmarked {
		return ctx
	}
	return store.WithoutMark(ctx)
}

// NoteUnmarked is the note of a run whose mark is gone.
const NoteUnmarked = "assay's mark was gone at the end: somebody or a fault removed it; the rows beside it are this run's, and are judged"

// Notes say that the lease was read and not renewed, and that the mark is gone.
func (l *Lease) Notes() (notes []string) {
	if l != nil && l.unmarked {
		notes = append(notes, NoteUnmarked)
	}
	if l == nil || l.refused == nil {
		return notes
	}
	return append(notes, fmt.Sprintf("%s (%v): assay read it back without renewing its lease, which was the same before and after", NoteTakesNoWrites, l.refused))
}

// NoteTakesNoWrites is how that note begins.
const NoteTakesNoWrites = "the database took no writes at the end"
