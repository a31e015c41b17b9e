package drivertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"assay/history"
	"assay/workload/availability"
	"assay/workload/bank"
)

// Rows keeps what was answered to the inserts of a test, and compares it with
// what is there. It is safe for concurrent use.
type Rows struct {
	mu    sync.Mutex
	fates map[int64]fate
}

// fate is what is known of one row.
type fate struct {
	value   int64
	outcome history.Outcome
}

// NewRows returns the book of an empty table.
func NewRows() *Rows { return &Rows{fates: map[int64]fate{}} }

// Record enters one attempt. All attempts of one key have one value.
func (b *Rows) Record(row availability.Row, outcome history.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, again := b.fates[row.Key]
	if again {
		outcome = f.outcome.Then(outcome)
	}
	b.fates[row.Key] = fate{value: row.Value, outcome: outcome}
}

// Check settles and reads everything, and fails the test for a row that is
// missing, altered, doubled or there although it must not be.
func (b *Rows) Check(ctx context.Context, t testing.TB, store availability.Store) {
	t.Helper()
	if err := store.Settle(ctx); err != nil {
		t.Fatalf("Settle: %v", err)
	}
	there := map[int64]bool{}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := store.Read(ctx, func(row availability.Row) error {
		f, known := b.fates[row.Key]
		switch {
		case !known:
			t.Errorf("row %+v is there, which nobody inserted", row)
		case there[row.Key]:
			t.Errorf("row %+v is there twice", row)
		case f.outcome == history.Failed:
			t.Errorf("row %+v is there, though its insert failed", row)
		case f.value != row.Value:
			t.Errorf("row %+v is there, want value %d", row, f.value)
		}
		there[row.Key] = true
		return nil
	})
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	for key, f := range b.fates {
		if f.outcome == history.Committed && !there[key] {
			t.Errorf("row %d was acknowledged and is not there", key)
		}
	}
}

// hand is one client: it replaces its session when it must, and every answer
// goes into the book. It is used by one goroutine and never ends the test by
// itself.
type hand struct {
	t       *testing.T
	h       Availability
	store   availability.Store
	book    *Rows
	number  int64
	made    int64
	session availability.Session
}

func (s *shelf) hand(store availability.Store, number int64) *hand {
	x := &hand{t: s.t, h: s.h, store: store, book: s.book, number: number}
	s.t.Cleanup(x.close)
	return x
}

func (x *hand) close() {
	if x.session != nil {
		x.session.Close()
		x.session = nil
	}
}

func (x *hand) connect(ctx context.Context) error {
	if x.session != nil {
		return nil
	}
	session, err := x.store.Session(ctx)
	if err != nil {
		return err
	}
	x.session = session
	return nil
}

// next returns a row with a fresh key.
func (x *hand) next() availability.Row {
	x.made++
	key := x.number<<32 | x.made
	return availability.Row{Key: key, Value: key*0x9e3779b97f4a7c1 ^ -key}
}

// insert makes one attempt and records it.
func (x *hand) insert(ctx context.Context, row availability.Row) availability.Reply {
	reply := availability.Reply{Outcome: history.Failed, Class: bank.ClassConnect, Broken: true}
	if reply.Err = x.connect(ctx); reply.Err == nil {
		reply = x.session.Insert(ctx, row)
	}
	x.inspect(fmt.Sprintf("insert %+v", row), reply)
	switch {
	case reply.Duplicate && (reply.Outcome != history.Failed || x.h.Replaces):
		x.t.Errorf("insert %+v: %v and a duplicate", row, reply.Outcome)
	case reply.Outcome == history.Rejected:
		x.t.Errorf("insert %+v: rejected, for which there is no rule", row)
	}
	x.book.Record(row, reply.Outcome)
	x.replace(reply)
	return reply
}

// get makes one attempt to read.
func (x *hand) get(ctx context.Context, key int64) availability.Reply {
	reply := availability.Reply{Outcome: history.Failed, Class: bank.ClassConnect, Broken: true}
	if reply.Err = x.connect(ctx); reply.Err == nil {
		reply = x.session.Get(ctx, key)
	}
	x.inspect(fmt.Sprintf("get %d", key), reply)
	if reply.Found && reply.Outcome != history.Committed {
		x.t.Errorf("get %d: %v and found", key, reply.Outcome)
	}
	x.replace(reply)
	return reply
}

func (x *hand) replace(r availability.Reply) {
	if r.Broken || r.Outcome == history.Unknown {
		x.close()
	}
}

// inspect fails the test for a reply that contradicts itself.
func (x *hand) inspect(doing string, r availability.Reply) {
	x.t.Helper()
	switch {
	case !r.Outcome.Valid():
		x.t.Errorf("%s: %v", doing, r.Outcome)
	case r.Outcome == history.Committed && (r.Class != "" || r.Err != nil):
		x.t.Errorf("%s: committed with an error: %q %v", doing, r.Class, r.Err)
	case r.Outcome != history.Committed && r.Class == "":
		x.t.Errorf("%s: %v without a class: %v", doing, r.Outcome, r.Err)
	}
	if s := x.h.Secret; s != "" && (strings.Contains(r.Class, s) || r.Err != nil && strings.Contains(r.Err.Error(), s)) {
		x.t.Errorf("%s: the reply tells the password", doing)
	}
}

// commit repeats a fresh row's insert while it fails, and ends the test unless
// it is acknowledged. It is for the test's own goroutine.
func (x *hand) commit(ctx context.Context) availability.Row {
	x.t.Helper()
	row := x.next()
	x.commitRow(ctx, row)
	return row
}

func (x *hand) commitRow(ctx context.Context, row availability.Row) {
	x.t.Helper()
	var r availability.Reply
	for range tries {
		if r = x.insert(ctx, row); r.Outcome != history.Failed || ctx.Err() != nil {
			break
		}
	}
	if r.Outcome != history.Committed {
		x.t.Fatalf("insert %+v: %v (%s: %v), want committed", row, r.Outcome, r.Class, r.Err)
	}
}

// wantFound fails the test unless the key is read as this row.
func (x *hand) wantFound(ctx context.Context, row availability.Row) {
	x.t.Helper()
	if r := x.get(ctx, row.Key); r.Outcome != history.Committed || !r.Found || r.Row != row {
		x.t.Errorf("get %d: %+v, want %+v", row.Key, r, row)
	}
}
