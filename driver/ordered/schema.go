package ordered

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assay/driver/ownership"
	"assay/driver/rows"
	"assay/store"
)

// Transaction also keeps the mark and the lease.
type Transaction interface {
	Keys
	// ClearRange clears from begin to before end. The transaction sets no key there.
	ClearRange(begin, end []byte)
	// Count counts the keys from begin to before end.
	Count(begin, end []byte) (int64, error)
}

// Database is the driver's part. Look and Change are as in ownership.Place.
type Database[T Transaction] interface {
	Look(ctx context.Context, doing string, work func(T) error) error
	Change(ctx context.Context, doing string, work func(T) error) error
	// Ends is the stored end of a lease that lasts ttl from now. Left is the time left until a
	// stored end. Both use the database's clock.
	Ends(t T, ttl time.Duration) (end int64, err error)
	Left(t T, end int64) (time.Duration, error)
}

// Schema is a workload's schema in ordered keys, without the means to read, write and commit. It
// is an ownership.Place.
type Schema[T Transaction] struct {
	*ownership.Schema[T]
	Database[T]
	Of     store.Schema
	Layout Layout
	Forms  Forms
	// Tables are the names of all tables, followed by the indexes'.
	Tables []string
	limits Limits
	// hint advises the user about keys of others. end names the lease's end in its value.
	hint, end string
}

// NewSchema makes a schema below a root.
func NewSchema[T Transaction](root string, of store.Schema, db Database[T], limits Limits, hint, end string) *Schema[T] {
	l := NewLayout(root, of.Workload)
	s := &Schema[T]{Of: of, Layout: l, Forms: NewForms(l, &of), Database: db, limits: limits, hint: hint, end: end}
	var indexes []string
	for _, t := range of.Tables {
		s.Tables = append(s.Tables, t.Name)
		for _, index := range t.Indexes {
			indexes = append(indexes, index.Name)
		}
	}
	s.Tables = append(s.Tables, indexes...)
	s.Schema = ownership.New(s, of)
	return s
}

// Title and the methods below implement ownership.Place.
func (s *Schema[T]) Title() string { return s.Layout.Name }

func (s *Schema[T]) foreign(others ...string) error {
	return &store.ForeignError{Name: s.Layout.Name, Others: others, Hint: s.hint}
}

func (s *Schema[T]) ReadMark(_ context.Context, t T) (*store.Marker, error) {
	value, err := t.Ask(s.Layout.Mark()).get()
	if err != nil {
		return nil, err
	}
	if value != nil {
		mark, ok := DecodeMark(value)
		if !ok {
			return nil, s.foreign()
		}
		return &mark, nil
	}
	// The mark is read first, because this scan conflicts with whoever writes the first key.
	begin, end := s.Layout.Bounds()
	pairs, err := t.Scan(begin, end, 2, false)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		if !bytes.Equal(p.Key, s.Layout.Lease()) {
			return nil, s.foreign()
		}
	}
	return nil, nil
}

func (s *Schema[T]) WriteMark(_ context.Context, t T, mark store.Marker) error {
	value, err := EncodeMark(mark)
	t.Set(s.Layout.Mark(), value)
	return err
}

type kept struct {
	Holder store.Holder `json:"holder"`
	Since  int64        `json:"since"` // by the holder's clock, in nanoseconds since 1970: such databases tell no date
}

func (s *Schema[T]) ReadLease(_ context.Context, t T) (*ownership.Row, error) {
	value, err := t.Ask(s.Layout.Lease()).get()
	if err != nil || value == nil {
		return nil, err
	}
	var k kept
	var fields map[string]json.RawMessage
	row := &ownership.Row{}
	if json.Unmarshal(value, &k) != nil || json.Unmarshal(value, &fields) != nil || json.Unmarshal(fields[s.end], &row.End) != nil {
		return nil, s.foreign()
	}
	row.Lease = store.Lease{Holder: k.Holder, Since: time.Unix(0, k.Since).UTC()}
	row.Remaining, err = s.Left(t, row.End)
	return row, err
}

// WriteLease need not compare: the transaction commits only if its reads still hold.
func (s *Schema[T]) WriteLease(_ context.Context, t T, _ *ownership.Row, is *store.Lease) (bool, error) {
	if is == nil {
		t.Clear(s.Layout.Lease())
		return true, nil
	}
	if is.Since.IsZero() {
		is.Since = time.Now()
	}
	end, err := s.Ends(t, is.Remaining)
	if err != nil {
		return false, err
	}
	value, err := json.Marshal(map[string]any{"holder": is.Holder, "since": is.Since.UnixNano(), s.end: end})
	t.Set(s.Layout.Lease(), value)
	return true, err
}

// Others finds a key outside of our tables.
func (s *Schema[T]) Others(_ context.Context, t T) error {
	for _, gap := range s.Layout.Gaps(s.Tables) {
		pairs, err := t.Scan(gap[0], gap[1], 1, false)
		if err != nil {
			return err
		}
		if len(pairs) > 0 {
			return s.foreign(fmt.Sprintf("key %q", pairs[0].Key))
		}
	}
	return nil
}

// Rows counts the first table's rows.
func (s *Schema[T]) Rows(_ context.Context, t T) (int64, error) {
	return t.Count(s.Layout.Rows(s.Of.Tables[0].Name))
}

// Create implements store.Database. One transaction clears everything around mark and lease, and
// sets the mark. An etcd transaction cannot clear and set the same key.
func (s *Schema[T]) Create(ctx context.Context, mark store.Marker) error {
	return s.Change(ctx, "create", func(t T) error {
		if _, err := s.Admit(ctx, t); err != nil {
			return err
		}
		for _, gap := range s.Layout.Gaps(nil) {
			t.ClearRange(gap[0], gap[1])
		}
		return s.WriteMark(ctx, t, mark)
	})
}

// Load implements store.Database.
func (s *Schema[T]) Load(ctx context.Context, of store.Rows) (err error) {
	f := s.Forms[of.Table]
	wrong := f.Parts(&of, s.limits, func(part []rows.Row) bool {
		err = s.Change(ctx, "load "+of.Table, func(t T) error {
			_, err := s.MustMark(ctx, t)
			x := &Execution{Forms: s.Forms, Keys: t, Limits: s.limits}
			for i := 0; i < len(part) && err == nil; i++ {
				err = x.Write(f, nil, part[i])
			}
			return err
		})
		return err == nil
	})
	return errors.Join(err, wrong)
}

// Drop implements store.Administration. It also clears a lease without a mark.
func (s *Schema[T]) Drop(ctx context.Context) error {
	return s.Change(ctx, "drop", func(t T) error {
		_, err := s.Admit(ctx, t)
		if err == nil {
			t.ClearRange(s.Layout.Bounds())
		}
		return err
	})
}
