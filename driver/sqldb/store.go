package sqldb

import (
	"context"
	"errors"
	"fmt"

	"assay/store"
	"assay/workload"
)

// Open is a store.Opener.
func (d Driver) Open(ctx context.Context, target workload.Target, schema store.Schema) (store.Database, error) {
	db, err := d(ctx, target, schema)
	if err != nil {
		return nil, err
	}
	return StoreOf(db, schema), nil
}

// ReplicatedDatabase is one with replicas; see store.Replicated.
type ReplicatedDatabase interface {
	Database
	Replicas(ctx context.Context) ([]store.Replica, map[string]error, error)
	CatchUp(ctx context.Context, replica store.Replica) error
	// ViewReplica is View on a replica.
	ViewReplica(ctx context.Context, replica store.Replica, read func(Reader) error) error
}

// Lacks are the capabilities that no database has that speaks SQL.
func Lacks() store.Lacks {
	return store.Lacks{store.Documents: "a row holds no other rows in SQL"}
}

// StoreOf is the contract's Database over that of a protocol, which was opened with this
// schema.
func StoreOf(db Database, schema store.Schema) store.Database {
	s := &database{Database: db, schema: schema}
	if replicated, is := db.(ReplicatedDatabase); is {
		return &replicatedDatabase{s, replicated}
	}
	return s
}

// database is a store.Database.
type database struct {
	Database
	schema store.Schema
}

var _ = interface {
	store.Database
	store.Counting
	store.Compacting
	store.Engined
	store.Bulk
	store.Recording
}((*database)(nil))

func (s *database) Lacks() store.Lacks { return Lacks() }

// Promises implements store.Database. A statement is a transaction of its own in every SQL
// database, which is "all-or-nothing" (PostgreSQL manual, "Transactions"), "forms a single
// transaction on its own", and is rolled back if it fails (MySQL manual, "autocommit,
// Commit, and Rollback"), or occurs "completely or not at all"
// (https://www.sqlite.org/transactional.html). It sees what a read of one row sees.
func (s *database) Promises() store.Promises {
	reads := s.PromiseReads()
	return store.Promises{Model: s.PromiseLevel(), Reads: reads, Scans: reads, Atomic: true}
}

func (s *database) BulkRows() int {
	if db, is := s.Database.(store.Bulk); is {
		return db.BulkRows()
	}
	return 0
}

func (s *database) Load(ctx context.Context, rows store.Rows) error {
	return s.Database.Load(ctx, s.renamed(rows))
}

// renamed are rows with the names that table and columns have here.
func (s *database) renamed(rows store.Rows) store.Rows {
	d := s.Dialect()
	if d.Reserved == nil {
		return rows
	}
	columns := make([]string, len(rows.Columns))
	for i, c := range rows.Columns {
		columns[i] = d.name(c)
	}
	rows.Table, rows.Columns = d.name(rows.Table), columns
	return rows
}

func (s *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	c, err := s.Dialect().compile(&s.schema, statements)
	if err != nil {
		return nil, err
	}
	connect := s.Connect
	if s.schema.Reads {
		connect = s.ConnectApart
	}
	connection, err := connect(ctx, c.texts)
	if err != nil {
		return nil, err
	}
	return &storeSession{Connection: connection, compiled: c, database: s}, nil
}

func (s *database) View(ctx context.Context, read func(store.Reader) error) error {
	return s.Database.View(ctx, s.reading(read))
}

func (s *database) Audit(ctx context.Context, read func(store.Reader) error) error {
	return s.AuditView(ctx, s.reading(read))
}

// reading has read read by statements of the contract.
func (s *database) reading(read func(store.Reader) error) func(Reader) error {
	return func(r Reader) error { return read(&storeReader{Reader: r, of: s}) }
}

// storeReader is a store.Reader.
type storeReader struct {
	Reader
	of *database
	// name and text are of the last statement, which an audit asks for each account.
	name, text string
}

func (r *storeReader) Read(ctx context.Context, s store.Statement, row func(store.Row) error, parameters ...store.Value) error {
	if s.Name == "" || s.Name != r.name || s.Verb == store.Native {
		c, err := r.of.Dialect().compile(&r.of.schema, []store.Statement{s})
		if err != nil {
			return err
		}
		r.name, r.text = s.Name, c.texts[0].Text
	}
	reader := r.Reader
	if v, is := reader.(ValueReader); is && s.Verb == store.Native {
		reader = v.WithValues()
	}
	return reader.Query(ctx, r.text, row, parameters...)
}

type replicatedDatabase struct {
	*database
	replicated ReplicatedDatabase
}

var _ store.Replicated = (*replicatedDatabase)(nil)

func (s *replicatedDatabase) Replicas(ctx context.Context) ([]store.Replica, map[string]error, error) {
	return s.replicated.Replicas(ctx)
}

func (s *replicatedDatabase) CatchUp(ctx context.Context, member store.Replica) error {
	return s.replicated.CatchUp(ctx, member)
}

func (s *replicatedDatabase) ViewReplica(ctx context.Context, member store.Replica, read func(store.Reader) error) error {
	return s.replicated.ViewReplica(ctx, member, s.reading(read))
}

