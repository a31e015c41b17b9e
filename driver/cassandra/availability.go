package cassandra

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

const rowTable = "assay_row"

// availabilityStore is an availability.Store on one keyspace.
type availabilityStore struct {
	*keyspace
	insert, get string
	// unsure is when a write last ended without an answer, in nanoseconds since
	// 1970; 0 for never.
	unsure atomic.Int64
}

var _ availability.Promising = (*availabilityStore)(nil)

// OpenAvailability connects to the cluster that target.Address names, as
//
//	cassandra://[USER:PASSWORD@]HOST[:PORT][,HOST...]/[KEYSPACE][?consistency=LEVEL&replication=COPIES]
//
// and returns the Store of its keyspace, "assay" unless another is named, which
// assay makes and drops itself. Writes and reads have one consistency, quorum
// unless the address names another (one, two, three, all, local_one,
// local_quorum); with target.Read "nearest" reads have consistency one. Each
// data center gets three copies of a row, or as many as replication says, or as
// it has nodes.
//
// A row is inserted by an ordinary INSERT, which replaces a row of its key: no
// lightweight transaction. What cannot be used is *workload.OptionError, nobody
// there *workload.UnreachableError, a user that is refused *workload.AuthError.
func OpenAvailability(ctx context.Context, target workload.Target) (availability.Store, error) {
	k, err := openKeyspace(ctx, target, availabilityTables()...)
	if err != nil {
		return nil, err
	}
	return newAvailability(k), nil
}

func availabilityTables() []table {
	return []table{{rowTable, "key bigint PRIMARY KEY, value bigint"}}
}

func newAvailability(k *keyspace) *availabilityStore {
	return &availabilityStore{
		keyspace: k,
		insert:   fmt.Sprintf("INSERT INTO %s (key, value) VALUES (?, ?)", k.full(rowTable)),
		get:      fmt.Sprintf("SELECT value FROM %s WHERE key = ?", k.full(rowTable)),
	}
}

// Promise implements availability.Promising: with quorums for reading and
// writing, all acknowledged writes are "visible to subsequent reads" (Cassandra
// documentation, "Dynamo", "Picking Consistency Levels"). A row is written once,
// and a read that finds replicas apart makes them equal before it answers
// (read_repair = BLOCKING, the default), so that no later read goes back.
func (s *availabilityStore) Promise() string {
	if s.quorums() {
		return availability.PromiseLinearizable
	}
	return ""
}

// Find implements availability.Store.
func (s *availabilityStore) Find(ctx context.Context) (*workload.Leftover, error) {
	m, err := s.mark(ctx)
	if m == nil || err != nil {
		return nil, err
	}
	rows, err := s.count(ctx, rowTable)
	if err != nil {
		return nil, err
	}
	return &workload.Leftover{Marker: *m, Rows: rows}, nil
}

// Read implements availability.Store; see scan for what is seen.
func (s *availabilityStore) Read(ctx context.Context, row func(availability.Row) error) error {
	if err := s.mustMark(ctx); err != nil {
		return err
	}
	return s.scan(ctx, "read the rows", "SELECT key, value FROM "+s.full(rowTable), func(key, value int64) error {
		return row(availability.Row{Key: key, Value: value})
	})
}

// defaultWriteTimeout is Cassandra's write_request_timeout.
const defaultWriteTimeout = 2 * time.Second

// Settle waits, after the last write without an answer, for as long as a
// coordinator and the replicas work on a write (write_request_timeout), and
// until a write's consistency can be had again. Cassandra does not show what is
// in flight.
//
// What is not over by then are hints: writes that a coordinator keeps for a
// replica that was away, and delivers when it is back. So a write that ended
// without an answer may come to light later still. That is no surprise for
// whoever judges: such a row may be there or not.
func (s *availabilityStore) Settle(ctx context.Context) error {
	if at := s.unsure.Load(); at != 0 {
		limit := defaultWriteTimeout
		if told, err := time.ParseDuration(s.settingsOf(ctx)["write_request_timeout"]); err == nil {
			limit = told
		}
		if err := pause(ctx, time.Until(time.Unix(0, at).Add(limit))); err != nil {
			return failed("settle", err)
		}
	}
	for {
		var value int64
		err := s.session.Query(s.get, int64(-1)).Consistency(s.consistency).ScanContext(ctx, &value)
		if err == nil || errors.Is(err, gocql.ErrNotFound) || classOf(err) == classRefused {
			return nil
		}
		if stopped := pause(ctx, pagePause/4); stopped != nil {
			return failed("settle", errors.Join(stopped, err))
		}
	}
}

// availabilitySession is one client's. It has nothing of its own, since all
// share the connections.
type availabilitySession struct{ store *availabilityStore }

// Session implements availability.Store.
func (s *availabilityStore) Session(context.Context) (availability.Session, error) {
	return &availabilitySession{store: s}, nil
}

// Insert implements availability.Session.
func (n *availabilitySession) Insert(ctx context.Context, row availability.Row) availability.Reply {
	s := n.store
	ctx, sent := watching(ctx)
	err := s.session.Query(s.insert, row.Key, row.Value).Consistency(s.consistency).ExecContext(ctx)
	reply := written(err, sent.begun.Load())
	if reply.Outcome == history.Unknown {
		s.unsure.Store(time.Now().UnixNano())
	}
	return availability.Reply{Reply: reply}
}

// Get implements availability.Session.
func (n *availabilitySession) Get(ctx context.Context, key int64) availability.Reply {
	s := n.store
	var value int64
	err := s.session.Query(s.get, key).Consistency(s.reads).ScanContext(ctx, &value)
	switch {
	case err == nil:
		return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}, Found: true, Row: availability.Row{Key: key, Value: value}}
	case errors.Is(err, gocql.ErrNotFound):
		return availability.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	}
	return availability.Reply{Reply: unread(err)}
}

// Close implements availability.Session.
func (n *availabilitySession) Close() {}
