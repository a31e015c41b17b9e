package mongodb

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/store"
)

// Waits implements store.Counting, of the whole server (MongoDB manual,
// "serverStatus": locks, globalLock, metrics.operation, queues.execution and
// before it wiredTiger.concurrentTransactions; times are in microseconds). A router does
// not know of the shards' locks, and tells none.
func (s *database) Waits(ctx context.Context) ([]store.Wait, error) {
	if s.sharded {
		return nil, nil
	}
	status, err := s.admin.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Raw()
	if err != nil {
		return nil, failed("ask for waits", err)
	}
	duration := func(micros int64) int64 { return micros * int64(time.Microsecond) }
	count, micros := lockWaits(status)
	waits := []store.Wait{
		{Name: "write conflicts", Unit: store.Occasions, Value: numberIn(status, "metrics", "operation", "writeConflicts")},
		{Name: "lock waits", Unit: store.Occasions, Value: count},
		{Name: "time acquiring locks", Unit: store.Time, Value: duration(micros)},
		{Name: "operations queued for a lock", Unit: store.Gauge, Value: numberIn(status, "globalLock", "currentQueue", "total")},
	}
	// Tickets let operations into the storage engine; where they are told of depends on
	// the version.
	write, known := status.Lookup("queues", "execution", "write").DocumentOK()
	if !known {
		write, known = status.Lookup("wiredTiger", "concurrentTransactions", "write").DocumentOK()
	}
	if known {
		waits = append(waits, store.Wait{Name: "write tickets in use", Unit: store.Gauge, Value: numberIn(write, "out")})
	}
	if _, err := write.LookupErr("normalPriority"); known && err == nil {
		waits = append(waits, store.Wait{Name: "time queued for a write ticket", Unit: store.Time,
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
