package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueStore is a keyvalue.Store on one keyspace, in the table assay_ and the
// table's name.
type keyValueStore struct {
	*keyspace
	table                    keyvalue.Table
	insert, update, get, all string
}

// OpenKeyValue connects to the cluster that target.Address names, as
//
//	cassandra://[USER:PASSWORD@]HOST[:PORT][,HOST...]/[KEYSPACE][?consistency=LEVEL&replication=COPIES]
//
// and returns the Store of its keyspace, "assay" for workload availability and
// assay_ with the workload's name for others unless another is named, which
// assay makes and drops itself. Writes and reads have one consistency, quorum
// unless the address names another (one, two, three, all, local_one,
// local_quorum); with target.Read "nearest" reads have consistency one. Each
// data center gets three copies of a row, or as many as replication says, or as
// it has nodes.
//
// A record is inserted by an ordinary INSERT, which replaces one of its key: no
// lightweight transaction. What cannot be used is *workload.OptionError, nobody
// there *workload.UnreachableError, a user that is refused *workload.AuthError.
func OpenKeyValue(ctx context.Context, target workload.Target, t keyvalue.Table) (keyvalue.Store, error) {
	s, err := parse(target)
	if err != nil {
		return nil, err
	}
	return openKeyValue(ctx, s, t)
}

func openKeyValue(ctx context.Context, s *settings, t keyvalue.Table) (keyvalue.Store, error) {
	if !s.named && t.Workload != "availability" {
		s.keyspace = "assay_" + t.Workload
	}
	var names, columns []string
	for _, c := range t.All() {
		names, columns = append(names, c.Name), append(columns, c.Name+" "+typeOf(c.Type))
	}
	columns[0] += " PRIMARY KEY"
	of := table{name: "assay_" + t.Name, columns: strings.Join(columns, ", "), counted: t.Key.Name}
	k, err := openKeyspace(ctx, s, of)
	if err != nil {
		return nil, err
	}
	full, list := k.full(of.name), strings.Join(names, ", ")
	var assignments []string
	for _, name := range names[1:] {
		assignments = append(assignments, name+" = ?")
	}
	return &keyValueStore{
		keyspace: k, table: t,
		insert: fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", full, list, strings.Repeat(", ?", len(names)-1)),
		update: fmt.Sprintf("UPDATE %s SET %s WHERE %s = ?", full, strings.Join(assignments, ", "), names[0]),
		get:    fmt.Sprintf("SELECT %s FROM %s WHERE %s = ?", list, full, t.Key.Name),
		all:    fmt.Sprintf("SELECT %s FROM %s", list, full),
	}, nil
}

// typeOf is a type's name in CQL.
func typeOf(t keyvalue.Type) string {
	return map[keyvalue.Type]string{keyvalue.Bigint: "bigint", keyvalue.Integer: "int", keyvalue.Text: "text", keyvalue.UUID: "uuid"}[t]
}

// encoded is a value as the library takes it.
func encoded(v keyvalue.Value) any {
	if id, ok := v.(uuid.UUID); ok {
		return gocql.UUID(id)
	}
	return v
}

// row is where the library puts a row of all columns.
func (s *keyValueStore) row() (scan []any) {
	for _, c := range s.table.All() {
		switch c.Type {
		case keyvalue.Text:
			scan = append(scan, new(string))
		case keyvalue.UUID:
			scan = append(scan, new(gocql.UUID))
		default:
			scan = append(scan, new(int64))
		}
	}
	return scan
}

// recordOf is the record in a row.
func recordOf(scan []any) keyvalue.Record {
	values := make([]keyvalue.Value, len(scan))
	for i, from := range scan {
		switch v := from.(type) {
		case *string:
			values[i] = *v
		case *gocql.UUID:
			values[i] = uuid.UUID(*v)
		case *int64:
			values[i] = *v
		}
	}
	return keyvalue.Record{Key: values[0], Values: values[1:]}
}

// Promise implements keyvalue.Promising: with quorums for reading and
// writing, all acknowledged writes are "visible to subsequent reads" (Cassandra
// documentation, "Dynamo", "Picking Consistency Levels"). A record is written
// once, and a read that finds replicas apart makes them equal before it answers
// (read_repair = BLOCKING, the default), so that no later read goes back.
func (s *keyValueStore) Promise() string {
	if s.quorums() {
		return keyvalue.PromiseLinearizable
	}
	return ""
}

// Read implements keyvalue.Store; see readPages for what is seen.
func (s *keyValueStore) Read(ctx context.Context, use func(keyvalue.Record) error) error {
	if err := s.mustMark(ctx); err != nil {
		return err
	}
	scan := s.row()
	return s.readPages(ctx, "read the records", s.all, nil, scan, func() error { return use(recordOf(scan)) })
}

// Settle implements keyvalue.Store; see settle.
func (s *keyValueStore) Settle(ctx context.Context) error {
	var key any = int64(-1)
	switch s.table.Key.Type {
	case keyvalue.Text:
		key = ""
	case keyvalue.UUID:
		key = gocql.UUID{}
	}
	return s.settle(ctx, fmt.Sprintf("SELECT %[1]s FROM %[2]s WHERE %[1]s = ?", s.table.Key.Name, s.full(s.tables[0].name)), key)
}

// keyValueSession is one client's. It has nothing of its own, since all share
// the connections.
type keyValueSession struct{ *keyValueStore }

func (s *keyValueStore) Session(context.Context) (keyvalue.Session, error) {
	return keyValueSession{s}, nil
}

func (n keyValueSession) Insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	values := []any{encoded(record.Key)}
	for _, v := range record.Values {
		values = append(values, encoded(v))
	}
	return n.write(ctx, n.insert, values)
}

func (n keyValueSession) write(ctx context.Context, statement string, values []any) keyvalue.Reply {
	ctx, sent := watching(ctx)
	err := n.session.Query(statement, values...).Consistency(n.consistency).ExecContext(ctx)
	reply := written(err, sent.begun.Load())
	if reply.Outcome == history.Unknown {
		n.unsure.Store(time.Now().UnixNano())
	}
	return keyvalue.Reply{Reply: reply}
}

func (n keyValueSession) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	scan := n.row()
	err := n.session.Query(n.get, encoded(key)).Consistency(n.reads).ScanContext(ctx, scan...)
	switch {
	case err == nil:
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}, Found: true, Record: recordOf(scan)}
	case errors.Is(err, gocql.ErrNotFound):
		return keyvalue.Reply{Reply: workload.Reply{Outcome: history.Committed}}
	}
	return keyvalue.Reply{Reply: unread(err)}
}

// Close implements keyvalue.Session: the connections are the Store's.
func (n keyValueSession) Close() {}
