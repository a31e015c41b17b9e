package ordered

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"assay/driver/rows"
	"assay/internal/expect"
	"assay/store"
)

func rowOf(f *Form, values ...store.Value) rows.Row {
	columns, err := f.Places(f.Names())
	var e rows.Evaluation
	if err := errors.Join(err, e.Given(f.Table, columns, values)); err != nil {
		panic(err)
	}
	row := f.Make()
	f.Write(row, columns, e.Values)
	return row
}

func readRow(f *Form, key, value []byte) (rows.Row, error) {
	row := f.Make()
	return row, f.read(key, value, row)
}

func trialLayout() Layout { return NewLayout("assay", "trial") }

// memory keeps keys in memory and counts the requests.
type memory struct {
	values      map[string][]byte
	gets, scans int
}

func (m *memory) Ask(key []byte) Asked {
	m.gets++
	return Asked{Value: m.values[string(key)]}
}

func (m *memory) Scan(begin, end []byte, limit int, reverse bool) (found []Pair, err error) {
	m.scans++
	names := slices.Sorted(maps.Keys(m.values))
	if reverse {
		slices.Reverse(names)
	}
	for _, name := range names {
		if key := []byte(name); len(found) < limit && bytes.Compare(begin, key) <= 0 && bytes.Compare(key, end) < 0 {
			found = append(found, Pair{key, m.values[name]})
		}
	}
	return found, nil
}

func (m *memory) Set(key, value []byte) { m.values[string(key)] = append([]byte{}, value...) }
func (m *memory) Clear(key []byte)      { delete(m.values, string(key)) }

// trialSchema has a table like the bank's, one with indexes and texts, one with lists, and one with
// a key of two columns.
func trialSchema() store.Schema {
	return store.Schema{Workload: "trial", Tables: []store.Table{
		{Name: "account", Columns: store.Integers("id", "balance", "version"), Floors: []store.Minimum{{Name: "floor", Column: "balance"}}},
		{Name: "journal", Columns: []store.Column{{Name: "id"}, {Name: "source"}, {Name: "version", Derived: true}}},
		{Name: "candle", Columns: []store.Column{{Name: "id"}, {Name: "moment"}, {Name: "ticker", Type: store.ASCII}, {Name: "flag", Type: store.Boolean}, {Name: "mark", Type: store.UUID}},
			Indexes: []store.Index{{Name: "moment", Columns: []string{"moment"}}, {Name: "ticker", Columns: []string{"ticker", "moment"}}}},
		{Name: "list", Columns: []store.Column{{Name: "id"}, {Name: "elements", Type: store.Ints}}},
		{Name: "member", KeyColumns: 2, Columns: store.Integers("part", "id")},
		{Name: "named", Columns: []store.Column{{Name: "name", Type: store.String}, {Name: "number"}},
			Indexes: []store.Index{{Name: "number", Columns: []string{"number"}, Unique: true}}},
	}}
}

var trialLimits = Limits{Value: 100_000, Changed: 10_000_000, Part: 1_000_000}

type trial struct {
	*testing.T
	*Execution
	memory *memory
}

func newTrial(t *testing.T) *trial {
	s, m := trialSchema(), &memory{values: map[string][]byte{}}
	return &trial{t, &Execution{Forms: NewForms(trialLayout(), &s), Keys: m, Limits: trialLimits}, m}
}

func (x *trial) plan(s store.Statement) *Plan {
	x.Helper()
	schema := trialSchema()
	s.Name = "trial"
	p, err := Compile(x.Forms, &s, true)
	if err := errors.Join(err, schema.Check([]store.Statement{s})); err != nil {
		x.Fatal(err)
	}
	return p
}

func (x *trial) try(s store.Statement, parameters ...store.Value) (rows []string, changed int64, err error) {
	x.Helper()
	changed, err = x.Do(x.plan(s), parameters, func(row store.Row) error {
		values, err := row.AppendValues(nil)
		rows = append(rows, strings.Trim(fmt.Sprint(values), "[]"))
		return err
	})
	return rows, changed, err
}

func (x *trial) must(s store.Statement, parameters ...store.Value) []string {
	x.Helper()
	rows, _, err := x.try(s, parameters...)
	if err != nil {
		x.Fatal(err)
	}
	return rows
}

func (x *trial) want(what string, got []string, want ...string) {
	x.Helper()
	if !slices.Equal(got, want) {
		x.Errorf("%s: %q, want %q", what, got, want)
	}
}

