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
	for column := range 6 {
		if table.Get(row, column) != table.Get(back, column) {
			t.Errorf("%+v came back as %+v", row, back)
		}
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
	table, l, seen := wide(), layout{name: "assay:w"}, map[string]bool{}
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

// TestSlotsOfLayouts: the mark and the lease share a slot, wherever the rows are.
func TestSlotsOfLayouts(t *testing.T) {
	for _, transactions := range []bool{false, true} {
		l := layoutOf(&settings{prefix: "mine", sharded: true}, &store.Schema{Workload: "w", Transactions: transactions})
		want := slotOf("mine")
		if l.spread == transactions || slotOf(l.mark()) != want || slotOf(l.lease()) != want {
			t.Errorf("with transactions %v: spread %v, the mark in slot %d, the lease in %d; want %d", transactions, l.spread, slotOf(l.mark()), slotOf(l.lease()), want)
		}
		if one := slotOf(l.table("a")+"1") == slotOf(l.table("a")+"2"); one != transactions {
			t.Errorf("with transactions %v: two rows in one slot: %v", transactions, one)
		}
	}
}

// TestNewestOwner: the newest report about a slot counts, and migrations are left out.
func TestNewestOwner(t *testing.T) {
	var all owners
	for _, line := range []string{
		"a 10.0.0.1:1@2 master - 0 0 1 connected 0-8000 8002-16383 [77->-b]",
		"b 10.0.0.2:1@2 master,fail - 0 0 2 connected 8001 100-200",
		"c 10.0.0.3:1@2 slave a 0 0 1 connected",
	} {
		parts, err := partsIn(line)
		expect.NoError(t, err)
		all = append(all, parts...)
	}
	for slot, want := range map[int]string{0: "10.0.0.1:1", 99: "10.0.0.1:1", 100: "10.0.0.2:1", 200: "10.0.0.2:1", 201: "10.0.0.1:1", 8001: "10.0.0.2:1", 16383: "10.0.0.1:1"} {
		if got := all.ownerOf(slot); got != want {
			t.Errorf("slot %d is of %q, want %q", slot, got, want)
		}
	}
	if everybody, err := all.all(); err != nil || len(everybody) != 2 {
		t.Errorf("%v, %v", everybody, err)
	}
	if _, err := all[:1].all(); err == nil {
		t.Error("slots that nobody has are not missed")
	}
	if _, err := partsIn("a 10.0.0.1:1@2 master - 0 0 1 connected 0-x"); err == nil {
		t.Error("what is no slot is taken for one")
	}
}
