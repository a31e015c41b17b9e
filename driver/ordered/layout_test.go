package ordered

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
)

// TestKeysAreTuples compares with the examples in FoundationDB's design/tuple.md and its bindings.
func TestKeysAreTuples(t *testing.T) {
	for n, want := range map[int64]string{
		0: "14", 1: "1501", -1: "13fe", 255: "15ff", 256: "160100", -255: "1300", -256: "12feff", -5551212: "11ab4b93",
		math.MaxInt64: "1c7fffffffffffffff", math.MinInt64: "0c7fffffffffffffff", math.MinInt64 + 1: "0c8000000000000000",
	} {
		if got := hex.EncodeToString(appendInt(nil, n)); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	got := NewLayout("assay", "bank").Key("account", 5)
	if want := "\x02assay\x00\x02bank\x00\x02account\x00\x15\x05"; string(got) != want {
		t.Errorf("account 5 is %q, want %q", got, want)
	}
}

// numbers surround every change of length.
func numbers() []int64 {
	all := []int64{0, math.MaxInt64, math.MinInt64}
	for bits := range 63 {
		for _, n := range []int64{1<<bits - 1, 1 << bits, 1<<bits + 1} {
			all = append(all, n, -n)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// idsOf reads a row's key of integers.
func idsOf(l Layout, table string, ids int, key []byte) ([]int64, error) {
	schema := store.Schema{Tables: []store.Table{{Name: table, KeyColumns: ids, Columns: store.Integers([]string{"a", "b"}[:ids]...)}}}
	row, err := readRow(NewForms(l, &schema)[table], key, nil)
	return row.Numbers, err
}

func TestKeysKeepTheOrderOfIDs(t *testing.T) {
	l := NewLayout("assay", "isolation")
	begin, end := l.Bounds()
	first, beyond := l.Rows("member")
	var last []byte
	for _, n := range numbers() {
		key := l.Key("member", n, -n)
		if bytes.Compare(last, key) >= 0 {
			t.Errorf("the key of %d does not follow that of the number before", n)
		}
		last = key
		inFirst, inEnd := l.Rows("member", n)
		for _, bounds := range [][2][]byte{{begin, end}, {first, beyond}, {inFirst, inEnd}} {
			if bytes.Compare(key, bounds[0]) < 0 || bytes.Compare(key, bounds[1]) >= 0 {
				t.Errorf("the key of %d is not within %x and %x", n, bounds[0], bounds[1])
			}
		}
		if bytes.Compare(last, inFirst) < 0 || bytes.Compare(l.Key("member", n+1, 0), inEnd) < 0 && n != math.MaxInt64 {
			t.Errorf("the rows of group %d hold those of the next", n)
		}
		if got, err := idsOf(l, "member", 2, key); err != nil || got[0] != n || got[1] != -n {
			t.Errorf("the key of %d is read as %v (%v)", n, got, err)
		}
	}
}

// TestPrefixesAreApart: workloads and prefixes do not see one another's keys.
func TestPrefixesAreApart(t *testing.T) {
	var layouts []Layout
	for _, root := range []string{"assay", "assa", "assay1", "assay-"} {
		for _, work := range []string{"bank", "isolation", "availability", "entity", "bulkupdate", "candles"} {
			layouts = append(layouts, NewLayout(root, work))
		}
	}
	tables := []string{TableMark, "account", "candle", "document", "entity", "journal", "list", "market", "member",
		"moment", "pair", "register", "row", "ticker"}
	for i, l := range layouts {
		begin, end := l.Bounds()
		for j, other := range layouts {
			for _, table := range tables {
				for _, key := range [][]byte{other.Key(table), other.Key(table, math.MinInt64), other.Key(table, math.MaxInt64)} {
					within := bytes.Compare(key, begin) >= 0 && bytes.Compare(key, end) < 0
					if within != (i == j) {
						t.Errorf("%s holds %q of %s: %v", l.Name, key, other.Name, within)
					}
				}
			}
		}
		for _, table := range tables {
			first, beyond := l.Rows(table)
			for _, other := range tables {
				key := l.Key(other, 7)
				if within := bytes.Compare(key, first) >= 0 && bytes.Compare(key, beyond) < 0; within != (table == other) {
					t.Errorf("table %s holds a key of %s: %v", table, other, within)
				}
			}
			if mark := l.Mark(); bytes.Compare(mark, first) >= 0 && bytes.Compare(mark, beyond) < 0 {
				t.Errorf("table %s holds the mark", table)
			}
		}
	}
}

func TestForeignKeysAreRefused(t *testing.T) {
	l := NewLayout("assay", "bank")
	good := l.Key("account", 300)
	for _, key := range [][]byte{
		nil, l.Mark(), l.Key("account"), l.Key("journal", 300), good[:len(good)-1], append(slices.Clone(good), 0),
		l.Key("account", 300, 1), append(l.Key("account"), textCode, 'x', 0), append(l.Key("account"), 0xff),
		append(l.Key("account"), 0x16, 0, 7),                         // not the shortest
		append(l.Key("account"), 0x1c, 255, 0, 0, 0, 0, 0, 0, 0),     // beyond an int64
		append(l.Key("account"), 0x1d, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0), // longer still
		NewLayout("assay", "banc").Key("account", 300),
	} {
		if got, err := idsOf(l, "account", 1, key); err == nil {
			t.Errorf("%x was read as account %v", key, got)
		}
	}
}

func FuzzKeys(f *testing.F) {
	l := NewLayout("assay", "bank")
	f.Add(appendInt(nil, 7))
	f.Add([]byte{0x0c, 0, 0})
	f.Fuzz(func(t *testing.T, tail []byte) {
		key := append(l.Key("account"), tail...)
		if got, err := idsOf(l, "account", 1, key); err == nil && !bytes.Equal(l.Key("account", got[0]), key) {
			t.Errorf("%x was read as %v, whose key is %x", key, got, l.Key("account", got[0]))
		}
	})
}

func TestValues(t *testing.T) {
	all := numbers()
	value := appendWords(nil, all...)
	got := make([]int64, len(all))
	if err := readWords("account", value, got); err != nil || !slices.Equal(got, all) {
		t.Errorf("%v was read back as %v (%v)", all, got, err)
	}
	for _, wrong := range [][]byte{nil, value[:8], value[:15], value[:24]} {
		if err := readWords("account", wrong, make([]int64, 2)); err == nil {
			t.Errorf("%d bytes were read as two integers", len(wrong))
		}
	}
}

func TestMark(t *testing.T) {
	mark := store.Marker{Run: "run", Workload: "bank", Version: `v1'";--é`, Rows: 1 << 60, Loaded: true,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.FixedZone("east", 3600))}
	value, err := EncodeMark(mark)
	expect.NoError(t, err)
	got, ok := DecodeMark(value)
	if _, offset := got.Created.Zone(); !ok || offset != 0 || !got.Created.Equal(mark.Created) {
		t.Errorf("created %v, want %v", got.Created, mark.Created)
	}
	got.Created = mark.Created
	if got != mark {
		t.Errorf("%+v, want %+v", got, mark)
	}
	for _, foreign := range []string{"", "x", "{}", "null", `{"run":"x"}`, `[1]`, `{"workload":7}`, strings.Repeat("{", 99)} {
		if got, ok := DecodeMark([]byte(foreign)); ok {
			t.Errorf("%q was taken for the mark %+v", foreign, got)
		}
	}
}

// TestGaps: our keys are in no gap, and every other key under the prefix is in one.
func TestGaps(t *testing.T) {
	l := NewLayout("assay", "bank")
	inGap := func(key []byte) bool {
		for _, gap := range l.Gaps([]string{"journal", "account"}) {
			if bytes.Compare(key, gap[0]) >= 0 && bytes.Compare(key, gap[1]) < 0 {
				return true
			}
		}
		return false
	}
	for _, ours := range [][]byte{l.Mark(), l.Key(TableLease), l.Key("account", 7), l.Key("journal", -1, 3), appendText(l.Key("account"), "x")} {
		if inGap(ours) {
			t.Errorf("%q is in a gap", ours)
		}
	}
	begin, _ := l.Bounds()
	for _, other := range [][]byte{l.Key("theirs", 1), l.Key("accounts"), l.Key("aaa"), l.Key("zzz"), append(bytes.Clone(begin), 0xff)} {
		if !inGap(other) {
			t.Errorf("%q is in no gap", other)
		}
	}
}