func insert(table string, columns ...string) store.Statement {
	return store.Statement{Verb: store.Insert, Table: table, Columns: columns}
}

func (x *trial) accounts() {
	s := insert("account", "id", "balance", "version")
	s.Rows = 2
	x.must(s, store.OfInts(1, 100, 0, 2, 50, 0)...)
}

func change() store.Statement {
	return store.Statement{Verb: store.Update, Table: "account", Columns: []string{"balance", "version"}, Where: store.Where("id"),
		Set: []store.Assignment{store.Add("balance", store.Parameter(2)), store.Add("version", store.Number(1))}}
}

func TestAhead(t *testing.T) {
	x := newTrial(t)
	x.accounts()
	a := newAhead(x.memory)
	x.Keys, x.memory.gets = a, 0
	entry := insert("journal", "id", "source", "version")
	entry.Values = []store.Expression{store.Parameter(1), store.Parameter(2), store.Left("account", "version", store.Parameter(2))}
	a.ask(x.plan(change()), store.OfInts(1, 5))
	a.ask(x.plan(entry), store.OfInts(7, 1))
	a.ask(x.plan(store.Statement{Verb: store.Read, Table: "candle", Columns: []string{"id"}}), nil)
	if x.memory.gets != 2 {
		t.Fatalf("%d keys were asked for, want 2", x.memory.gets)
	}
	x.want("changed", x.must(change(), store.OfInts(1, 5)...), "105 1")
	x.must(entry, store.OfInts(7, 1)...)
	x.want("what was written is seen", x.must(change(), store.OfInts(1, 5)...), "110 2")
}

// candles are 30 rows with their ids as moments, of the tickers A and B in turn.
func (x *trial) candles() {
	all := store.Rows{Table: "candle", Columns: []string{"id", "moment", "ticker", "flag", "mark"}, Count: 30, Row: func(i int, into []store.Value) []store.Value {
		return append(into, store.OfInt(int64(i)), store.OfInt(int64(i)), store.OfText(string(rune('A'+i%2))), store.OfBool(i%3 == 0), store.OfBytes([]byte("0123456789abcdef")))
	}}
	err := x.Forms["candle"].Parts(&all, trialLimits, func(part []rows.Row) bool {
		if err := x.Add(x.Forms["candle"], part); err != nil {
			x.Error(err)
		}
		return true
	})
	if err != nil {
		x.Error(err)
	}
}

// TestReads reads only one range of an index, or the named keys.
func TestReads(t *testing.T) {
	x := newTrial(t)
	x.candles()
	read := func(where []store.Condition, order ...string) store.Statement {
		return store.Statement{Verb: store.Read, Table: "candle", Columns: []string{"id"}, Where: where, Order: order}
	}
	between := func(column string, first int) []store.Condition {
		return []store.Condition{{Column: column, Is: store.AtLeast, Value: store.Parameter(first)}, {Column: column, Is: store.Below, Value: store.Parameter(first + 1)}}
	}
	x.want("interval", x.must(read(append(store.Where("ticker"), between("moment", 2)...)), store.OfText("A"), store.OfInt(5), store.OfInt(11)), "6", "8", "10")
	x.want("span", x.must(read(between("moment", 1), "moment"), store.OfInts(-3, 3)...), "0", "1", "2")
	x.want("the wrong way round", x.must(read(between("moment", 1)), store.OfInts(9, 3)...))
	if x.memory.scans != 2 {
		t.Errorf("%d scans, want one for each range by its index", x.memory.scans)
	}
	x.memory.gets = 0
	x.want("keys", x.must(read([]store.Condition{{Column: "id", Is: store.In, Value: store.Parameter(1)}}), store.OfKeys([]int64{9, 4, 9, 99})), "4", "9")
	if x.memory.gets != 3 {
		t.Errorf("%d keys were asked for, want 3", x.memory.gets)
	}
	sorted := read(between("id", 1), "ticker", "id")
	sorted.Descending, sorted.Limit = true, store.Number(3)
	x.want("sorted", x.must(sorted, store.OfInts(0, 6)...), "5", "3", "1")
}

