package mongodb

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// bulkUpdateStore is a bulkupdate.Store, in database assay_bulkupdate.
//
//	document {_id, owner, number, flag, generation, payload}
//
// Its sessions share one client.
type bulkUpdateStore struct{ *sharedClientStore }

// OpenBulkUpdate connects to the server and returns its Store. Updates have the
// write concern of the address, or majority. The library's retries are off.
// Errors are as with OpenBank.
func OpenBulkUpdate(ctx context.Context, target workload.Target) (bulkupdate.Store, error) {
	s, err := openSharedByMajority(ctx, target, "bulkupdate", "document",
		"none: an update of several documents is no transaction")
	if err != nil {
		return nil, err
	}
	s.indexes = []ownIndex{{collection: s.rows.Name(), fields: []string{"owner"}}}
	return &bulkUpdateStore{s}, nil
}

// Atomic implements bulkupdate.Store: "the modification of each document is
// atomic, but the operation as a whole is not atomic" (MongoDB manual,
// "Atomicity and Transactions", of updateMany).
func (s *bulkUpdateStore) Atomic() bool { return false }

func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	return insertAll(ctx, s.rows, documentsOf(bulkupdate.Columns(), batch))
}

func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error {
	if err := s.makeIndexes(ctx); err != nil {
		return err
	}
	return s.sharedClientStore.FinishLoad(ctx)
}

// Read implements bulkupdate.Store, in one snapshot of what a majority has.
func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return readAll(ctx, s.sharedClientStore, bulkupdate.Columns(), document)
}

// Waits implements bulkupdate.Store, of the whole server (MongoDB manual,
// "serverStatus": locks, globalLock, metrics.operation, queues.execution and
// before it wiredTiger.concurrentTransactions; times are in microseconds). A router does
// not know of the shards' locks, and tells none.
func (s *bulkUpdateStore) Waits(ctx context.Context) ([]bulkupdate.Wait, error) {
	if s.sharded {
		return nil, nil
	}
	status, err := s.admin.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Raw()
	if err != nil {
		return nil, failed("ask for waits", err)
	}
	duration := func(micros int64) int64 { return micros * int64(time.Microsecond) }
	count, micros := lockWaits(status)
	waits := []bulkupdate.Wait{
		{Name: "write conflicts", Unit: bulkupdate.Count, Value: numberIn(status, "metrics", "operation", "writeConflicts")},
		{Name: "lock waits", Unit: bulkupdate.Count, Value: count},
		{Name: "time acquiring locks", Unit: bulkupdate.Time, Value: duration(micros)},
		{Name: "operations queued for a lock", Unit: bulkupdate.Gauge, Value: numberIn(status, "globalLock", "currentQueue", "total")},
	}
	// Tickets let operations into the storage engine; where they are told of depends on
	// the version.
	write, known := status.Lookup("queues", "execution", "write").DocumentOK()
	if !known {
		write, known = status.Lookup("wiredTiger", "concurrentTransactions", "write").DocumentOK()
	}
	if known {
		waits = append(waits, bulkupdate.Wait{Name: "write tickets in use", Unit: bulkupdate.Gauge, Value: numberIn(write, "out")})
	}
	if _, err := write.LookupErr("normalPriority"); known && err == nil {
		waits = append(waits, bulkupdate.Wait{Name: "time queued for a write ticket", Unit: bulkupdate.Time,
			Value: duration(numberIn(write, "normalPriority", "totalTimeQueuedMicros"))})
	}
	return waits, nil
}

// numberIn is a number in a server's answer; 0 if it is not there.
func numberIn(document bson.Raw, path ...string) int64 {
	n, _ := document.Lookup(path...).AsInt64OK()
	return n
}

// lockWaits adds up how often locks of all kinds and modes were waited for, and how long.
func lockWaits(status bson.Raw) (count, micros int64) {
	locks, _ := status.Lookup("locks").DocumentOK()
	kinds, _ := locks.Elements()
	for _, kind := range kinds {
		of, _ := kind.Value().DocumentOK()
		counts, _ := of.Lookup("acquireWaitCount").DocumentOK()
		modes, _ := counts.Elements()
		for _, mode := range modes {
			count += numberIn(counts, mode.Key())
			micros += numberIn(of, "timeAcquiringMicros", mode.Key())
		}
	}
	return count, micros
}

// bulkUpdateSession is a bulkupdate.Session. The shards of one update answer through
// one router.
type bulkUpdateSession struct{ sharedSession }

func (s *bulkUpdateStore) Session(context.Context) (bulkupdate.Session, error) {
	n, err := s.session()
	return &bulkUpdateSession{n}, err
}

// Update implements bulkupdate.Session: one updateMany, which is not atomic
// over its documents.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	counted, sent := counting(ctx)
	result, err := n.rows.UpdateMany(counted, bson.D{{Key: "owner", Value: user}},
		set(bson.E{Key: "flag", Value: flag}, bson.E{Key: "generation", Value: generation}))
	if err == nil {
		return bulkupdate.Reply{Reply: workload.Reply{Outcome: history.Committed}, Changed: result.ModifiedCount}
	}
	return bulkupdate.Reply{Reply: judgeUpdate(err, sent.commands, n.sharded)}
}

// judgeUpdate says how an updateMany ended that was not acknowledged. sent is
// how often the library has begun to send it. Only what proves that no document
// was changed is Failed: never sent, or refused by a server that is not the
// primary before it has changed any; one that steps down in between says
// PrimarySteppedDown or InterruptedDueToReplStateChange instead (the server's
// src/mongo/db/exec/update_stage.cpp, after a yield). Of several shards one may
// refuse what others have done.
func judgeUpdate(err error, sent int, sharded bool) workload.Reply {
	r := unacknowledged("update", err, sent)
	code, answered := serverCode(err)
	if sent == 1 && answered && !sharded && !hasWriteConcernError(err) && (refusesUnwritten(code) || hasLabel(err, labelNoWrites)) {
		r.Outcome = history.Failed
	}
	return r
}
