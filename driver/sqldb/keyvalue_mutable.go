package sqldb

import (
	"context"

	"assay/history"
	"assay/workload/keyvalue"
)

var _ keyvalue.Mutable = (*keyValueStore)(nil)

func (s *keyValueStore) LoadRecords(ctx context.Context, records []keyvalue.Record) error {
	return s.Load(ctx, Rows{Table: s.Tables()[0].Name, Columns: s.columns, Count: len(records), Row: func(i int, into []Value) []Value {
		return appendRecord(into, records[i])
	}})
}

// Scans implements keyvalue.Mutable: a scan is one statement, which sees what a read
// sees.
func (s *keyValueStore) Scans() (promise string, err error) { return s.PromiseReads(), nil }

func (s *keyValueStore) MutableSession(ctx context.Context) (keyvalue.MutableSession, error) {
	c, err := s.ConnectApart(ctx, s.statements)
	if err != nil {
		return nil, err
	}
	return &keyValueSession{Connection: c, store: s}, nil
}

func (s *keyValueSession) Update(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	r := s.Execute(ctx, updateRecord, appendRecord(nil, record)...)
	return keyvalue.Reply{Reply: r.Reply, Found: r.Outcome == history.Committed && r.Affected > 0}
}

// Scan keeps what it found to itself until the query has ended; see Get.
func (s *keyValueSession) Scan(ctx context.Context, from keyvalue.Value, limit int) ([]keyvalue.Record, keyvalue.Reply) {
	var found []keyvalue.Record
	reply := s.Query(ctx, scanRecords, func(row Row) error {
		record, err := s.store.record(row)
		found = append(found, record)
		return err
	}, valueOf(from), OfInt(int64(limit)))
	if reply.Outcome != history.Committed {
		return nil, keyvalue.Reply{Reply: reply}
	}
	return found, keyvalue.Reply{Reply: reply}
}
