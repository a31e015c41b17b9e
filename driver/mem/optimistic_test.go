package mem

import (
	"context"
	"errors"
	"slices"
	"testing"

	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

const (
	ofShelf = iota
	ofName
	byKey
	countShelf
	ofLeft
	everything
	setLeft
	insertItem
	removeItem
	mark
	appendMark
)

func predicateStatements() []store.Statement {
	count := readItems(store.Where("shelf"))
	count.Verb, count.Columns = store.Count, []string{"left"}
	multiple := readItems([]store.Condition{compared("left", store.MultipleOf, 1)})
	item := itemRows().Columns
	return []store.Statement{
		ofShelf:    readItems(store.Where("shelf")),
		ofName:     readItems(append(store.Where("name"), compared("left", store.AtLeast, 2), compared("left", store.Below, 3))),
		byKey:      readItems(store.Where("shelf", "place")),
		countShelf: count,
		ofLeft:     multiple,
		everything: readItems(nil),
		setLeft: {Verb: store.Update, Table: "item", Columns: []string{"left"}, Where: store.Where("shelf", "place"),
			Set: []store.Assignment{store.Set("left", store.Parameter(3))}},
		insertItem: {Verb: store.Insert, Table: "item", Columns: item},
		removeItem: {Verb: store.Delete, Table: "item", Where: store.Where("shelf", "place")},
		mark:       {Verb: store.Put, Table: "list", Columns: []string{"id", "elements"}},
		appendMark: {Verb: store.Append, Table: "list", Columns: []string{"id", "elements"}, Values: []store.Expression{store.Parameter(1), store.Parameter(2)}},
	}
}

func newItem(shelf, place, left int64) []store.Value {
	return append(store.OfInts(shelf, place, left), store.OfText("pen"), store.OfBool(false), store.OfBytes(label(int(100*shelf+place))))
}

// TestPredicates: another session's commit between a transaction's read and its commit refuses the
// commit only if it changes what was read.
func TestPredicates(t *testing.T) {
	pens := []store.Value{store.OfText("pen"), store.OfInt(20), store.OfInt(40)}
	none := []store.Value{store.OfInt(1), store.OfList([]int64{0})}
	for _, c := range []struct {
		name       string
		read       int
		of         []store.Value
		change     int
		parameters []store.Value
		committed  bool
	}{
		{name: "insert into the shelf", read: ofShelf, of: store.OfInts(1), change: insertItem, parameters: newItem(1, 9, 5)},
		{name: "insert into another shelf", read: ofShelf, of: store.OfInts(1), change: insertItem, parameters: newItem(2, 9, 5), committed: true},
		{name: "change in the shelf", read: ofShelf, of: store.OfInts(1), change: setLeft, parameters: store.OfInts(1, 2, 5)},
		{name: "change in another shelf", read: ofShelf, of: store.OfInts(1), change: setLeft, parameters: store.OfInts(3, 2, 5), committed: true},
		{name: "remove from the shelf", read: ofShelf, of: store.OfInts(1), change: removeItem, parameters: store.OfInts(1, 2)},
		{name: "into the range of an index", read: ofName, of: pens, change: setLeft, parameters: store.OfInts(1, 1, 39)},
		{name: "out of the range", read: ofName, of: pens, change: setLeft, parameters: store.OfInts(1, 3, 40)},
		{name: "beside the range", read: ofName, of: pens, change: setLeft, parameters: store.OfInts(1, 1, 19), committed: true},
		{name: "beside the name", read: ofName, of: pens, change: setLeft, parameters: store.OfInts(1, 2, 35), committed: true},
		{name: "the row", read: byKey, of: store.OfInts(1, 1), change: setLeft, parameters: store.OfInts(1, 1, 11)},
		{name: "the row as it was", read: byKey, of: store.OfInts(1, 1), change: setLeft, parameters: store.OfInts(1, 1, 10)},
		{name: "remove the row", read: byKey, of: store.OfInts(1, 1), change: removeItem, parameters: store.OfInts(1, 1)},
		{name: "another row", read: byKey, of: store.OfInts(1, 1), change: setLeft, parameters: store.OfInts(1, 2, 11), committed: true},
		{name: "insert what was absent", read: byKey, of: store.OfInts(1, 9), change: insertItem, parameters: newItem(1, 9, 5)},
		{name: "insert beside what was absent", read: byKey, of: store.OfInts(1, 9), change: insertItem, parameters: newItem(1, 8, 5), committed: true},
		{name: "insert into what was counted", read: countShelf, of: store.OfInts(2), change: insertItem, parameters: newItem(2, 9, 5)},
		{name: "remove from what was counted", read: countShelf, of: store.OfInts(2), change: removeItem, parameters: store.OfInts(2, 1)},
		{name: "remove from elsewhere", read: countShelf, of: store.OfInts(2), change: removeItem, parameters: store.OfInts(3, 1), committed: true},
		{name: "into the multiples", read: ofLeft, of: store.OfInts(7), change: setLeft, parameters: store.OfInts(1, 1, 14)},
		{name: "into what was looked at", read: ofLeft, of: store.OfInts(7), change: setLeft, parameters: store.OfInts(1, 1, 15)},
		{name: "any", read: everything, change: insertItem, parameters: newItem(8, 1, 5)},
		{name: "another table", read: everything, change: mark, parameters: []store.Value{store.OfInt(2), store.OfList([]int64{1})}, committed: true},
	} {
		for _, writes := range []bool{true, false} {
			db := shelves(t)
			n, other := sessionOf(t, db, predicateStatements()...), sessionOf(t, db, predicateStatements()...)
			var before, after []string
			r := n.Transaction(t.Context(), writes, func(ctx context.Context, x store.Transaction) (err error) {
				_, err = x.Do(ctx, c.read, collect(&before), c.of...)
				r := other.Run(ctx, store.Call{Statement: c.change, Parameters: c.parameters})
				_, again := x.Do(ctx, c.read, collect(&after), c.of...)
				err = errors.Join(err, r.Err, again)
				if writes && err == nil {
					_, err = x.Do(ctx, mark, nil, none...)
				}
				return err
			})
			slices.Sort(before)
			slices.Sort(after)
			if committed := r.Outcome == history.Committed; committed != (c.committed || !writes) || !committed && r.Class != store.ClassSerialization {
				t.Errorf("%s, writes %v: %+v", c.name, writes, r)
			}
			if r.Outcome == history.Committed && !slices.Equal(before, after) {
				t.Errorf("%s: read %q, and again %q", c.name, before, after)
			}
			if len(db.d.log) != 0 || len(db.d.open) != 0 {
				t.Errorf("%s: %d changes are kept, and %d transactions are open", c.name, len(db.d.log), len(db.d.open))
			}
		}
	}
}

// TestMeeting: two transactions write what the other read, insert the same row, or append to one
// list.
func TestMeeting(t *testing.T) {
	list := []store.Value{store.OfInt(1), store.OfInt(7)}
	for _, c := range []struct {
		name      string
		mine      func(do func(statement int, parameters ...store.Value))
		theirs    int
		of        []store.Value
		committed bool
	}{
		{"write skew", func(do func(int, ...store.Value)) {
			do(byKey, store.OfInts(1, 1)...)
			do(setLeft, store.OfInts(1, 2, 0)...)
		}, setLeft, store.OfInts(1, 1, 0), false},
		{"lost update", func(do func(int, ...store.Value)) { do(setLeft, store.OfInts(1, 1, 5)...) }, setLeft, store.OfInts(1, 1, 0), false},
		{"the same row", func(do func(int, ...store.Value)) { do(insertItem, newItem(1, 9, 1)...) }, insertItem, newItem(1, 9, 2), false},
		{"the same label", func(do func(int, ...store.Value)) {
			do(insertItem, append(newItem(1, 9, 1)[:5:5], store.OfBytes(label(777)))...)
		}, insertItem, append(newItem(1, 8, 1)[:5:5], store.OfBytes(label(777))), false},
		{"another row", func(do func(int, ...store.Value)) { do(insertItem, newItem(1, 9, 1)...) }, insertItem, newItem(1, 8, 2), true},
		{"appends", func(do func(int, ...store.Value)) { do(appendMark, list...) }, appendMark, list, false},
		{"a list put", func(do func(int, ...store.Value)) { do(mark, store.OfInt(1), store.OfList([]int64{5})) }, appendMark, list, true},
	} {
		db := shelves(t)
		n, other := sessionOf(t, db, predicateStatements()...), sessionOf(t, db, predicateStatements()...)
		r := n.Transaction(t.Context(), true, func(ctx context.Context, x store.Transaction) (err error) {
			c.mine(func(statement int, parameters ...store.Value) {
				_, failed := x.Do(ctx, statement, func(store.Row) error { return nil }, parameters...)
				err = errors.Join(err, failed)
			})
			theirs := other.Transaction(ctx, true, func(ctx context.Context, x store.Transaction) error {
				_, err := x.Do(ctx, c.theirs, func(store.Row) error { return nil }, c.of...)
				return err
			})
			return errors.Join(err, theirs.Err)
		})
		if (r.Outcome == history.Committed) != c.committed || !c.committed && r.Class != store.ClassSerialization {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestMadeAnew: a transaction and a view on a schema that is made anew see and leave nothing.
func TestMadeAnew(t *testing.T) {
	db := shelves(t)
	n := sessionOf(t, db, predicateStatements()...)
	r := n.Transaction(t.Context(), true, func(ctx context.Context, x store.Transaction) error {
		_, before := x.Do(ctx, insertItem, nil, newItem(1, 9, 1)...)
		anew := errors.Join(db.Create(ctx, store.Marker{}), db.Load(ctx, itemRows()))
		if _, err := x.Do(ctx, byKey, func(store.Row) error { return nil }, store.OfInts(1, 1)...); err == nil {
			t.Error("a statement was done in what is no longer there")
		}
		return errors.Join(before, anew)
	})
	if r.Outcome != history.Failed || r.Class != store.ClassSerialization {
		t.Errorf("%+v", r)
	}
	err := db.View(t.Context(), func(r store.Reader) error {
		return errors.Join(db.Drop(t.Context()), r.Read(t.Context(), readItems(nil), func(store.Row) error { return nil }))
	})
	expect.NoError(t, err) // a view sees what was there
	expect.NoError(t, errors.Join(db.Create(t.Context(), store.Marker{}), db.Load(t.Context(), itemRows())))
	if rows := all(t, db, readItems(nil)); len(rows) != 12 || len(db.d.open) > 0 {
		t.Errorf("%d rows, and a transaction is open: %v", len(rows), len(db.d.open) > 0)
	}
}
