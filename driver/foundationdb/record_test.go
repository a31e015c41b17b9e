package foundationdb

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"assay/store"
	"assay/workload"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/entity"
	"assay/workload/keyvalue"
)

// TestUUIDKeysAreTuples compares with design/tuple.md: the code 30 and the
// sixteen bytes.
func TestUUIDKeysAreTuples(t *testing.T) {
	id := uuid.MustParse("00ff10f0-0102-8304-8506-0708090a0b00")
	want := "\x02assay\x00\x02entity\x00\x02entity\x00\x30\x00\xff\x10\xf0\x01\x02\x83\x04\x85\x06\x07\x08\x09\x0a\x0b\x00"
	if got := appendElement(newLayout("assay", "entity").key("entity"), store.OfBytes(id[:])); string(got) != want {
		t.Errorf("the key of %v is %q, want %q", id, got, want)
	}
}

// entityRow is an entity as its form has it.
func entityRow(e *entity.Entity) []store.Value {
	row := []store.Value{store.OfBytes(e.ID[:])}
	for _, v := range e.Record().Values {
		if text, is := v.(string); is {
			row = append(row, store.OfText(text))
		} else {
			row = append(row, store.OfInt(v.(int64)))
		}
	}
	return row
}

func TestEntityValues(t *testing.T) {
	schema := keyvalue.Schema(entity.Table())
	f := newForm(newLayout("assay", "entity"), &schema.Tables[0])
	begin, end := f.rows("entity")
	long := entity.Make(1, 2)
	long.Description = strings.Repeat("Ж", entity.MaxDescription/2)
	for _, e := range []entity.Entity{entity.Make(1, 1), long, {}, {Age: math.MinInt64, Name: "\x00", Email: "\xff"}, {ID: uuid.Max, Age: math.MaxInt64}} {
		row := entityRow(&e)
		key, value := f.key(row), f.value(row)
		if bytes.Compare(key, begin) < 0 || bytes.Compare(key, end) >= 0 {
			t.Errorf("the key of %v is not within its table", e.ID)
		}
		got, err := f.row(key, value)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(row) {
			t.Errorf("%+v was read back as %+v (%v)", e, got, err)
		}
		for _, wrong := range [][]byte{nil, f.mark(), key[:len(key)-1], append(slices.Clone(key), 0), f.layout.key("entity", 7), f.layout.key("entity")} {
			if got, err := f.row(wrong, value); err == nil {
				t.Errorf("%x was read as the key of %v", wrong, got)
			}
		}
		for end := range value {
			if got, err := f.row(key, value[:end]); err == nil {
				t.Errorf("%d bytes of %d were read as %+v", end, len(value), got)
			}
		}
		if _, err := f.row(key, append(slices.Clone(value), 0)); err == nil {
			t.Error("a value with one byte too many was read")
		}
		other := slices.Clone(value)
		other[0]++
		if _, err := f.row(key, other); err == nil || !strings.Contains(err.Error(), "version") {
			t.Errorf("a value of another version: %v", err)
		}
	}
	largest := entity.Entity{Name: strings.Repeat("x", entity.MaxName), Description: strings.Repeat("x", entity.MaxDescription),
		Address: strings.Repeat("x", entity.MaxAddress), Phone: strings.Repeat("x", entity.MaxPhone), Email: strings.Repeat("x", entity.MaxEmail)}
	if size := len(f.value(entityRow(&largest))); size > 6000 {
		t.Errorf("the largest entity takes %d bytes", size)
	}
}

func TestDocumentValues(t *testing.T) {
	l := newLayout("assay", "bulkupdate")
	d := bulkupdate.NewDocuments(bulkupdate.Config{Users: 3, Documents: 5, Field: bulkupdate.FieldAlternate}, 1).At(7)
	for _, d := range []bulkupdate.Document{d, {ID: math.MaxInt64, User: 1 << 40, Number: -1, Flag: true, Generation: 1<<60 + 1}, {}} {
		key, value := l.key(tableDocument, d.User, d.ID), documentValue(d)
		if got, err := l.documentOf(key, value); err != nil || got != d {
			t.Errorf("%+v was read back as %+v (%v)", d, got, err)
		}
		begin, end := l.rows(tableDocument, d.User)
		if bytes.Compare(key, begin) < 0 || bytes.Compare(key, end) >= 0 {
			t.Errorf("document %d is not within the range of its owner", d.ID)
		}
		if _, err := l.documentOf(l.key(tableDocument, d.User), value); err == nil {
			t.Error("a key without an id was read as a document's")
		}
		if _, err := l.documentOf(key, value[:len(value)-1]); err == nil {
			t.Error("a value that is cut short was read as a document's")
		}
	}
}

