package drivertest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// recordMaker makes records of a table.
type recordMaker struct{ table keyvalue.Table }

// record is the record of a number, with another key for each.
func (m recordMaker) record(n int64) keyvalue.Record {
	return m.of(n, func(c keyvalue.Column) keyvalue.Value {
		if c.Type == keyvalue.Text {
			return clip(fmt.Sprintf("%s of %d", c.Name, n), c.Max)
		}
		return ordinary(c, int64(workload.Mix(uint64(n))))
	})
}

func (m recordMaker) of(n int64, value func(keyvalue.Column) keyvalue.Value) keyvalue.Record {
	r := keyvalue.Record{Key: ordinary(m.table.Key, n)}
	for _, c := range m.table.Columns {
		r.Values = append(r.Values, value(c))
	}
	return r
}

// altered is the record with other values.
func (m recordMaker) altered(r keyvalue.Record, n int64) keyvalue.Record {
	other := m.record(n)
	other.Key = r.Key
	return other
}

// impossible is a key that no record of a test has.
func (m recordMaker) impossible() keyvalue.Value {
	return map[keyvalue.Type]keyvalue.Value{keyvalue.Bigint: int64(-1), keyvalue.UUID: uuid.UUID{}, keyvalue.Text: "nothing"}[m.table.Key.Type]
}

// ordinary is a value of a column, by a number.
func ordinary(c keyvalue.Column, n int64) keyvalue.Value {
	switch c.Type {
	case keyvalue.Integer:
		if c.Max > 0 {
			return int64(uint64(n) % uint64(c.Max+1))
		}
		return int64(int32(n))
	case keyvalue.Text:
		return clip(strconv.FormatInt(n, 10), c.Max)
	case keyvalue.UUID:
		var id uuid.UUID
		binary.BigEndian.PutUint64(id[:8], workload.Mix(uint64(n)))
		binary.BigEndian.PutUint64(id[8:], uint64(n))
		id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8 (RFC 9562)
		return id
	default:
		return n
	}
}

// clip shortens a text of single bytes.
func clip(text string, most int) string { return text[:min(len(text), most)] }

// extreme are records that a careless driver would spoil: integers that no
// floating-point number holds, texts with characters that have a meaning to
// somebody, and the longest ones.
func (m recordMaker) extreme() []keyvalue.Record {
	texts := []string{`' " and \ and $1 ? :x %s {}`, "Žluťoučký 馬 🐎", " spaces at the ends ", "two\nlines\tand a tab", "<b>&amp;</b>", ""}
	integers := []int64{0, -1, 1<<53 + 1, math.MinInt64, math.MaxInt64, -1 << 31}
	keys := []int64{0, 1, 1<<53 + 1, math.MaxInt64, 7, 8}
	var all []keyvalue.Record
	for i, text := range texts {
		all = append(all, m.of(keys[i], func(c keyvalue.Column) keyvalue.Value {
			switch {
			case c.Type == keyvalue.Text && text == "":
				return strings.Repeat("Ж", c.Max/2)
			case c.Type == keyvalue.Text:
				return text
			default:
				return ordinary(c, integers[i])
			}
		}))
	}
	return append(all, m.of(9, func(c keyvalue.Column) keyvalue.Value {
		switch {
		case c.Type == keyvalue.Text:
			return strings.Repeat("d", c.Max)
		case c.Type == keyvalue.Integer && c.Max > 0:
			return int64(c.Max)
		default:
			return ordinary(c, math.MaxInt32)
		}
	}))
}

// Records keeps what was answered to the inserts of a test, and compares it with
// what is there. It is safe for concurrent use.
type Records struct {
	mu       sync.Mutex
	inserted map[keyvalue.Value]inserted
}

// inserted is what is known of one record.
type inserted struct {
	record  keyvalue.Record
	outcome history.Outcome
}

// NewRecords is of an empty table.
func NewRecords() *Records { return &Records{inserted: map[keyvalue.Value]inserted{}} }

// Add enters one attempt to insert. All attempts of one key have the same
// values.
func (b *Records) Add(record keyvalue.Record, outcome history.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before, again := b.inserted[record.Key]; again {
		outcome = before.outcome.Then(outcome)
	}
	b.inserted[record.Key] = inserted{record, outcome}
}

// replaced enters a record that was written over the one of its key.
func (b *Records) replaced(record keyvalue.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inserted[record.Key] = inserted{record, history.Committed}
}

// Check settles and reads everything, and fails the test for a record that is
// missing, altered, doubled or there although it must not be.
func (b *Records) Check(ctx context.Context, t testing.TB, store keyvalue.Store) {
	t.Helper()
	if err := store.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	there := map[keyvalue.Value]bool{}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := store.Read(ctx, func(record keyvalue.Record) error {
		before, known := b.inserted[record.Key]
		switch {
		case !known:
			t.Errorf("%+v is there, which nobody inserted", record)
		case there[record.Key]:
			t.Errorf("%+v is there twice", record)
		case before.outcome == history.Failed:
			t.Errorf("%+v is there, though its insert failed", record)
		case !record.Equal(before.record):
			t.Errorf("%+v is there, want %+v", record, before.record)
		}
		there[record.Key] = true
		return nil
	})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	for key, known := range b.inserted {
		if known.outcome == history.Committed && !there[key] {
			t.Errorf("%v was acknowledged and is not there", key)
		}
	}
}
