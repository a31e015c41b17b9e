package drivertest

import (
	"context"
	"fmt"
	"testing"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// Rows keeps what was answered to the inserts of a test, and compares it with
// what is there. It is safe for concurrent use.
type Rows struct{ fates[int64, availability.Row] }

// NewRows returns the book of an empty table.
func NewRows() *Rows {
	return &Rows{fates[int64, availability.Row]{
		key: func(row availability.Row) int64 { return row.Key }, of: map[int64]fate[availability.Row]{},
	}}
}

// Record enters one attempt. All attempts of one key have one value.
func (b *Rows) Record(row availability.Row, outcome history.Outcome) { b.record(row, outcome) }

// Check settles and reads everything, and fails the test for a row that is
// missing, altered, doubled or there although it must not be.
func (b *Rows) Check(ctx context.Context, t testing.TB, store availability.Store) {
	t.Helper()
	b.check(ctx, t, store.Settle, store.Read)
}

// hand is one client: it replaces its session when it must, and every answer
// goes into the book. It is used by one goroutine and never ends the test by
// itself.
type hand struct {
	line[availability.Session]
	t      *testing.T
	h      Availability
	book   *Rows
	number int64
	made   int64
}

func (s *shelf) hand(store availability.Store, number int64) *hand {
	x := &hand{line: line[availability.Session]{dial: store.Session}, t: s.t, h: s.h, book: s.book, number: number}
	s.t.Cleanup(x.close)
	return x
}

// next returns a row with a fresh key.
func (x *hand) next() availability.Row {
	x.made++
	key := x.number<<32 | x.made
	return availability.Row{Key: key, Value: key*0x9e3779b97f4a7c1 ^ -key}
}

// insert makes one attempt and records it.
func (x *hand) insert(ctx context.Context, row availability.Row) availability.Reply {
	reply := availability.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Broken: true}}
	if reply.Err = x.connect(ctx); reply.Err == nil {
		reply = x.session.Insert(ctx, row)
	}
	answerOfRow(reply).inspect(x.t, x.h.Secret, func() string { return fmt.Sprintf("insert %+v", row) })
	switch {
	case reply.Duplicate && (reply.Outcome != history.Failed || x.h.Replaces):
		x.t.Errorf("insert %+v: %v and a duplicate", row, reply.Outcome)
	case reply.Outcome == history.Rejected:
		x.t.Errorf("insert %+v: rejected, for which there is no rule", row)
	}
	x.book.Record(row, reply.Outcome)
	x.replace(answerOfRow(reply))
	return reply
}

// get makes one attempt to read.
func (x *hand) get(ctx context.Context, key int64) availability.Reply {
	reply := availability.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Broken: true}}
	if reply.Err = x.connect(ctx); reply.Err == nil {
		reply = x.session.Get(ctx, key)
	}
	answerOfRow(reply).inspect(x.t, x.h.Secret, func() string { return fmt.Sprintf("get %d", key) })
	if reply.Found && reply.Outcome != history.Committed {
		x.t.Errorf("get %d: %v and found", key, reply.Outcome)
	}
	x.replace(answerOfRow(reply))
	return reply
}

func answerOfRow(r availability.Reply) answer {
	return answer{outcome: r.Outcome, class: r.Class, err: r.Err, broken: r.Broken, duplicate: r.Duplicate, found: r.Found}
}

func (x *hand) write(ctx context.Context, row availability.Row) answer {
	return answerOfRow(x.insert(ctx, row))
}

func (x *hand) look(ctx context.Context, row availability.Row) answer {
	return answerOfRow(x.get(ctx, row.Key))
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
