package bugs

import (
	"context"
	"errors"
	"slices"

	"assay/store"
)

// overlay is a difference between answers and database that the database cannot hold: two rows of
// one key, a column below its floor, another member.
type overlay struct {
	adds map[place]map[string]int64
	// hidden rows are left out.
	hidden map[place]bool
	extra  map[string][]image
}

func newOverlay() overlay {
	return overlay{map[place]map[string]int64{}, map[place]bool{}, map[string][]image{}}
}

func (o *overlay) add(p place, column string, n int64) {
	if o.adds[p] == nil {
		o.adds[p] = map[string]int64{}
	}
	o.adds[p][column] += n
}

func (o *overlay) row(p place, columns []string, row image) image {
	for column, n := range o.adds[p] {
		if i := slices.Index(columns, column); i >= 0 {
			row = row.with(i, store.OfInt(row[i].Number+n))
		}
	}
	return row
}

// undo hides a transaction; redo shows it again.
func (o *overlay) undo(d *database, changes []change) { o.apply(d, changes, -1) }
func (o *overlay) redo(d *database, changes []change) { o.apply(d, changes, 1) }

func (o *overlay) apply(d *database, changes []change, sign int64) {
	for _, c := range changes {
		switch t := d.schema.Table(c.table); {
		case c.before == nil && sign < 0:
			o.hidden[c.place] = true
		case c.before == nil:
			o.extra[c.table] = append(o.extra[c.table], c.after)
		default:
			for _, name := range c.adds {
				i := column(t, name)
				o.add(c.place, name, sign*(c.after[i].Number-c.before[i].Number))
			}
		}
	}
}

// rewrite replaces rows in answers, for a database that cannot change rows.
func (o *overlay) rewrite(d *database, changes []change, to func(*change) image) {
	for i := range changes {
		c := &changes[i]
		row := to(c)
		if row == nil || placeOf(c.table, row[:d.schema.Table(c.table).Keys()]) == c.place {
			o.hidden[c.place] = true
		}
		if row != nil {
			o.extra[c.table] = append(o.extra[c.table], row)
		}
		d.differences++
	}
}

type shownReader struct {
	store.Reader
	d     *database
	shown *overlay
	// left counts the rows still to read, by table, before a premature end.
	left    map[string]int64
	attempt *attempt
}

func (r *shownReader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	t := r.d.schema.Table(s.Table)
	switch {
	case t == nil || s.Verb == store.Native:
		return r.Reader.Read(ctx, s, row, parameters...)
	case s.Verb == store.Count:
		return r.count(ctx, t, s, row, parameters)
	}
	give := func(shown image) error {
		if left, cut := r.left[s.Table]; cut && left == 0 {
			return nil
		} else if cut {
			r.left[s.Table]--
		}
		return row(shown)
	}
	err := r.Reader.Read(ctx, s, func(found store.Row) error {
		values, err := decode(found, t, s.Columns)
		if err != nil {
			return err
		}
		p, ok := r.d.whose(t, &s, parameters, values)
		if ok && r.attempt != nil {
			values = r.attempt.see(p, t, s.Columns, values)
		}
		if values == nil || ok && r.shown.hidden[p] {
			return nil
		}
		if ok {
			values = r.shown.row(p, s.Columns, values)
		}
		return give(values)
	}, parameters...)
	for _, extra := range r.shown.extra[s.Table] {
		if err == nil && satisfies(t, &s, parameters, extra) {
			err = give(extra.pick(t, s.Columns))
		}
	}
	return err
}

// count reads a Count through the overlay.
func (r *shownReader) count(ctx context.Context, t *store.Table, s store.Statement, row func(store.Row) error, parameters []store.Value) error {
	var counted image
	err := r.Reader.Read(ctx, s, func(found store.Row) (err error) {
		counted, err = numbers(found, 1+len(s.Columns))
		return err
	}, parameters...)
	if err != nil {
		return err
	}
	if r.attempt != nil {
		r.attempt.sum(t, &s, parameters, counted)
	}
	for p, adds := range r.shown.adds {
		for i, c := range s.Columns {
			if p.table == s.Table {
				counted[i+1].Number += adds[c]
			}
		}
	}
	for p := range r.shown.hidden {
		if p.table == s.Table {
			counted[0].Number--
		}
	}
	counted[0].Number += int64(len(r.shown.extra[s.Table]))
	if _, cut := r.left[s.Table]; cut {
		counted[0].Number = r.d.cutAt[s.Table]
	}
	return row(counted)
}

func numbers(row store.Row, count int) (image, error) {
	values, into := make(image, count), make([]any, count)
	for i := range into {
		into[i] = &values[i].Number
	}
	return values, row.Scan(into...)
}

// cut draws the premature end, in one of the tables that has rows. It returns false if none has.
func (r *shownReader) cut(ctx context.Context, tables []string) (bool, error) {
	if len(tables) == 0 {
		for _, t := range r.d.schema.Tables {
			tables = append(tables, t.Name)
		}
	}
	tables = slices.Clone(tables)
	r.d.chance.Shuffle(len(tables), func(i, k int) { tables[i], tables[k] = tables[k], tables[i] })
	for _, name := range tables {
		var rows int64
		err := r.Read(ctx, store.Statement{Name: "bug_count_" + name, Verb: store.Count, Table: name}, func(row store.Row) error {
			return row.Scan(&rows)
		})
		if err != nil && !errors.Is(err, store.ErrNotCounted) {
			return false, err
		}
		if rows > 0 {
			left := r.d.fewer(rows)
			r.left, r.d.cutAt = map[string]int64{name: left}, map[string]int64{name: left}
			return true, nil
		}
	}
	return false, nil
}
