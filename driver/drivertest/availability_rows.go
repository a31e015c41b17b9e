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
type Rows struct {
	writes[int64, availability.Row]
}

// NewRows returns the book of an empty table.
func NewRows() *Rows {
	return &Rows{writes[int64, availability.Row]{
		key: func(row availability.Row) int64 { return row.Key }, of: map[int64]written[availability.Row]{},
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

// availabilityClient is one client, every answer to which is recorded. It is used
// by one goroutine.
type availabilityClient struct {
	connection[availability.Session]
	replaces bool
	book     *Rows
	number   int64
	made     int64
}

func (f *availabilityFixture) client(store availability.Store, number int64) *availabilityClient {
	x := &availabilityClient{connection: newConnection(f.fixture, store.Session), replaces: f.harness.Replaces, book: f.book, number: number}
	f.t.Cleanup(x.close)
	return x
}

// next returns a row with a fresh key.
func (x *availabilityClient) next() availability.Row {
	x.made++
	key := x.number<<32 | x.made
	return availability.Row{Key: key, Value: key*0x9e3779b97f4a7c1 ^ -key}
}

// insert makes one attempt and records it.
func (x *availabilityClient) insert(ctx context.Context, row availability.Row) availability.Reply {
	var reply availability.Reply
	what := fmt.Sprintf("insert %+v", row)
	reply.Reply = x.attempt(ctx, what, func(session availability.Session) workload.Reply {
		reply = session.Insert(ctx, row)
		return reply.Reply
	})
	if reply.Duplicate && x.replaces || reply.Outcome == history.Rejected {
		x.t.Errorf("%s: %+v", what, reply)
	}
	x.book.Record(row, reply.Outcome)
	return reply
}

// get makes one attempt to read.
func (x *availabilityClient) get(ctx context.Context, key int64) availability.Reply {
	var reply availability.Reply
	what := fmt.Sprintf("get %d", key)
	reply.Reply = x.attempt(ctx, what, func(session availability.Session) workload.Reply {
		reply = session.Get(ctx, key)
		return reply.Reply
	})
	if reply.Found && reply.Outcome != history.Committed {
		x.t.Errorf("%s: %v and found", what, reply.Outcome)
	}
	return reply
}

func answerOfRow(r availability.Reply) answer { return answer{Reply: r.Reply, found: r.Found} }

func (x *availabilityClient) write(ctx context.Context, row availability.Row) answer {
	return answerOfRow(x.insert(ctx, row))
}

func (x *availabilityClient) look(ctx context.Context, row availability.Row) answer {
	return answerOfRow(x.get(ctx, row.Key))
}

// commit repeats a fresh row's insert while it fails, and ends the test unless
// it is acknowledged. It is for the test's own goroutine.
func (x *availabilityClient) commit(ctx context.Context) availability.Row {
	x.t.Helper()
	row := x.next()
	x.commitRow(ctx, row)
	return row
}

func (x *availabilityClient) commitRow(ctx context.Context, row availability.Row) {
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
func (x *availabilityClient) wantFound(ctx context.Context, row availability.Row) {
	x.t.Helper()
	if r := x.get(ctx, row.Key); r.Outcome != history.Committed || !r.Found || r.Row != row {
		x.t.Errorf("get %d: %+v, want %+v", row.Key, r, row)
	}
}
