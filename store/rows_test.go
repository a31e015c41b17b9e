package store_test

import (
	"context"
	"errors"
	"testing"

	"assay/store"
)

// withheld answers a read of rows with fewer than it counts, as a server does that is
// told to (sql_select_limit, row security).
type withheld struct{ there, given int64 }

func (w withheld) Read(_ context.Context, s store.Statement, row func(store.Row) error, _ ...store.Value) error {
	if s.Verb == store.Count {
		return row(store.Values(store.OfInts(w.there)))
	}
	for i := range w.given {
		if err := row(store.Values(store.OfInts(i))); err != nil {
			return err
		}
	}
	return nil
}

// TestWhatWasNotReadIsCounted: the database's own count says that rows are there.
func TestWhatWasNotReadIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		answer     withheld
		incomplete bool
	}{"all": {withheld{7, 7}, false}, "none": {withheld{}, false}, "fewer": {withheld{9000, 1000}, true}, "more": {withheld{1, 2}, true}} {
		seen := int64(0)
		view := func(_ context.Context, read func(store.Reader) error) error { return read(c.answer) }
		err := store.ReadAll(t.Context(), view, func(r store.Reader) error {
			return store.Whole(t.Context(), r, store.Statement{Table: "account", Columns: []string{"id"}}, func(store.Row) error { seen++; return nil })
		})
		var incomplete *store.IncompleteError
		if errors.As(err, &incomplete) != c.incomplete || err != nil && !c.incomplete || seen != c.answer.given {
			t.Errorf("%s: %d rows, %v", name, seen, err)
		}
		if c.incomplete && (incomplete.Table != "account" || incomplete.Read != c.answer.given || incomplete.Counted != c.answer.there) {
			t.Errorf("%s: %+v", name, incomplete)
		}
	}
}
