package open

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"assay/runner/lease"
	"assay/store"
	"assay/workload/definition"
)

// patience is how long these databases may be silent before they are asked again.
const patience = 30 * time.Millisecond

// asked is a database with a test's answers.
type asked struct {
	definition.Work
	describe, settle func(ctx context.Context) error
	blocked          string
	marker, found    error
	taken, released  atomic.Int64
}

func (a *asked) Describe(ctx context.Context) (store.Product, error) {
	return store.Product{}, a.describe(ctx)
}
func (a *asked) Settle(ctx context.Context) error              { return a.settle(ctx) }
func (a *asked) Blocked(context.Context) (string, error)       { return a.blocked, nil }
func (a *asked) Close() error                                  { return nil }
func (a *asked) Marker(context.Context) (*store.Marker, error) { return nil, a.marker }
func (a *asked) Lease(context.Context) (*store.Lease, error)   { return nil, nil }
func (a *asked) Removable(context.Context) error               { return nil }
func (a *asked) Find(context.Context) (*store.Leftover, error) {
	return &store.Leftover{Rows: 3}, a.found
}
func (a *asked) ReleaseLease(context.Context, string) error { a.released.Add(1); return nil }
func (a *asked) TakeLease(context.Context, store.Holder, time.Duration, string) error {
	a.taken.Add(1)
	return nil
}

func answers(context.Context) error { return nil }

func silent(context.Context) error { select {} }

func until(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// TestNothingIsWaitedForWithoutEnd: a call ends with an error once the database does not answer,
// even if the driver does not return, and otherwise lasts as long as it needs.
func TestNothingIsWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	slow := func(context.Context) error { time.Sleep(5 * patience); return nil }
	for name, c := range map[string]struct {
		db   *asked
		ends bool
	}{
		"it answers, and the call takes its time": {&asked{describe: answers, settle: slow}, true},
		"nobody is there":                         {&asked{describe: until, settle: until}, false},
		"a driver that does not return":           {&asked{describe: silent, settle: silent}, false},
	} {
		w := New(c.db, patience, "any://user:hunter2@host/db")
		err := w.Settle(t.Context())
		if gone := (*store.UnreachableError)(nil); (err == nil) != c.ends || !c.ends && (!errors.As(err, &gone) || gone.Address != "any://user:xxxxx@host/db") {
			t.Errorf("%s: %v", name, err)
		}
		if err := w.Close(); err != nil {
			t.Errorf("%s: closing: %v", name, err)
		}
	}
}

// TestItComesBack: an absent database is asked first and then called.
func TestItComesBack(t *testing.T) {
	t.Parallel()
	var back atomic.Bool // a call that was given up may still be about to ask
	awayUntil := func(ctx context.Context) error {
		if back.Load() {
			return answers(ctx)
		}
		return until(ctx)
	}
	w := New(&asked{describe: awayUntil, settle: awayUntil}, patience, "any://host")
	if err := w.Settle(t.Context()); err == nil {
		t.Fatal("it was waited for")
	}
	if err := w.Settle(t.Context()); err == nil {
		t.Error("it was called although it is away")
	}
	back.Store(true)
	if err := w.Settle(t.Context()); err != nil {
		t.Errorf("it is back: %v", err)
	}
}

// TestOthersAreNotWaitedFor too long, and are named.
func TestOthersAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	w := New(&asked{describe: answers, settle: until, blocked: "session 7"}, time.Minute, "any://host")
	w.BearFor(patience)
	var refused *store.BlockedError
	if err := w.Settle(t.Context()); !errors.As(err, &refused) || refused.By != "session 7" {
		t.Errorf("%v", err)
	}
}

// TestASchemaIsTaken before it is inspected, and given back if it is useless.
func TestASchemaIsTaken(t *testing.T) {
	t.Parallel()
	foreign, broken := errors.New("it is another's"), errors.New("no table")
	for name, c := range map[string]struct {
		db              *asked
		taken, released int64
		fails           error
	}{
		"ours":              {&asked{}, 1, 0, nil},
		"another program's": {&asked{marker: foreign}, 0, 0, foreign},
		"damaged":           {&asked{found: broken}, 1, 1, broken},
	} {
		own, found, err := New(c.db, time.Minute, "any://host").Own(t.Context(), "one", lease.Terms{Note: func(string) {}})
		if !errors.Is(err, c.fails) || (own != nil) != (c.fails == nil) || (found != nil) != (c.fails == nil) {
			t.Errorf("%s: %v, %v, %v", name, own, found, err)
		}
		if c.db.taken.Load() != c.taken || c.db.released.Load() != c.released {
			t.Errorf("%s: taken %d times and released %d times", name, c.db.taken.Load(), c.db.released.Load())
		}
	}
}
