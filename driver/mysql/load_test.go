package mysql

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

func loadSchema() store.Schema {
	return store.Schema{Workload: "loading", Tables: []store.Table{{Name: "thing", Loaded: true, Columns: []store.Column{
		{Name: "id"}, {Name: "flag", Type: store.Boolean}, {Name: "words", Type: store.String, Length: 300}, {Name: "code", Type: store.ASCII, Length: 20},
		{Name: "uuid", Type: store.UUID}, {Name: "list", Type: store.Ints}}, Floors: []store.Minimum{{Name: "thing_floor", Column: "id", Least: math.MinInt64 + 1}}}}}
}

// loadable are rows with texts and bytes that LOAD DATA could misread.
func loadable() [][]store.Value {
	bytes := make([]byte, 256)
	for i := range bytes {
		bytes[i] = byte(i)
	}
	texts := []string{"", `\`, `\N`, "NULL", "a\tb\\\tc\\", "line\nline\r\n", `it's "quoted"`, "\x00\x1a\b", "übermäßig 🎉", string(slices.Concat(bytes[:128]))}
	var rows [][]store.Value
	for i, text := range texts {
		id := []int64{math.MaxInt64, math.MinInt64 + 1, int64(i)}[min(i, 2)]
		rows = append(rows, []store.Value{store.OfInt(id), store.OfBool(i%2 == 0), store.OfText(text), store.OfText(fmt.Sprintf("%c-%d", 33+i, i)),
			store.OfBytes(bytes[16*i : 16*i+16]), store.OfList([]int64{int64(i), math.MinInt64})})
	}
	return rows
}

func rowsOf(all [][]store.Value) store.Rows {
	of := loadSchema()
	return store.Rows{Table: "thing", Columns: of.Tables[0].Names(), Count: len(all), Row: func(i int, into []store.Value) []store.Value { return append(into, all[i]...) }}
}

// TestLoad: every value arrives unchanged, by LOAD DATA or, if the server refuses that, by INSERT.
func TestLoad(t *testing.T) {
	for _, refused := range []bool{false, true} {
		t.Run(fmt.Sprintf("refused %v", refused), func(t *testing.T) {
			if refused {
				configure(t, "local_infile")
			}
			p := openLoading(t)
			want := loadable()
			expect.NoError(t, p.Load(t.Context(), rowsOf(want)), p.FinishLoad(t.Context()))
			if p.inserts.Load() != refused || (p.BulkRows() > 0) == refused {
				t.Errorf("loaded by INSERT: %v, batches of %d", p.inserts.Load(), p.BulkRows())
			}
			wantLoaded(t, p, want)
		})
	}
}

// TestLoadIsStrict refuses whole what INSERT refuses, although LOAD DATA would drop rows or change
// values.
func TestLoadIsStrict(t *testing.T) {
	good := loadable()
	for name, spoil := range map[string]func(row []store.Value){
		"Duplicate entry":         func(row []store.Value) { row[0] = good[0][0] },
		"thing_floor":             func(row []store.Value) { row[0] = store.OfInt(math.MinInt64) },
		"Data too long":           func(row []store.Value) { row[2] = store.OfText(strings.Repeat("a", 301)) },
		"Incorrect integer value": func(row []store.Value) { row[0] = store.OfText("one") },
	} {
		t.Run(name, func(t *testing.T) {
			p := openLoading(t)
			bad := slices.Clone(good)
			bad[3] = slices.Clone(bad[3])
			spoil(bad[3])
			if err := p.Load(t.Context(), rowsOf(bad)); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v", err)
			}
			wantLoaded(t, p, nil)
			expect.NoError(t, p.Load(t.Context(), rowsOf(good)))
			wantLoaded(t, p, good)
		})
	}
}

// TestLoadMore loads more rows than one INSERT has, without LOAD DATA.
func TestLoadMore(t *testing.T) {
	configure(t, "local_infile")
	p := openLoading(t)
	rows, one := rowsOf(loadable()), loadable()[0]
	rows.Count = 2*insertRows + 1
	rows.Row = func(i int, into []store.Value) []store.Value {
		return append(append(into, store.OfInt(int64(i))), one[1:]...)
	}
	expect.NoError(t, p.Load(t.Context(), rows))
	if n := value(t, admin(t), "SELECT concat(count(*), ' ', sum(id)) FROM assay_loading.thing"); n != "2001 2001000" {
		t.Errorf("there are %s", n)
	}
}

func openLoading(t *testing.T) *schema {
	t.Helper()
	p, err := openSchema(t.Context(), target(), loadSchema())
	expect.NoError(t, err)
	expect.AtEnd(t, func() error { return errors.Join(p.Drop(context.Background()), p.Close()) })
	expect.NoError(t, p.Create(t.Context(), store.Marker{Workload: "loading"}))
	return p
}

func wantLoaded(t *testing.T, p *schema, want [][]store.Value) {
	t.Helper()
	found := map[string]bool{}
	all := rowsOf(nil)
	err := store.ReadAll(t.Context(), p.View, func(r store.Reader) error {
		return store.Whole(t.Context(), r, store.Statement{Table: all.Table, Columns: all.Columns}, func(row store.Row) error {
			var id int64
			var is bool
			var words, code string
			var uuid []byte
			var list []int64
			err := row.Scan(&id, &is, &words, &code, &uuid, &list)
			found[fmt.Sprintf("%d %v %q %q %x %d", id, is, words, code, uuid, list)] = true
			return err
		})
	})
	expect.NoError(t, err)
	for _, v := range want {
		if row := fmt.Sprintf("%d %v %q %q %x %d", v[0].Number, v[1].Number != 0, v[2].Text, v[3].Text, v[4].Bytes, v[5].Numbers); !found[row] {
			t.Errorf("there is no row %s", row)
		}
	}
	if len(found) != len(want) {
		t.Errorf("%d rows are there, want %d: %v", len(found), len(want), found)
	}
}
