package mongodb

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

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

var _ bulkupdate.Store = (*bulkUpdateStore)(nil)

// OpenBulkUpdate connects to the server and returns its Store. Updates have the
// write concern of the address, or majority. The library's retries are off.
// Errors are as with OpenBank.
func OpenBulkUpdate(ctx context.Context, target workload.Target) (bulkupdate.Store, error) {
	s, err := openCrowd(ctx, target, "bulkupdate", "document",
		"none: an update of several documents is no transaction")
	if err != nil {
		return nil, err
	}
	return &bulkUpdateStore{s}, nil
}

// openCrowd opens a workload whose sessions share one client, on one
// collection. Writes have the write concern of the address, or majority.
func openCrowd(ctx context.Context, target workload.Target, workloadName, collection, why string) (*sharedClientStore, error) {
	s, err := openShared(ctx, target, workloadName, collection, why)
	if err != nil {
		return nil, err
	}
	o := s.application.SetMaxPoolSize(maxPoolSize).SetMaxConnecting(maxConnecting)
	if o.WriteConcern == nil {
		o.SetWriteConcern(writeconcern.Majority())
	}
	return s, nil
}

// Atomic implements bulkupdate.Store: "the modification of each document is
// atomic, but the operation as a whole is not atomic" (MongoDB manual,
// "Atomicity and Transactions", of updateMany).
func (s *bulkUpdateStore) Atomic() bool { return false }

func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	return insertAll(ctx, s.rows, documentsOf(bulkupdate.Columns(), batch))
}

func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error {
	if _, err := s.rows.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{Key: "owner", Value: 1}}}); err != nil {
		return failed("make the index", err)
	}
	return s.sharedClientStore.FinishLoad(ctx)
}

// Read implements bulkupdate.Store, in one snapshot of what a majority has.
func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return readAll(ctx, s.sharedClientStore, bulkupdate.Columns(), document)
}

// serverWaits is what serverStatus says of waiting (MongoDB manual,
// "serverStatus": locks, globalLock, metrics.operation, queues.execution and
// before it wiredTiger.concurrentTransactions). Times are in
// microseconds.
type serverWaits struct {
	Locks map[string]struct {
		Count  map[string]int64 `bson:"acquireWaitCount"`
		Micros map[string]int64 `bson:"timeAcquiringMicros"`
	} `bson:"locks"`
	GlobalLock struct {
		Queue struct {
			Total int64 `bson:"total"`
		} `bson:"currentQueue"`
	} `bson:"globalLock"`
	Metrics struct {
		Operation struct {
			Conflicts int64 `bson:"writeConflicts"`
		} `bson:"operation"`
	} `bson:"metrics"`
	// Tickets let operations into the storage engine; where they are told of
	// depends on the version.
	Queues struct {
		Execution tickets `bson:"execution"`
	} `bson:"queues"`
	WiredTiger struct {
		Concurrent tickets `bson:"concurrentTransactions"`
	} `bson:"wiredTiger"`
}

// tickets are those of writing; nil where the server does not tell.
type tickets struct {
	Write *struct {
		Out    int64 `bson:"out"`
		Normal *struct {
			Micros int64 `bson:"totalTimeQueuedMicros"`
		} `bson:"normalPriority"`
	} `bson:"write"`
}

// Waits implements bulkupdate.Store, of the whole server. A router does not
// know of the shards' locks, and tells none.
func (s *bulkUpdateStore) Waits(ctx context.Context) ([]bulkupdate.Wait, error) {
	if s.sharded {
		return nil, nil
	}
	var w serverWaits
	if err := s.admin.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&w); err != nil {
		return nil, failed("ask for waits", err)
	}
	var count, micros int64
	for _, lock := range w.Locks {
		for mode, n := range lock.Count {
			count, micros = count+n, micros+lock.Micros[mode]
		}
	}
	waits := []bulkupdate.Wait{
		{Name: "write conflicts", Unit: bulkupdate.Count, Value: w.Metrics.Operation.Conflicts},
		{Name: "lock waits", Unit: bulkupdate.Count, Value: count},
		{Name: "time acquiring locks", Unit: bulkupdate.Time, Value: micros * int64(time.Microsecond)},
		{Name: "operations queued for a lock", Unit: bulkupdate.Gauge, Value: w.GlobalLock.Queue.Total},
	}
	write := w.Queues.Execution.Write
	if write == nil {
		write = w.WiredTiger.Concurrent.Write
	}
	if write != nil {
		waits = append(waits, bulkupdate.Wait{Name: "write tickets in use", Unit: bulkupdate.Gauge, Value: write.Out})
		if write.Normal != nil {
			waits = append(waits, bulkupdate.Wait{Name: "time queued for a write ticket", Unit: bulkupdate.Time,
				Value: write.Normal.Micros * int64(time.Microsecond)})
		}
	}
	return waits, nil
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
		bson.D{{Key: "$set", Value: bson.D{{Key: "flag", Value: flag}, {Key: "generation", Value: generation}}}})
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
	switch {
	case sent != 1 || !answered || sharded || hasWriteConcernError(err):
	case refusesUnwritten(code) || serverSaid(err, labelNoWrites):
		r.Outcome = history.Failed
	}
	return r
}