// TestUnreadable: an undecodable row counts when all rows are read, and is an error when its values
// are needed. Elsewhere it ends the statement.
func TestUnreadable(t *testing.T) {
	x := newTrial(t)
	x.accounts()
	for key := range x.memory.values {
		if strings.HasSuffix(key, "\x02") {
			x.memory.values[key] = []byte("torn")
		}
	}
	all := store.Statement{Name: "all", Verb: store.Read, Table: "account", Columns: []string{"id", "balance"}, Order: []string{"id"}}
	var read, torn int
	_, err := x.Do(x.plan(all), nil, func(row store.Row) error {
		var id, balance int64
		if row.Scan(&id, &balance) != nil {
			torn++
		} else {
			read++
		}
		return nil
	})
	if err != nil || read != 1 || torn != 1 {
		t.Errorf("%d rows are read and %d torn: %v", read, torn, err)
	}
	x.want("counted", x.must(store.Statement{Verb: store.Count, Table: "account"}), "2")
	if _, _, err := x.try(store.Statement{Verb: store.Count, Table: "account", Columns: []string{"balance"}}); err == nil {
		t.Error("what cannot be decoded is added")
	}
	if _, _, err := x.try(change(), store.OfInts(2, 1)...); err == nil {
		t.Error("what cannot be decoded is changed")
	}
}

// TestPages reads the same by pages of two as by one.
func TestPages(t *testing.T) {
	x := newTrial(t)
	x.candles()
	for _, descending := range []bool{false, true} {
		s := store.Statement{Verb: store.Read, Table: "candle", Columns: []string{"id"}, Where: store.Where("ticker"), Order: []string{"moment"},
			Descending: descending, Limit: store.Number(7)}
		var got []int64
		r, err := x.Reading(x.plan(s), []store.Value{store.OfText("A")}, func(row store.Row) error {
			got = append(got, 0)
			return row.Scan(&got[len(got)-1])
		})
		expect.NoError(t, err)
		r.page, x.memory.scans = 2, 0
		for over := false; !over; {
			if over, err = r.Step(); err != nil {
				t.Fatal(err)
			}
		}
		want := []int64{0, 2, 4, 6, 8, 10, 12}
		if descending {
			want = []int64{28, 26, 24, 22, 20, 18, 16}
		}
		if !slices.Equal(got, want) || x.memory.scans != 4 {
			t.Errorf("%v by %d pages, want %v", got, x.memory.scans, want)
		}
	}
}

// TestIndexes: entries follow what is changed and deleted.
func TestIndexes(t *testing.T) {
	x := newTrial(t)
	x.candles()
	all := len(x.memory.values)
	at := store.Statement{Verb: store.Read, Table: "candle", Columns: []string{"ticker"}, Where: store.Where("moment")}
	move := store.Statement{Verb: store.Update, Table: "candle", Where: store.Where("ticker"), Set: []store.Assignment{store.Add("moment", store.Number(100)), store.Set("flag", store.Number(1))}}
	if _, changed, err := x.try(move, store.OfText("B")); err != nil || changed != 15 {
		t.Fatalf("%d rows were changed, %v", changed, err)
	}
	x.want("where it was", x.must(at, store.OfInt(7)))
	x.want("where it is", x.must(at, store.OfInt(107)), "B")
	x.must(store.Statement{Verb: store.Put, Table: "candle", Columns: []string{"id", "moment", "ticker", "flag", "mark"}},
		store.OfInt(7), store.OfInt(7), store.OfText("B"), store.OfBool(true), store.OfBytes([]byte("0123456789abcdef")))
	x.want("put back", x.must(at, store.OfInt(7)), "B")
	if len(x.memory.values) != all {
		t.Errorf("%d keys, want %d", len(x.memory.values), all)
	}
	if _, changed, err := x.try(store.Statement{Verb: store.Delete, Table: "candle", Where: store.Where("id")}, store.OfInt(7)); err != nil || changed != 1 || len(x.memory.values) != all-3 {
		t.Errorf("%d rows were deleted, %v, %d keys of %d are left", changed, err, len(x.memory.values), all)
	}
	named := insert("named", "name", "number")
	x.must(named, store.OfText("a\x00b"), store.OfInt(1))
	var v *rows.Violation
	if _, _, err := x.try(named, store.OfText("c"), store.OfInt(1)); !errors.As(err, &v) || v.Kind != store.Unique {
		t.Errorf("a second row of a unique index: %v", err)
	}
	x.want("a text with a zero byte", x.must(store.Statement{Verb: store.Read, Table: "named", Columns: []string{"name"}, Where: store.Where("number")}, store.OfInt(1)), "a\x00b")
}

