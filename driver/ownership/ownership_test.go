package ownership

import (
	"context"
	"errors"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
)

// shelf is a Place in memory. One of changes, another's work, happens before each write of a lease.
type shelf struct {
	Direct
	mark    *store.Marker
	row     *Row
	others  error
	changes []func(*shelf)
}

func (s *shelf) Title() string { return "the shelf" }

func (s *shelf) ReadMark(context.Context, Direct) (*store.Marker, error) { return s.mark, nil }

func (s *shelf) WriteMark(_ context.Context, _ Direct, mark store.Marker) error {
	s.mark = &mark
	return nil
}

func (s *shelf) ReadLease(context.Context, Direct) (*Row, error) { return s.row, nil }

func (s *shelf) WriteLease(_ context.Context, _ Direct, was *Row, is *store.Lease) (bool, error) {
	if len(s.changes) > 0 {
		s.changes[0](s)
		s.changes = s.changes[1:]
	}
	if s.row != was {
		return false, nil
	}
	if s.row = nil; is != nil {
		s.row = &Row{Lease: *is}
	}
	return true, nil
}

func (s *shelf) Others(context.Context, Direct) error        { return s.others }
func (s *shelf) Rows(context.Context, Direct) (int64, error) { return 7, nil }

func holder(token string) store.Holder { return store.Holder{Token: token, Run: token} }

func leaseOf(token string, left time.Duration) *Row {
	return &Row{Lease: store.Lease{Holder: holder(token), Remaining: left}}
}

// TestLeaseChangedMeanwhile: a change between reading and writing is read and judged again.
func TestLeaseChangedMeanwhile(t *testing.T) {
	renewed := func(s *shelf) { s.row = leaseOf("other", time.Minute) }
	gone := func(s *shelf) { s.row = nil }
	ours := func(s *shelf) { s.row = leaseOf("ours", time.Second) }
	held, missing := new(*store.HeldError), new(*store.NoSchemaError)
	take := func(s *Schema[Direct]) error { return s.TakeLease(t.Context(), holder("ours"), time.Hour, "") }
	renew := func(s *Schema[Direct]) error { return s.RenewLease(t.Context(), "ours", time.Hour) }
	release := func(s *Schema[Direct]) error { return s.ReleaseLease(t.Context(), "ours") }
	for name, c := range map[string]struct {
		row    *Row
		change func(*shelf)
		do     func(*Schema[Direct]) error
		want   any    // the error; nil for none
		after  string // whose lease it is; empty for nobody's
	}{
		"an expired one is renewed":     {leaseOf("other", -1), renewed, take, held, "other"},
		"another takes it first":        {nil, renewed, take, held, "other"},
		"an expired one is released":    {leaseOf("other", -1), gone, take, nil, "ours"},
		"our own is renewed":            {leaseOf("ours", 1), ours, renew, nil, "ours"},
		"our own is taken from us":      {leaseOf("ours", -1), renewed, renew, held, "other"},
		"our own is dropped":            {leaseOf("ours", 1), gone, renew, missing, ""},
		"what we release is renewed":    {leaseOf("ours", 1), ours, release, nil, ""},
		"what we release is another's":  {leaseOf("ours", -1), renewed, release, nil, "other"},
		"what we release has been ours": {leaseOf("ours", 1), gone, release, nil, ""},
	} {
		place := &shelf{row: c.row, changes: []func(*shelf){c.change}}
		err := c.do(New(place, store.Schema{}))
		if c.want == nil && err != nil || c.want != nil && !errors.As(err, c.want) {
			t.Errorf("%s: %v, want %T", name, err, c.want)
		}
		if after := place.row; (after == nil) != (c.after == "") || after != nil && after.Token != c.after {
			t.Errorf("%s: afterwards the lease is %+v, want that of %q", name, after, c.after)
		}
	}
	endless := &shelf{row: leaseOf("other", -1)}
	for range leaseTries {
		endless.changes = append(endless.changes, func(s *shelf) { s.row = leaseOf("other", -1) })
	}
	if err := take(New(endless, store.Schema{})); err == nil {
		t.Error("a lease that changes without end was taken")
	}
}

// TestAdmit removes nothing of another owner, by the lease, by its objects, or by a missing mark.
func TestAdmit(t *testing.T) {
	mark := &store.Marker{Run: "run", Workload: "bank"}
	foreign := &store.ForeignError{Name: "the shelf"}
	for name, c := range map[string]struct {
		place *shelf
		of    store.Schema
		want  any
	}{
		"nothing":           {&shelf{others: foreign}, store.Schema{}, nil},
		"ours":              {&shelf{mark: mark}, store.Schema{}, nil},
		"an expired lease":  {&shelf{mark: mark, row: leaseOf("other", 0)}, store.Schema{}, nil},
		"another's lease":   {&shelf{mark: mark, row: leaseOf("other", 1)}, store.Schema{}, new(*store.HeldError)},
		"another's things":  {&shelf{mark: mark, others: foreign}, store.Schema{}, new(*store.ForeignError)},
		"a user's own data": {&shelf{mark: mark}, store.Schema{Existing: true}, new(*store.NotOursError)},
	} {
		found, err := New(c.place, c.of).Admit(t.Context(), Direct{})
		switch {
		case c.want == nil && (err != nil || found != c.place.mark):
			t.Errorf("%s: %+v, %v", name, found, err)
		case c.want != nil && !errors.As(err, c.want):
			t.Errorf("%s: %v, want %T", name, err, c.want)
		}
	}
	s := New(&shelf{row: leaseOf("ours", time.Hour), mark: mark}, store.Schema{})
	expect.NoError(t, s.TakeLease(t.Context(), holder("ours"), time.Hour, ""))
	if _, err := s.Admit(t.Context(), Direct{}); err != nil {
		t.Errorf("our own lease keeps us out: %v", err)
	}
	left, err := s.Find(t.Context())
	if err != nil || left == nil || left.Marker != *mark || left.Rows != 7 {
		t.Errorf("found %+v, %v", left, err)
	}
}
