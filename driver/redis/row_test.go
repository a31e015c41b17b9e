package redis

import (
	"testing"

	"assay/driver/rows"
	"assay/internal/expect"
	"assay/store"
)

// wide has a column of each type in its key and behind it.
func wide() *rows.Table {
	s := store.Schema{Workload: "w", Tables: []store.Table{{Name: "wide", KeyColumns: 4, Columns: []store.Column{
		{Name: "a"}, {Name: "b", Type: store.String}, {Name: "c", Type: store.UUID}, {Name: "d", Type: store.ASCII},
		{Name: "e", Type: store.Boolean}, {Name: "f", Type: store.String},
	}}}}
	return rows.Tables(&s)["wide"]
}

func TestRowsComeBack(t *testing.T) {
	table := wide()
	row := table.Make()
	for i, v := range []rows.Value{{Number: -1 << 63}, {Text: "a:b*\x00"}, {Text: "0123456789abcdef"}, {}, {Number: 1}, {Text: "é\xff"}} {
		table.Set(row, i, v)
	}
	value := valueOf(row)
	back, err := rowOf(table, value)
	expect.NoError(t, err)
	if all := []int{0, 1, 2, 3, 4, 5}; !table.Alike(all, row, back) {
		t.Errorf("%+v came back as %+v", row, back)
	}
	for end := range len(value) {
		if _, err := rowOf(table, value[:end]); err == nil {
			t.Errorf("the first %d of %d bytes are taken for a row", end, len(value))
		}
	}
	if _, err := rowOf(table, value+"\x00"); err == nil {
		t.Error("a byte too many is taken for a row")
	}
}

func TestKeysAreDistinct(t *testing.T) {
	table, l, seen := wide(), layout{"assay:w"}, map[string]bool{}
	for _, b := range []string{"", ":", "1", "1:", "1:1", "a:1:a", "\x00"} {
		for _, d := range []string{"", ":", "1", ":1", "1:1", "\xff"} {
			for _, a := range []int64{-1, 0, 1, 11} {
				key := l.key(table, []rows.Value{{Number: a}, {Text: b}, {Text: "0123456789abcdef"}, {Text: d}})
				if seen[key] {
					t.Errorf("two rows have the key %q", key)
				}
				seen[key] = true
			}
		}
	}
	for key, ours := range map[string]bool{"assay:w:wide:1": true, "assay:w:wide": false, "assay:w:other:1": false, "assay:w#mark": false, "assay:w2:wide:1": false} {
		if got := l.tableOf(map[string]*rows.Table{"wide": table}, key); (got != nil) != ours {
			t.Errorf("%s is in table %v", key, got)
		}
	}
}
