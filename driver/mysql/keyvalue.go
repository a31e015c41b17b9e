package mysql

import (
	"context"

	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
	"assay/workload/keyvalue"
)

// keyValueSchema is a database with a table of records.
type keyValueSchema struct {
	*schema
	// apart is true if reads go to another host than inserts.
	apart bool
}

// renamed are the names that MySQL reserves.
func renamed() map[string]string { return map[string]string{"row": "entry", "key": "id"} }

// OpenKeyValue connects to the target and returns the Store on it, in the
// database assay_ and the workload's name. Errors and the address are as with
// OpenBank.
//
// Reads go to the node that takes the session's inserts, or with the targets
// nearest and secondary-preferred to another host of the address that answers,
// and to the same one if no other does; an address of one host gives
// *workload.OptionError for them. Such a node may not have applied yet what was
// acknowledged, unless the address has wsrep_sync_wait=1.
func OpenKeyValue(ctx context.Context, target workload.Target, table keyvalue.Table) (keyvalue.Store, error) {
	s, err := openKeyValueSchema(ctx, target, table)
	if err != nil {
		return nil, err
	}
	return sqldb.KeyValue(s, table, renamed()), nil
}

func openKeyValueSchema(ctx context.Context, target workload.Target, table keyvalue.Table) (*keyValueSchema, error) {
	apart := false
	switch target.Read {
	case "", workload.ReadPrimary:
	case workload.ReadNearest, workload.ReadSecondaryPreferred:
		apart = true
	default:
		return nil, &workload.OptionError{Option: "--read", Value: target.Read,
			Want: workload.ReadPrimary + ", " + workload.ReadSecondaryPreferred + ", " + workload.ReadNearest}
	}
	p, err := openSchema(ctx, target, sqldb.KeyValueSchema(table, renamed()))
	if err != nil {
		return nil, err
	}
	if apart && len(p.hosts) < 2 {
		_ = p.Close()
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary + ", or an address of several hosts"}
	}
	return &keyValueSchema{p, apart}, nil
}

// Promise implements sqldb.KeyValueDatabase. A statement that is a transaction by
// itself reads what is committed when it begins (MySQL manual, "Consistent
// Nonlocking Reads"), and one server alone has committed what it acknowledged. A
// Galera node that is told to (wsrep_sync_wait) holds a read back until it "has
// caught up with all updates made in the cluster to the point where the check
// was begun" (Galera documentation, "MySQL wsrep Options"); without that, and of
// servers that copy in other ways, nothing is promised.
func (s *keyValueSchema) Promise() string {
	if s.server.galera && s.server.syncWait || !s.server.galera && len(s.hosts) == 1 {
		return keyvalue.PromiseLinearizable
	}
	return ""
}

// ConnectKeyValue implements sqldb.KeyValueDatabase.
func (s *keyValueSchema) ConnectKeyValue(ctx context.Context, statements []sqldb.Statement) (sqldb.Executor, error) {
	r := &routed{schema: s, statements: statements}
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// routed is one connection to insert, and another one for reads that go
// elsewhere.
type routed struct {
	schema     *keyValueSchema
	statements []sqldb.Statement
	writer     *session
	reader     *session // the same, unless reads go elsewhere
}

// open connects where there is no connection.
func (r *routed) open(ctx context.Context) (err error) {
	if r.writer == nil {
		if r.writer, err = r.schema.dial(ctx, r.statements); err != nil {
			r.writer = nil
			return err
		}
	}
	if r.reader == nil && r.schema.apart {
		r.reader = r.schema.elsewhere(ctx, r.writer.host, r.statements)
	}
	if r.reader == nil {
		r.reader = r.writer
	}
	return nil
}

// ready makes sure of the connections, of which some may have been closed by a
// server while nothing was to be done. They are replaced, as database/sql does
// for an ordinary application, before anything is sent. The reply says why there
// is none.
func (r *routed) ready(ctx context.Context) (refused workload.Reply, ok bool) {
	if err := ctx.Err(); err != nil {
		return workload.Reply{Outcome: history.Failed, Class: workload.ClassTimeout, Err: err, Broken: true}, false
	}
	same := r.reader == r.writer
	if r.reader != nil && !same && r.reader.Ready(ctx) != nil {
		r.reader.Close()
		r.reader = nil
	}
	if r.writer != nil && r.writer.Ready(ctx) != nil {
		r.writer.Close()
		r.writer = nil
		if same {
			r.reader = nil
		}
	}
	if err := r.open(ctx); err != nil {
		class := workload.ClassConnect
		if ctx.Err() != nil {
			class = workload.ClassTimeout
		}
		return workload.Reply{Outcome: history.Failed, Class: class, Err: err, Broken: true}, false
	}
	return workload.Reply{}, true
}

// elsewhere opens a connection to another host than this one, which need not
// take writes; nil if none answers.
func (s *keyValueSchema) elsewhere(ctx context.Context, not *host, statements []sqldb.Statement) *session {
	for _, h := range s.order(true) {
		if h == not {
			continue
		}
		c, err := h.connect(ctx, s.Name)
		if err != nil {
			continue
		}
		if c.look.galera && !c.look.prepared {
			c.HangUp()
			continue
		}
		if l, err := s.adopt(ctx, c, statements); err == nil {
			return l
		}
	}
	return nil
}

// Close implements sqldb.Executor.
func (r *routed) Close() {
	if r.reader != nil && r.reader != r.writer {
		r.reader.Close()
	}
	if r.writer != nil {
		r.writer.Close()
	}
}

// on is a connection as a session's.
func (r *routed) on(wire *session) *sqldb.Session {
	return sqldb.NewSession(r.schema.Product, r.statements, wire)
}

// Execute implements sqldb.Executor.
func (r *routed) Execute(ctx context.Context, statement int, parameters ...sqldb.Value) sqldb.Reply {
	if refused, ok := r.ready(ctx); !ok {
		return sqldb.Reply{Reply: refused}
	}
	return r.on(r.writer).Execute(ctx, statement, parameters...)
}

// Query implements sqldb.Executor.
func (r *routed) Query(ctx context.Context, statement int, row func(sqldb.Row) error, parameters ...sqldb.Value) workload.Reply {
	if refused, ok := r.ready(ctx); !ok {
		return refused
	}
	return r.on(r.reader).Query(ctx, statement, row, parameters...)
}
