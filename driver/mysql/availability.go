package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"

	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
	"assay/workload/availability"
)

// availabilitySchema is the database of workload availability.
const availabilitySchema = schemaPrefix + "availability"

func availabilityKind() sqldb.Schema {
	return sqldb.Schema{Workload: "availability", Tables: []sqldb.Table{{Name: "entry", Columns: []sqldb.Column{{Name: "id"}, {Name: "value"}}}}}
}

// availabilityStore implements availability.Store.
type availabilityStore struct {
	*schema
	// apart is true if reads go to another host than writes.
	apart bool
}

// OpenAvailability connects to the target and returns the Store on it, in the
// database assay_availability. Errors and the address are as with OpenBank.
//
// Reads go to the node that takes the session's writes, or with the targets
// nearest and secondary-preferred to another host of the address that answers,
// and to the same one if no other does; an address of one host gives
// *workload.OptionError for them. Such a node may not have applied yet what was
// acknowledged, unless the address has wsrep_sync_wait=1.
func OpenAvailability(ctx context.Context, target workload.Target) (availability.Store, error) {
	apart := false
	switch target.Read {
	case "", workload.ReadPrimary:
	case workload.ReadNearest, workload.ReadSecondaryPreferred:
		apart = true
	default:
		return nil, &workload.OptionError{Option: "--read", Value: target.Read,
			Want: workload.ReadPrimary + ", " + workload.ReadSecondaryPreferred + ", " + workload.ReadNearest}
	}
	p, err := openSchema(ctx, target, availabilityKind())
	if err != nil {
		return nil, err
	}
	if apart && len(p.hosts) < 2 {
		_ = p.Close()
		return nil, &workload.OptionError{Option: "--read", Value: target.Read, Want: workload.ReadPrimary + ", or an address of several hosts"}
	}
	return &availabilityStore{p, apart}, nil
}

// Promise implements availability.Promising. A statement that is a transaction by
// itself reads what is committed when it begins (MySQL manual, "Consistent
// Nonlocking Reads"), and one server alone has committed what it acknowledged. A
// Galera node that is told to (wsrep_sync_wait) holds a read back until it "has
// caught up with all updates made in the cluster to the point where the check
// was begun" (Galera documentation, "MySQL wsrep Options"); without that, and of
// servers that copy in other ways, nothing is promised.
func (s *availabilityStore) Promise() string {
	if s.server.galera && s.server.syncWait || !s.server.galera && len(s.hosts) == 1 {
		return availability.PromiseLinearizable
	}
	return ""
}

// Read implements availability.Store.
func (s *availabilityStore) Read(ctx context.Context, row func(availability.Row) error) error {
	return s.view(ctx, nil, func(c *conn) error {
		return c.query(ctx, func(values []driver.Value) error {
			var r availability.Row
			if err := numbers(values, &r.Key, &r.Value); err != nil {
				return err
			}
			return stopped(row(r))
		}, `SELECT id, value FROM `+availabilitySchema+`.entry`)
	})
}

// availabilitySession implements availability.Session on one connection, and
// another one for reads that go elsewhere.
type availabilitySession struct {
	store  *availabilityStore
	writer *session
	reader *session // the same, unless reads go elsewhere
}

// Session implements availability.Store.
func (s *availabilityStore) Session(ctx context.Context) (availability.Session, error) {
	session := &availabilitySession{store: s}
	if err := session.open(ctx); err != nil {
		return nil, err
	}
	return session, nil
}

// open connects where there is no connection.
func (s *availabilitySession) open(ctx context.Context) (err error) {
	if s.writer == nil {
		if s.writer, err = s.store.dial(ctx); err != nil {
			s.writer = nil
			return err
		}
	}
	if s.reader == nil && s.store.apart {
		s.reader = s.store.elsewhere(ctx, s.writer.host)
	}
	if s.reader == nil {
		s.reader = s.writer
	}
	return nil
}

// ready makes sure of the connections, of which some may have been closed by a
// server while nothing was to be done. They are replaced, as database/sql does
// for an ordinary application, before anything is sent.
func (s *availabilitySession) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	same := s.reader == s.writer
	if s.reader != nil && !same && s.reader.ready(ctx) != nil {
		s.reader.Close()
		s.reader = nil
	}
	if s.writer != nil && s.writer.ready(ctx) != nil {
		s.writer.Close()
		s.writer = nil
		if same {
			s.reader = nil
		}
	}
	return s.open(ctx)
}

// elsewhere opens a connection to another host than this one, which need not
// take writes; nil if none answers.
func (s *availabilityStore) elsewhere(ctx context.Context, not *host) *session {
	for _, h := range s.order(true) {
		if h == not {
			continue
		}
		c, err := h.connect(ctx, s.name)
		if err != nil {
			continue
		}
		if c.look.galera && !c.look.prepared {
			c.hangUp()
			continue
		}
		if l, err := s.adopt(ctx, c); err == nil {
			return l
		}
	}
	return nil
}

// Close ends the session; what is in flight is abandoned.
func (s *availabilitySession) Close() {
	if s.reader != nil && s.reader != s.writer {
		s.reader.Close()
	}
	if s.writer != nil {
		s.writer.Close()
	}
}

// notSent is the reply to what ready found.
func notSent(ctx context.Context, err error) availability.Reply {
	class := workload.ClassConnect
	if ctx.Err() != nil {
		class = workload.ClassTimeout
	}
	return availability.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: class, Err: err, Broken: true}}
}

// Insert implements availability.Session: one statement, committed by itself.
func (s *availabilitySession) Insert(ctx context.Context, row availability.Row) availability.Reply {
	if err := s.ready(ctx); err != nil {
		return notSent(ctx, err)
	}
	err := s.writer.exec(ctx, fmt.Sprintf(`INSERT INTO `+availabilitySchema+`.entry (id, value) VALUES (%d, %d)`, row.Key, row.Value))
	return availability.Reply{Reply: s.writer.insertedOne(err)}
}

// Get implements availability.Session. A read has no effect, so that one without
// an answer has failed.
func (s *availabilitySession) Get(ctx context.Context, key int64) availability.Reply {
	if err := s.ready(ctx); err != nil {
		return notSent(ctx, err)
	}
	l := s.reader
	var reply availability.Reply
	err := l.query(ctx, func(values []driver.Value) error {
		reply.Found = true
		return numbers(values, &reply.Row.Key, &reply.Row.Value)
	}, fmt.Sprintf(`SELECT id, value FROM `+availabilitySchema+`.entry WHERE id = %d`, key))
	if err != nil {
		return availability.Reply{Reply: l.queried(err)}
	}
	reply.Reply = l.queried(nil)
	return reply
}
