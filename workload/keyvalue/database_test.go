package keyvalue_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"assay/driver/mem"
	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/keyvalue"
)

// tables have keys and columns of every type.
func tables() map[keyvalue.Type]keyvalue.Table {
	all := map[keyvalue.Type]keyvalue.Table{}
	for of, key := range map[keyvalue.Type]keyvalue.Column{
		keyvalue.Bigint: {Name: "id", Type: keyvalue.Bigint}, keyvalue.UUID: {Name: "id", Type: keyvalue.UUID}, keyvalue.Text: {Name: "id", Type: keyvalue.Text, Max: 40},
	} {
		all[of] = keyvalue.Table{Workload: "records", Name: "record", Key: key, Loaded: true, Columns: []keyvalue.Column{
			{Name: "large", Type: keyvalue.Bigint}, {Name: "small", Type: keyvalue.Integer}, {Name: "content", Type: keyvalue.Text, Max: 100}, {Name: "tag", Type: keyvalue.UUID}}}
	}
	return all
}

// record is number n of those with keys of a type, which are in the order of the numbers.
func record(of keyvalue.Type, n int64) keyvalue.Record {
	tag := uuid.UUID{0: byte(n >> 8), 1: byte(n), 6: 0x80, 8: 0x80, 15: 7}
	texts := []string{`' " and \ and $1 ? :x %s {}`, "Žluťoučký 馬 🐎", " spaces at the ends ", "two\nlines\tand a tab", "", strings.Repeat("Ж", 100)}
	key := map[keyvalue.Type]keyvalue.Value{keyvalue.Bigint: n, keyvalue.UUID: tag, keyvalue.Text: fmt.Sprintf("%05d", n)}[of]
	large := []int64{0, -1, 1<<53 + 1, math.MinInt64, math.MaxInt64}[n%5]
	return keyvalue.Record{Key: key, Values: []keyvalue.Value{large, int64(int32(large)), texts[n%int64(len(texts))], tag}}
}

func opened(t *testing.T, open store.Opener, table keyvalue.Table) (keyvalue.Mutable, keyvalue.MutableSession) {
	t.Helper()
	s, err := keyvalue.By(open)(t.Context(), workload.Target{Address: "mem://"}, table)
	if err != nil {
		t.Fatal(err)
	}
	db := s.(keyvalue.Mutable)
	if err := db.Create(t.Context(), workload.Marker{}); err != nil {
		t.Fatal(err)
	}
	session, err := db.MutableSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return db, session
}

// TestRecords loads, inserts, changes and reads records of every type.
func TestRecords(t *testing.T) {
	for of, table := range tables() {
		db, session := opened(t, mem.Open, table)
		want := []keyvalue.Record{}
		for n := range int64(12) {
			want = append(want, record(of, n))
		}
		if err := errors.Join(db.LoadRecords(t.Context(), want[:6]), db.FinishLoad(t.Context())); err != nil {
			t.Fatal(err)
		}
		for _, r := range want[6:] {
			if reply := session.Insert(t.Context(), r); reply.Outcome != history.Committed {
				t.Errorf("%v: %+v", r, reply)
			}
		}
		for _, n := range []int64{2, 9} {
			if r := session.Insert(t.Context(), want[n]); r.Outcome != history.Failed || !r.Duplicate || r.Class != workload.ClassDuplicate {
				t.Errorf("insert again: %+v", r)
			}
			want[n] = keyvalue.Record{Key: want[n].Key, Values: record(of, n+20).Values}
			if r := session.Update(t.Context(), want[n]); r.Outcome != history.Committed || !r.Found {
				t.Errorf("update: %+v", r)
			}
		}
		absent := record(of, 100)
		if r := session.Update(t.Context(), absent); r.Outcome != history.Committed || r.Found {
			t.Errorf("update of nothing: %+v", r)
		}
		if r := session.Get(t.Context(), absent.Key); r.Outcome != history.Committed || r.Found || r.Record.Key != nil {
			t.Errorf("get of nothing: %+v", r)
		}
		for i, r := range want {
			if got := session.Get(t.Context(), r.Key); got.Outcome != history.Committed || !got.Found || !got.Record.Equal(r) {
				t.Errorf("get: %+v, want %+v", got, r)
			}
			for _, limit := range []int{1, 3, 100} {
				found, reply := session.Scan(t.Context(), r.Key, limit)
				if reply.Outcome != history.Committed || !slices.EqualFunc(found, want[i:min(i+limit, len(want))], keyvalue.Record.Equal) {
					t.Errorf("scan from %v, limit %d: %+v, %+v", r.Key, limit, found, reply)
				}
			}
		}
		if found, reply := session.Scan(t.Context(), absent.Key, 5); reply.Outcome != history.Committed || len(found) != 0 {
			t.Errorf("scan from the end: %+v, %+v", found, reply)
		}
		read := []keyvalue.Record{}
		err := db.Read(t.Context(), func(r keyvalue.Record) error { read = append(read, r); return nil })
		slices.SortFunc(read, func(a, b keyvalue.Record) int { return strings.Compare(keyText(a), keyText(b)) })
		if err != nil || !slices.EqualFunc(read, want, keyvalue.Record.Equal) {
			t.Errorf("%+v were read, %v; want %+v", read, err, want)
		}
	}
}

// keyText sorts as the key does, of those that the test has.
func keyText(r keyvalue.Record) string {
	if n, is := r.Key.(int64); is {
		return fmt.Sprintf("%05d", n)
	}
	return fmt.Sprint(r.Key)
}

// replacing replaces the row of a key that is there, and has no scans.
type replacing struct{ store.Database }

func (replacing) Lacks() store.Lacks {
	return store.Lacks{store.UniqueKeys: "an insert replaces", store.OrderedScans: "keys are hashed"}
}

// TestWhatADatabaseLacks changes what an update says, and what is refused.
func TestWhatADatabaseLacks(t *testing.T) {
	db, session := opened(t, func(ctx context.Context, target workload.Target, schema store.Schema) (store.Database, error) {
		opened, err := mem.Open(ctx, target, schema)
		return replacing{opened}, err
	}, tables()[keyvalue.Bigint])
	if r := session.Update(t.Context(), record(keyvalue.Bigint, 7)); r.Outcome != history.Committed || !r.Found {
		t.Errorf("an update makes the row: %+v", r)
	}
	var refused *workload.OptionError
	if _, err := db.Scans(); !errors.As(err, &refused) || refused.Reason != "keys are hashed" {
		t.Errorf("%v", err)
	}
	if promise := keyvalue.PromiseOf(db); promise != keyvalue.PromiseLinearizable {
		t.Errorf("mem promises %q", promise)
	}
}
