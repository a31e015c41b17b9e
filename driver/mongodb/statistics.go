package mongodb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/store"
)

// figures are what the command serverStatus tells (MongoDB manual, "serverStatus"),
// by their paths, and the lag that replSetGetStatus shows. A path with | names the
// places that the figure has in several versions. What a version, or a router, does
// not have is not told.
//
// timeAcquiringMicros is the time that operations waited for flow control: how much
// it grows in a second is how many waited on average.
func figures() []store.NamedValue {
	figure := func(key string, scale float64, chart, name, unit string, counter bool, means store.Meaning) store.NamedValue {
		return store.NamedValue{Key: key, Scale: scale,
			Statistic: store.Statistic{Name: name, Chart: chart, Unit: unit, Counter: counter, Means: means}}
	}
	const operations, tickets, cache, checkpoints = "Operations at once", "Tickets of the storage engine in use", "Cache", "Checkpoints"
	const wt = "wiredTiger."
	return []store.NamedValue{
		figure(keyBusy, 0, operations, "at work", "", false, store.BusySessions),
		figure("globalLock.currentQueue.total", 0, operations, "waiting for a lock", "", false, store.LockWaits),
		figure("flowControl.timeAcquiringMicros", 1e-6, operations, "waiting for flow control, on average", "", true, ""),
		figure("transactions.currentOpen", 0, operations, "open transactions", "", false, ""),
		figure(wt+"concurrentTransactions.read.out|queues.execution.read.out", 0, tickets, "to read", "", false, ""),
		figure(wt+"concurrentTransactions.write.out|queues.execution.write.out", 0, tickets, "to write", "", false, ""),
		figure("opcounters.insert", 0, "Commands", "inserts", "", true, ""),
		figure("opcounters.query", 0, "Commands", "queries", "", true, ""),
		figure("opcounters.update", 0, "Commands", "updates", "", true, ""),
		figure("opcounters.command", 0, "Commands", "other commands", "", true, ""),
		figure("metrics.operation.writeConflicts", 0, "Conflicts", "write conflicts", "", true, ""),
		figure("transactions.totalAborted", 0, "Conflicts", "transactions aborted", "", true, ""),
		figure(wt+"cache.bytes currently in the cache", 0, cache, "in the cache", "bytes", false, ""),
		figure(wt+"cache.tracked dirty bytes in the cache", 0, cache, "changed and not yet written", "bytes", false, ""),
		figure(wt+"cache.pages read into cache", 0, "Pages of the cache", "pages read", "", true, ""),
		figure(wt+"cache.pages written from cache", 0, "Pages of the cache", "pages written", "", true, ""),
		figure(wt+"log.log bytes written", 0, "Journal", "journal written", "bytes", true, ""),
		figure(wt+"transaction.transaction checkpoints|"+wt+"checkpoint.number of checkpoints started", 0, checkpoints, "checkpoints", "", true, ""),
		figure(keyLag, 0, "Replication lag", "behind, at most", "s", false, ""),
	}
}

// The figures that are computed.
const (
	keyBusy = "busy"
	keyLag  = "lag"
)

// statistics implements store.Statistics by a client of its own, with one
// connection for commands beside those by which the library watches the members.
type statistics struct {
	settings *settings
	figures  []store.NamedValue
	client   *mongo.Client // nil after an error
}

// OpenStatistics opens the account that the primary, or the router, keeps of its
// work. It connects to nobody yet.
func OpenStatistics(_ context.Context, target store.Target) (store.Statistics, error) {
	s, err := parse(target, "statistics", true)
	if err != nil {
		return nil, err
	}
	s.options.SetMaxPoolSize(1).SetMinPoolSize(0)
	return &statistics{settings: s, figures: figures()}, nil
}

// List implements store.Statistics.
func (s *statistics) List() []store.Statistic { return store.ListOf(s.figures) }

// Close implements store.Statistics.
func (s *statistics) Close() {
	if s.client != nil {
		_ = disconnect(s.client) // nothing hangs on it
		s.client = nil
	}
}

// Read implements store.Statistics. After an error the library makes a new
// connection by itself.
func (s *statistics) Read(ctx context.Context) (reading store.Reading, err error) {
	if s.client == nil {
		if s.client, err = mongo.Connect(s.settings.options); err != nil {
			return reading, s.settings.malformed(err)
		}
	}
	admin := s.client.Database("admin")
	command := bson.D{{Key: "serverStatus", Value: 1}}
	for _, section := range []string{"locks", "tcmalloc", "repl", "sharding", "shardingStatistics", "security", "electionMetrics",
		"mirroredReads", "twoPhaseCommitCoordinator", "indexBulkBuilder", "opLatencies", "logicalSessionRecordCache"} {
		command = append(command, bson.E{Key: section, Value: 0}) // not asked for
	}
	status, err := admin.RunCommand(ctx, command).Raw()
	if err != nil {
		return reading, failed("ask for the server's status", err)
	}
	lag, lagKnown := s.lag(ctx, admin)
	server := fmt.Sprint(status.Lookup("host").StringValue(), " ", status.Lookup("pid"))
	return store.ReadingOf(server, s.figures, func(key string) (float64, bool) {
		switch key {
		case keyLag:
			return lag, lagKnown
		case keyBusy:
			readers, known := numberAt(status, "globalLock.activeClients.readers")
			writers, all := numberAt(status, "globalLock.activeClients.writers")
			return readers + writers, known && all
		}
		return numberAt(status, key)
	}), nil
}

// numberAt is the number at a path of the answer, or at another one behind a |.
func numberAt(document bson.Raw, path string) (float64, bool) {
	path, other, several := strings.Cut(path, "|")
	value, err := document.LookupErr(strings.Split(path, ".")...)
	if err != nil {
		if several {
			return numberAt(document, other)
		}
		return 0, false
	}
	if number, is := value.AsFloat64OK(); is {
		return number, true
	}
	whole, is := value.AsInt64OK()
	return float64(whole), is
}

// lag is how far the secondary that is furthest behind is behind the primary, in
// seconds; of a router, or where the user may not know, nothing.
func (s *statistics) lag(ctx context.Context, admin *mongo.Database) (seconds float64, known bool) {
	var set struct {
		Members []struct {
			State string    `bson:"stateStr"`
			At    time.Time `bson:"optimeDate"`
		} `bson:"members"`
	}
	if admin.RunCommand(ctx, bson.D{{Key: "replSetGetStatus", Value: 1}}).Decode(&set) != nil {
		return 0, false
	}
	var primary time.Time
	for _, m := range set.Members {
		if m.State == "PRIMARY" {
			primary = m.At
		}
	}
	for _, m := range set.Members {
		if m.State == "SECONDARY" && !primary.IsZero() {
			seconds, known = max(seconds, primary.Sub(m.At).Seconds()), true
		}
	}
	return seconds, known
}