func TestLists(t *testing.T) {
	x := newTrial(t)
	grow := store.Statement{Verb: store.Append, Table: "list", Columns: []string{"id", "elements"}, Values: []store.Expression{store.Parameter(1), store.Parameter(2)}}
	read := store.Statement{Verb: store.Read, Table: "list", Columns: []string{"elements"}, Where: store.Where("id")}
	x.must(grow, store.OfInts(1, 5)...)
	x.must(grow, store.OfInts(1, -6)...)
	x.want("list", x.must(read, store.OfInt(1)), rows.ListText(5, -6))
	f := x.Forms["list"]
	x.memory.Set(trialLayout().Key("list", 2), appendWords(nil, 8, 9)) // as an earlier version wrote it
	x.must(grow, store.OfInts(2, 10)...)
	x.want("an old list", x.must(read, store.OfInt(2)), rows.ListText(8, 9, 10))
	x.memory.Set(trialLayout().Key("list", 3), f.Value(rowOf(f, store.OfInt(3), store.OfList(make([]int64, trialLimits.Value/8-1)))))
	if _, _, err := x.try(grow, store.OfInts(3, 1)...); !errors.Is(err, ErrLongList) {
		t.Errorf("a list that is too long: %v", err)
	}
}

// TestForm: the format of earlier versions is kept, and their older formats can be read.
func TestForm(t *testing.T) {
	x := newTrial(t)
	f := x.Forms["candle"]
	row := rowOf(f, store.OfInt(-5), store.OfInt(1<<40), store.OfText("AAAA"), store.OfBool(true), store.OfBytes([]byte("0123456789abcdef")))
	if key, want := f.Key(row), trialLayout().Key("candle", -5); !bytes.Equal(key, want) {
		t.Errorf("key %x, want %x", key, want)
	}
	if value, want := f.Value(row), appendRecord(nil, []int64{1 << 40, 1}, "AAAA", "0123456789abcdef"); !bytes.Equal(value, want) {
		t.Errorf("value %x, want %x", value, want)
	}
	entries := f.entries(row)
	if want := appendInt(appendInt(appendText(trialLayout().Key("ticker"), "AAAA"), 1<<40), -5); !bytes.Equal(entries[1], want) {
		t.Errorf("entry %x, want %x", entries[1], want)
	}
	if key, err := f.keyOf(1, entries[1]); err != nil || !bytes.Equal(key, f.Key(row)) {
		t.Errorf("an entry names %x, %v", key, err)
	}
	got, err := readRow(f, f.Key(row), f.Value(row))
	if err != nil || fmt.Sprint(got) != fmt.Sprint(row) {
		t.Errorf("%v, %v; want %v", got, err, row)
	}
	account := x.Forms["account"]
	if got, err := readRow(account, trialLayout().Key("account", 3), appendWords(nil, 70, 2)); err != nil || !slices.Equal(got.Numbers, []int64{3, 70, 2}) {
		t.Errorf("an old account: %v, %v", got, err)
	}
	member := x.Forms["member"]
	for _, value := range [][]byte{{}, member.Value(rowOf(member, store.OfInts(1, 2)...))} {
		if got, err := readRow(member, trialLayout().Key("member", 1, 2), value); err != nil || got.Numbers[1] != 2 {
			t.Errorf("a row without values: %v, %v", got, err)
		}
	}
	for _, key := range [][]byte{f.Key(row)[:len(f.Key(row))-1], append(f.Key(row), 0), trialLayout().Key("account", 3)} {
		if _, err := readRow(f, key, f.Value(row)); err == nil {
			t.Errorf("the key %x was read", key)
		}
	}
}

// TestParts divides rows by their size.
func TestParts(t *testing.T) {
	f := newTrial(t).Forms["named"]
	all := store.Rows{Table: "named", Columns: []string{"number", "name"}, Count: 30, Row: func(i int, into []store.Value) []store.Value {
		return append(into, store.OfInt(int64(i)), store.OfText(strings.Repeat("x", 50_000)))
	}}
	var sizes []int
	err := f.Parts(&all, trialLimits, func(part []rows.Row) bool { sizes = append(sizes, len(part)); return len(sizes) < 5 })
	if err != nil || len(sizes) != 5 || sizes[0] != 4 || sizes[4] != 4 {
		t.Errorf("parts of %v rows", sizes)
	}
	few := trialLimits
	few.PartKeys, sizes = 7, nil // each row has two keys
	err = f.Parts(&all, few, func(part []rows.Row) bool { sizes = append(sizes, len(part)); return true })
	if err != nil || len(sizes) != 10 || slices.Max(sizes) != 3 {
		t.Errorf("parts of %v rows, want ten of three", sizes)
	}
}
