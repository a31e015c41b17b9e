package mysql

import (
	"context"

	"assay/driver/sqldb"
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

func (s *keyValueSchema) ConnectKeyValue(ctx context.Context, statements []sqldb.Statement) (sqldb.Executor, error) {
	var writes *host // the one that takes inserts
	r := &sqldb.Routed{Apart: s.apart, Connect: func(ctx context.Context, read bool) (*sqldb.Session, error) {
		if read {
			if l := s.elsewhere(ctx, writes, statements); l != nil {
				return l, nil
			}
		}
		l, err := s.dial(ctx, statements)
		if err == nil && !read {
			writes = l.Wire.(*session).host
		}
		return l, err
	}}
	_, err := r.Open(ctx, false)
	if err == nil {
		_, err = r.Open(ctx, true)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// elsewhere opens a session to another host than this one, which need not take
// writes; nil if none answers.
func (s *keyValueSchema) elsewhere(ctx context.Context, not *host, statements []sqldb.Statement) *sqldb.Session {
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
