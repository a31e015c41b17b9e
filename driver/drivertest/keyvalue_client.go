package drivertest

import (
	"context"
	"fmt"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueClient is one client, every answer to which is recorded. It is used by
// one goroutine.
type keyValueClient struct {
	connection[keyvalue.Session]
	replaces bool
	make     recordMaker
	written  *Records
	number   int64
	made     int64
}

func (f *keyValueFixture) client(store keyvalue.Store, number int) *keyValueClient {
	return opened(f.fixture, &keyValueClient{connection: newConnection(f.fixture, store.Session), replaces: f.harness.Replaces,
		make: f.make, written: f.written, number: int64(number)})
}

// next returns a record with a fresh key.
func (x *keyValueClient) next() keyvalue.Record {
	x.made++
	return x.make.record((x.number+1)<<32 | x.made)
}

// insert makes one attempt and records it.
func (x *keyValueClient) insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	reply := x.insertUnrecorded(ctx, record)
	x.written.Add(record, reply.Outcome)
	return reply
}

func (x *keyValueClient) insertUnrecorded(ctx context.Context, record keyvalue.Record) (reply keyvalue.Reply) {
	what := fmt.Sprintf("insert %v", record.Key)
	reply.Reply = x.attempt(ctx, what, func(session keyvalue.Session) workload.Reply {
		reply = session.Insert(ctx, record)
		return reply.Reply
	})
	if reply.Duplicate && x.replaces || reply.Outcome == history.Rejected {
		x.t.Errorf("%s: %+v", what, reply)
	}
	return reply
}

// get makes one attempt to read.
func (x *keyValueClient) get(ctx context.Context, key keyvalue.Value) (reply keyvalue.Reply) {
	what := fmt.Sprintf("get %v", key)
	reply.Reply = x.attempt(ctx, what, func(session keyvalue.Session) workload.Reply {
		reply = session.Get(ctx, key)
		return reply.Reply
	})
	if reply.Found && reply.Outcome != history.Committed {
		x.t.Errorf("%s: %v and found", what, reply.Outcome)
	}
	return reply
}

// commit repeats a fresh record's insert while it fails, and ends the test
// unless it is acknowledged. It is for the test's own goroutine.
func (x *keyValueClient) commit(ctx context.Context) keyvalue.Record {
	x.t.Helper()
	record := x.next()
	x.commitRecord(ctx, record)
	return record
}

func (x *keyValueClient) commitRecord(ctx context.Context, record keyvalue.Record) {
	x.t.Helper()
	r := retry(ctx, func() workload.Reply { return x.insert(ctx, record).Reply })
	if r.Outcome != history.Committed {
		x.t.Fatalf("insert %+v: %v (%s: %v), want committed", record, r.Outcome, r.Class, r.Err)
	}
}

// wantFound fails the test unless the key is read as this record.
func (x *keyValueClient) wantFound(ctx context.Context, record keyvalue.Record) {
	x.t.Helper()
	if r := x.get(ctx, record.Key); r.Outcome != history.Committed || !r.Found || !r.Record.Equal(record) {
		x.t.Errorf("get %v: %+v, want %+v", record.Key, r, record)
	}
}

// wantMissing fails the test unless the key is read and not found.
func (x *keyValueClient) wantMissing(ctx context.Context, key keyvalue.Value) {
	x.t.Helper()
	if r := x.get(ctx, key); r.Outcome != history.Committed || r.Found || r.Record.Key != nil {
		x.t.Errorf("get %v: %+v, want committed and not found", key, r)
	}
}