func TestCandleValues(t *testing.T) {
	l := newLayout("assay", "candles")
	for _, c := range []candles.Candle{candles.NewGenerator(candles.Defaults(), 1).Candle(123_456), {}, {ID: -1, Moment: -1, Trades: math.MinInt64, Note: "\x00"}} {
		key, value := l.key(tableCandle, c.ID), candleValue(&c)
		var got candles.Candle
		if err := l.candle(key, value, &got); err != nil || got != c {
			t.Errorf("%+v was read back as %+v (%v)", c, got, err)
		}
		if err := l.candle(key, value[:len(value)-1], &got); err == nil {
			t.Error("a value that is cut short was read as a candle's")
		}
		if err := l.candle(l.key("row", c.ID), value, &got); err == nil {
			t.Error("a key of another table was read as a candle's")
		}
	}
}

// TestIndexEntries: an entry is within the bounds of the moments around its own
// and of its ticker, and in no others.
func TestIndexEntries(t *testing.T) {
	l := newLayout("assay", "candles")
	for _, moment := range []int64{0, -1, 255, 256, 1 << 50, math.MaxInt64 - 1, math.MinInt64 + 1} {
		for _, id := range []int64{0, 1, math.MaxInt64} {
			entries := l.entries(&candles.Candle{ID: id, Moment: moment, Ticker: "AAAB", Market: "NYSE"})
			prefixes := [][]byte{l.key(tableMoment), l.textKey(tableTicker, "AAAB"), l.textKey(tableMarket, "NYSE")}
			for i, entry := range entries {
				if got, err := idOfEntry(prefixes[i], entry); err != nil || got != id {
					t.Errorf("the entry %x is of %d (%v), want %d", entry, got, err, id)
				}
				for j, prefix := range prefixes {
					first, last := within(prefix)
					for _, at := range []held{{first, last, i == j}, bounds(prefix, moment, moment+1, i == j), bounds(prefix, moment-1, moment+1, i == j),
						bounds(prefix, moment-1, moment, false), bounds(prefix, moment+1, math.MaxInt64, false)} {
						if got := bytes.Compare(entry, at.begin) >= 0 && bytes.Compare(entry, at.end) < 0; got != at.want {
							t.Errorf("the entry %x is between %x and %x: %v", entry, at.begin, at.end, got)
						}
					}
				}
			}
			if begin, end := within(l.textKey(tableTicker, "AAA")); bytes.Compare(entries[1], begin) >= 0 && bytes.Compare(entries[1], end) < 0 {
				t.Error("a ticker's entries hold those of a longer name")
			}
		}
	}
	if begin, end := between(l.key(tableMoment), 7, 7); bytes.Compare(begin, end) < 0 {
		t.Error("there are keys from 7 to before 7")
	}
	prefix := l.key(tableMoment)
	for _, wrong := range [][]byte{nil, prefix, l.key(tableMoment, 1), l.key(tableMoment, 1, 2, 3), l.textKey(tableMoment, "x", 1), l.key("row", 1, 2)} {
		if id, err := idOfEntry(prefix, wrong); err == nil {
			t.Errorf("%x was read as an entry of candle %d", wrong, id)
		}
	}
}

// held says whether what is between two keys holds an entry.
type held struct {
	begin, end []byte
	want       bool
}

func bounds(prefix []byte, from, to int64, want bool) held {
	begin, end := between(prefix, from, to)
	return held{begin, end, want}
}

func TestEngines(t *testing.T) {
	for want, p := range map[string]workload.Product{
		"ssd-2":       {Settings: []workload.Setting{{Name: "isolation", Value: level}, {Name: "storage_engine", Value: "ssd-2"}}},
		unnamedEngine: {Settings: []workload.Setting{{Name: "isolation", Value: level}}},
	} {
		if got := engines(p); !slices.Equal(got, []string{want}) {
			t.Errorf("the engines of %+v are %q, want %q", p, got, want)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(appendRecord(nil, []int64{1, -1}, "a", ""))
	f.Add([]byte{recordVersion})
	f.Fuzz(func(t *testing.T, value []byte) {
		var a, b int64
		var x, y string
		if err := readRecord("entity", value, []*int64{&a, &b}, &x, &y); err == nil && !bytes.Equal(appendRecord(nil, []int64{a, b}, x, y), value) {
			t.Errorf("%x was read as %d, %d, %q, %q, which is written otherwise", value, a, b, x, y)
		}
	})
}