// storeSession is a store.Session over a Connection.
type storeSession struct {
	Connection
	compiled
	database *database
	// calls are of the last batch whose updates give no rows.
	calls []store.Call
}

var _ store.Learner = (*storeSession)(nil)

func (s *storeSession) Run(ctx context.Context, call store.Call) store.Reply {
	of := &s.statements[call.Statement]
	switch {
	case of.ReadsOnly():
		row := call.Row
		if row == nil {
			row = func(store.Row) error { return nil }
		}
		return store.Reply{Reply: s.Query(ctx, call.Statement, row, call.Parameters...)}
	case of.GivesRows():
		return s.Batch(ctx, &store.Batch{Calls: []store.Call{call}})
	default:
		return s.Execute(ctx, call.Statement, call.Parameters...)
	}
}

func (s *storeSession) Insert(ctx context.Context, rows store.Rows) store.Reply {
	return s.Connection.Insert(ctx, s.database.renamed(rows))
}

func (s *storeSession) Load(ctx context.Context, rows store.Rows) store.Reply {
	return s.Connection.Load(ctx, s.database.renamed(rows))
}

// Batch implements store.Session. Where updates give no rows, what they have left is read
// behind them, or at the end, if that is two rows of one table together.
func (s *storeSession) Batch(ctx context.Context, b *store.Batch) store.Reply {
	var left []store.Call
	for _, call := range b.Calls {
		if s.after[call.Statement] != 0 {
			left = append(left, call)
		}
	}
	if left == nil {
		return s.Connection.Batch(ctx, b)
	}
	pair, together := s.together(left)
	s.calls = s.calls[:0]
	for _, call := range b.Calls {
		after := s.after[call.Statement]
		if after == 0 {
			s.calls = append(s.calls, call)
			continue
		}
		s.calls = append(s.calls, store.Call{Statement: call.Statement, Parameters: call.Parameters})
		if !together {
			call.Statement = after
			s.calls = append(s.calls, call)
		}
	}
	if together {
		s.calls = append(s.calls, pair)
	}
	return s.Connection.Batch(ctx, &store.Batch{Calls: s.calls, Inquiry: b.Inquiry})
}

// together is one query for what two calls of one statement have left.
func (s *storeSession) together(left []store.Call) (pair store.Call, is bool) {
	if len(left) != 2 || left[0].Statement != left[1].Statement || s.pair[left[0].Statement] == 0 {
		return pair, false
	}
	statement := left[0].Statement
	key := s.statements[statement].Where[0].Value.Parameter - 1
	first, second := left[0], left[1]
	keys := [2]int64{first.Parameters[key].Number, second.Parameters[key].Number}
	return store.Call{Statement: s.pair[statement], Parameters: store.OfInts(keys[0], keys[1]), Want: first.Want + second.Want, Row: func(row store.Row) error {
		var id int64
		columns := make([]any, len(s.statements[statement].Columns)+1)
		columns[0] = &id
		if err := row.Scan(columns...); err != nil {
			return err
		}
		if id == keys[0] {
			return first.Row(behindKey{row})
		}
		return second.Row(behindKey{row})
	}}, keys[0] != keys[1] && first.Parameters[key].Kind == store.Int
}

// behindKey is a row without its first column.
type behindKey struct{ store.Row }

func (r behindKey) Scan(into ...any) error { return r.Row.Scan(append([]any{nil}, into...)...) }

func (s *storeSession) Transaction(ctx context.Context, writes bool, work func(context.Context, store.Transaction) error) store.Reply {
	return s.Connection.Transaction(ctx, writes, func(ctx context.Context, t Transaction) error {
		return work(ctx, storeTransaction{t, s})
	})
}

// storeTransaction is a store.Transaction.
type storeTransaction struct {
	Transaction
	session *storeSession
}

func (t storeTransaction) Do(ctx context.Context, statement int, row func(store.Row) error, parameters ...store.Value) (changed int64, err error) {
	switch after := t.session.after[statement]; {
	case after != 0:
		if changed, err = t.Change(ctx, statement, parameters...); err != nil {
			return 0, err
		}
		return changed, t.Query(ctx, after, row, parameters...)
	case t.session.statements[statement].GivesRows():
		if row == nil {
			row = func(store.Row) error { return nil }
		}
		return 0, t.Query(ctx, statement, row, parameters...)
	default:
		return t.Change(ctx, statement, parameters...)
	}
}

// Learn implements store.Learner.
func (s *storeSession) Learn(ctx context.Context, statement store.Statement) (int, error) {
	c, err := s.database.Dialect().compile(&s.database.schema, []store.Statement{statement})
	if err != nil {
		return 0, err
	}
	if len(c.texts) > 1 || len(s.texts) > len(s.statements) {
		return 0, errors.New("a further statement cannot be told from what reads the rows of updates")
	}
	i, err := s.Connection.Learn(ctx, c.texts[0])
	if err != nil {
		return 0, fmt.Errorf("learn %s: %w", statement.Name, err)
	}
	s.statements = append(s.statements[:len(s.statements):len(s.statements)], statement)
	s.texts, s.after, s.pair = append(s.texts, c.texts[0]), append(s.after, 0), append(s.pair, 0)
	return i, nil
}
