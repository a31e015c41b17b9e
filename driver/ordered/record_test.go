package ordered

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"assay/driver/rows"
	"assay/workload/entity"
)

func entityForm() *Form {
	schema := entity.Schema()
	return NewForms(entityLayout(), &schema)["entity"]
}

func entityLayout() Layout { return NewLayout("assay", "entity") }

// TestUUIDKeysAreTuples compares with design/tuple.md: code 30 and sixteen bytes.
func TestUUIDKeysAreTuples(t *testing.T) {
	id := uuid.MustParse("00ff10f0-0102-8304-8506-0708090a0b00")
	want := "\x02assay\x00\x02entity\x00\x02entity\x00\x30\x00\xff\x10\xf0\x01\x02\x83\x04\x85\x06\x07\x08\x09\x0a\x0b\x00"
	if got := entityForm().appendKeyOf(nil, []rows.Value{{Text: string(id[:])}}); string(got) != want {
		t.Errorf("the key of %v is %q, want %q", id, got, want)
	}
}

func entityRow(f *Form, e *entity.Entity) rows.Row {
	return rowOf(f, e.Values()...)
}

func TestEntityValues(t *testing.T) {
	f := entityForm()
	begin, end := entityLayout().Rows("entity")
	long := entity.Make(1, 2)
	long.Description = strings.Repeat("Ж", entity.MaxDescription/2)
	for _, e := range []entity.Entity{entity.Make(1, 1), long, {}, {Age: math.MinInt64, Name: "\x00", Email: "\xff"}, {ID: uuid.Max, Age: math.MaxInt64}} {
		row := entityRow(f, &e)
		key, value := f.Key(row), f.Value(row)
		if bytes.Compare(key, begin) < 0 || bytes.Compare(key, end) >= 0 {
			t.Errorf("the key of %v is not within its table", e.ID)
		}
		got, err := readRow(f, key, value)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(row) {
			t.Errorf("%+v was read back as %+v (%v)", e, got, err)
		}
		for _, wrong := range [][]byte{nil, entityLayout().Mark(), key[:len(key)-1], append(slices.Clone(key), 0), entityLayout().Key("entity", 7), entityLayout().Key("entity")} {
			if got, err := readRow(f, wrong, value); err == nil {
				t.Errorf("%x was read as the key of %v", wrong, got)
			}
		}
		for end := range value {
			if got, err := readRow(f, key, value[:end]); err == nil {
				t.Errorf("%d bytes of %d were read as %+v", end, len(value), got)
			}
		}
		if _, err := readRow(f, key, append(slices.Clone(value), 0)); err == nil {
			t.Error("a value with one byte too many was read")
		}
		other := slices.Clone(value)
		other[0]++
		if _, err := readRow(f, key, other); err == nil || !strings.Contains(err.Error(), "version") {
			t.Errorf("a value of another version: %v", err)
		}
	}
	largest := entity.Entity{Name: strings.Repeat("x", entity.MaxName), Description: strings.Repeat("x", entity.MaxDescription),
		Address: strings.Repeat("x", entity.MaxAddress), Phone: strings.Repeat("x", entity.MaxPhone), Email: strings.Repeat("x", entity.MaxEmail)}
	if size := len(f.Value(entityRow(f, &largest))); size > 6000 {
		t.Errorf("the largest entity takes %d bytes", size)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add(appendRecord(nil, []int64{1, -1}, "a", ""))
	f.Add([]byte{recordVersion})
	f.Fuzz(func(t *testing.T, value []byte) {
		numbers, texts := make([]int64, 2), make([]string, 2)
		if err := readRecord("entity", value, numbers, texts); err == nil && !bytes.Equal(appendRecord(nil, numbers, texts...), value) {
			t.Errorf("%x was read as %d, %q, which is written otherwise", value, numbers, texts)
		}
	})
}
