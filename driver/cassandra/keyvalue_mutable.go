package cassandra

import (
	"context"

	"golang.org/x/sync/errgroup"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

var _ keyvalue.Mutable = (*keyValueStore)(nil)

// loadWriters is how many records of a batch are on their way at once.
const loadWriters = 32

// LoadRecords implements keyvalue.Mutable: inserts side by side, since a batch is one
// coordinator's work and no faster over several partitions (Cassandra documentation,
// "BATCH").
func (s *keyValueStore) LoadRecords(ctx context.Context, records []keyvalue.Record) error {
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(loadWriters)
	for _, record := range records {
		group.Go(func() error {
			if reply := (keyValueSession{s}).Insert(loading, record); reply.Outcome != history.Committed {
				return failed("load records", reply.Err)
			}
			return nil
		})
	}
	return group.Wait()
}

// Scans implements keyvalue.Mutable.
func (s *keyValueStore) Scans() (promise string, err error) {
	return "", &workload.OptionError{Option: "scan", Value: "in the order of keys",
		Reason: "Cassandra spreads rows by a hash of their partition key (Murmur3Partitioner), so that a range of keys is no range of rows",
		Want:   "a mix without scans: a, b, c, d, f"}
}

func (s *keyValueStore) MutableSession(context.Context) (keyvalue.MutableSession, error) {
	return keyValueSession{s}, nil
}

// Update implements keyvalue.MutableSession: "UPDATE does not check the prior existence
// of the row by default: the row is created if none existed before" (Cassandra
// documentation, "UPDATE").
func (n keyValueSession) Update(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	var values []any
	for _, v := range record.Values {
		values = append(values, encoded(v))
	}
	reply := n.write(ctx, n.update, append(values, encoded(record.Key)))
	reply.Found = reply.Outcome == history.Committed
	return reply
}

// Scan implements keyvalue.MutableSession: there is none; see Scans.
func (n keyValueSession) Scan(context.Context, keyvalue.Value, int) ([]keyvalue.Record, keyvalue.Reply) {
	_, err := n.Scans()
	return nil, keyvalue.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassOther, Err: err}}
}
