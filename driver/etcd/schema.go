package etcd

import (
	"bytes"
	"context"
	"fmt"

	"assay/driver/ordered"
	"assay/store"
)

func (d *database) foreign(others ...string) error {
	return &store.ForeignError{Name: d.layout.Name, Others: others,
		Hint: "choose another prefix by a path in the address, such as etcd://HOST/NAME, or delete or move these keys yourself"}
}

// readMark returns nil if there is no key under the prefix but the lease's, and
// *store.ForeignError if there are others and no mark.
func (d *database) readMark(t *transaction) (*store.Marker, error) {
	value, err := t.Get(d.layout.Mark())()
	if err != nil {
		return nil, err
	}
	if value != nil {
		mark, ok := ordered.DecodeMark(value)
		if !ok {
			return nil, d.foreign()
		}
		return &mark, nil
	}
	begin, end := d.layout.Bounds()
	pairs, err := t.Scan(begin, end, 2, false)
	if err != nil {
		return nil, err
	}
	for _, p := range pairs {
		if !bytes.Equal(p.Key, d.layout.Lease()) {
			return nil, d.foreign()
		}
	}
	return nil, nil
}

// ours is readMark, with *store.NoSchemaError if there is nothing.
func (d *database) ours(t *transaction) (*store.Marker, error) {
	mark, err := d.readMark(t)
	if err == nil && mark == nil {
		err = &store.NoSchemaError{Name: d.layout.Name}
	}
	return mark, err
}

// removable gives *store.HeldError if another holds the lease, and *store.ForeignError for a
// key under the prefix that is in none of our tables.
func (d *database) removable(t *transaction) error {
	l, _, err := d.readLease(t)
	if err != nil {
		return err
	}
	if err := l.Admit(d.layout.Name, d.taken.Holder().Token); err != nil {
		return err
	}
	for _, gap := range d.layout.Gaps(d.tables()) {
		pairs, err := t.Scan(gap[0], gap[1], 1, false)
		if err != nil {
			return err
		}
		if len(pairs) > 0 {
			return d.foreign(fmt.Sprintf("key %q", pairs[0].Key))
		}
	}
	return nil
}

// tables are the names of what the schema keeps, indexes included.
func (d *database) tables() (names []string) {
	for _, t := range d.of.Tables {
		names = append(names, t.Name)
		for _, index := range t.Indexes {
			names = append(names, index.Name)
		}
	}
	return names
}

// change does work and commits it, again and again until it is certain that it was done. One
// of which nobody knows is done once more: what is late compares what it has read, as all
// does, and the later one has written that. Rows that are loaded late are the same rows, until
// FinishLoad has written the mark, which they compare.
func (d *database) change(ctx context.Context, doing string, work func(t *transaction) error) error {
	return d.conn.insist(ctx, doing, func(ctx context.Context) error {
		t := d.conn.begin(ctx)
		if err := work(t); err != nil {
			return err
		}
		return t.commit()
	})
}

// look reads in a transaction of its own, again and again until it is answered.
func look[T any](ctx context.Context, d *database, doing string, read func(*transaction) (T, error)) (found T, err error) {
	err = d.conn.insist(ctx, doing, func(ctx context.Context) (err error) {
		found, err = read(d.conn.reader(ctx))
		return err
	})
	return found, err
}

// Create implements store.Database: it clears the prefix, but for the lease, and sets the
// mark, in one transaction. etcd refuses one that clears and sets a key; so what is cleared
// lies around mark and lease.
func (d *database) Create(ctx context.Context, mark store.Marker) error {
	value, err := ordered.EncodeMark(mark)
	if err != nil {
		return fmt.Errorf("etcd: create: %w", err)
	}
	return d.change(ctx, "create", func(t *transaction) error {
		if _, err := d.readMark(t); err != nil {
			return err
		}
		if err := d.removable(t); err != nil {
			return err
		}
		for _, gap := range d.layout.Gaps(nil) {
			t.clearRange(gap[0], gap[1])
		}
		t.Set(d.layout.Mark(), value)
		return nil
	})
}

// FinishLoad implements store.Database. There is nothing to build.
func (d *database) FinishLoad(ctx context.Context) error {
	return d.change(ctx, "finish loading", func(t *transaction) error {
		mark, err := d.ours(t)
		if err != nil {
			return err
		}
		mark.Loaded = true
		value, err := ordered.EncodeMark(*mark)
		t.Set(d.layout.Mark(), value)
		return err
	})
}

// Drop implements store.Administration. A prefix with nothing but a lease is cleared too.
func (d *database) Drop(ctx context.Context) error {
	return d.change(ctx, "drop", func(t *transaction) error {
		if _, err := d.readMark(t); err != nil {
			return err
		}
		if err := d.removable(t); err != nil {
			return err
		}
		t.clearRange(d.layout.Bounds())
		return nil
	})
}

// Removable implements store.Administration.
func (d *database) Removable(ctx context.Context) error {
	_, err := look(ctx, d, "look for what others have made", func(t *transaction) (*store.Marker, error) {
		mark, err := d.readMark(t)
		if err == nil && mark != nil {
			err = d.removable(t)
		}
		return mark, err
	})
	return err
}

// Find implements store.Administration, and counts the rows of the first table.
func (d *database) Find(ctx context.Context) (*store.Leftover, error) {
	return look(ctx, d, "find", func(t *transaction) (*store.Leftover, error) {
		mark, err := d.readMark(t)
		if mark == nil || err != nil {
			return nil, err
		}
		rows, err := t.count(d.layout.Rows(d.of.Tables[0].Name))
		return &store.Leftover{Marker: *mark, Rows: rows}, err
	})
}

// Marker implements store.Administration.
func (d *database) Marker(ctx context.Context) (*store.Marker, error) {
	return look(ctx, d, "find", d.readMark)
}

// Settle implements store.Administration: it writes the mark again as it is. Every commit of
// a session compares the revision at which the mark was written last when the session was
// opened; so one that is on its way still, in a member or in the raft log, is done before the
// mark is written, and is there for whoever reads after it, or refused. Without a mark all are
// refused. A session that is open still, of another process of the run, is refused once and
// opened again.
//
// That there is no space is said when the mark is written, or when the alarm is in the raft log:
// behind that, members refuse whatever writes (etcdserver/apply.go, applierV3Capped), so that
// there is nothing to wait for either.
func (d *database) Settle(ctx context.Context) error {
	err := d.change(ctx, "settle", func(t *transaction) error {
		value, err := t.Get(d.layout.Mark())()
		if err == nil && value != nil {
			t.Set(d.layout.Mark(), value)
		}
		return err
	})
	if m := meaningOf(err); m != nil && m.class == classNoSpace {
		return nil
	}
	return err
}
