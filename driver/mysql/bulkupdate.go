package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"

	"assay/workload"
	"assay/workload/bulkupdate"
)

// bulkUpdateSchema is the database of workload bulkupdate.
const bulkUpdateSchema = schemaPrefix + "bulkupdate"

func bulkUpdateTables() []table {
	return []table{{"document", `id BIGINT NOT NULL PRIMARY KEY, owner BIGINT NOT NULL, number BIGINT NOT NULL,
		flag BOOLEAN NOT NULL, generation BIGINT NOT NULL, payload VARCHAR(255) NOT NULL`}}
}

// bulkUpdateStore implements bulkupdate.Store.
type bulkUpdateStore struct{ *schema }

// OpenBulkUpdate connects to the target and returns the Store on it, in the
// database assay_bulkupdate. Errors and the address are as with OpenBank.
func OpenBulkUpdate(ctx context.Context, target workload.Target) (bulkupdate.Store, error) {
	p, err := openSchema(ctx, target, "bulkupdate")
	if err != nil {
		return nil, err
	}
	return &bulkUpdateStore{p}, nil
}

// Atomic implements bulkupdate.Store: with autocommit "each SQL statement forms
// a single transaction on its own", and one that fails is rolled back (MySQL
// manual, "autocommit, Commit, and Rollback").
func (s *bulkUpdateStore) Atomic() bool { return true }

// Create implements bulkupdate.Store.
func (s *bulkUpdateStore) Create(ctx context.Context, mark workload.Marker) error {
	return s.create(ctx, mark, bulkUpdateTables())
}

// Find implements bulkupdate.Store.
func (s *bulkUpdateStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, "document")
}

// Size implements bulkupdate.Store.
func (s *bulkUpdateStore) Size(ctx context.Context) (workload.Size, error) {
	return s.size(ctx, bulkUpdateTables())
}

// Drop implements bulkupdate.Store.
func (s *bulkUpdateStore) Drop(ctx context.Context) error { return s.drop(ctx, bulkUpdateTables()) }

// Load inserts all of a batch with one statement.
func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	if len(batch) == 0 {
		return nil
	}
	var statement strings.Builder
	statement.WriteString(`INSERT INTO ` + bulkUpdateSchema + `.document (id, owner, number, flag, generation, payload) VALUES `)
	payloads := make([]any, len(batch))
	for i, d := range batch {
		if i > 0 {
			statement.WriteByte(',')
		}
		fmt.Fprintf(&statement, "(%d,%d,%d,%t,%d,?)", d.ID, d.User, d.Number, d.Flag, d.Generation)
		payloads[i] = d.Payload
	}
	err := s.use(ctx, func(c *conn) error {
		n, err := c.affected(ctx, statement.String(), payloads...)
		if err == nil && n != int64(len(batch)) {
			err = fmt.Errorf("the server took %d of %d documents", n, len(batch))
		}
		return err
	})
	return advise("load documents", err)
}

// FinishLoad makes the index, sets the mark, and brings the statistics up to
// date now, which the server would else do in the middle of the run.
func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error {
	return operation("finish loading", s.use(ctx, func(c *conn) error {
		if err := c.exec(ctx, `ALTER TABLE `+bulkUpdateSchema+`.document ADD INDEX document_owner (owner)`); err != nil {
			return err
		}
		if err := s.setLoaded(ctx, c); err != nil {
			return err
		}
		return c.exec(ctx, `ANALYZE NO_WRITE_TO_BINLOG TABLE `+bulkUpdateSchema+`.document`)
	}))
}

// Read implements bulkupdate.Store.
func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return s.view(ctx, nil, func(c *conn) error {
		return c.query(ctx, func(row []driver.Value) error {
			var d bulkupdate.Document
			var flag int64
			if err := numbers(row[:5], &d.ID, &d.User, &d.Number, &flag, &d.Generation); err != nil {
				return err
			}
			d.Flag, d.Payload = flag != 0, text(row[5])
			return stopped(document(d))
		}, `SELECT id, owner, number, flag, generation, payload FROM `+bulkUpdateSchema+`.document`)
	})
}

// waitStatus are the status variables of the engines that tell of waits for
// locks (MySQL manual, "Server Status Variables"; MariaDB documentation,
// "InnoDB Status Variables", "MyRocks Status Variables"). Row lock times are in
// milliseconds.
func waitStatus() []bulkupdate.Wait {
	return []bulkupdate.Wait{
		{Name: "Innodb_row_lock_waits", Unit: bulkupdate.Count},
		{Name: "Innodb_row_lock_time", Unit: bulkupdate.Time},
		{Name: "Innodb_row_lock_current_waits", Unit: bulkupdate.Gauge},
		{Name: "Innodb_deadlocks", Unit: bulkupdate.Count},
		{Name: "Innodb_log_waits", Unit: bulkupdate.Count},
		{Name: "Innodb_buffer_pool_wait_free", Unit: bulkupdate.Count},
		{Name: "Rocksdb_row_lock_deadlocks", Unit: bulkupdate.Count},
		{Name: "Rocksdb_row_lock_wait_timeouts", Unit: bulkupdate.Count},
		{Name: "Threads_running", Unit: bulkupdate.Gauge},
	}
}

// Waits implements bulkupdate.Store, with those that the server has of the
// table's engine, of the whole server.
func (s *bulkUpdateStore) Waits(ctx context.Context) ([]bulkupdate.Wait, error) {
	status := map[string]string{}
	err := s.use(ctx, func(c *conn) error {
		pairs, err := c.pairs(ctx, `SHOW GLOBAL STATUS WHERE Variable_name LIKE 'innodb%wait%' OR Variable_name LIKE 'innodb%lock%'
			OR Variable_name LIKE 'rocksdb_row_lock%' OR Variable_name = 'threads_running'`)
		for name, value := range pairs {
			status[strings.ToLower(name)] = value
		}
		return err
	})
	if err != nil {
		return nil, operation("ask for waits", err)
	}
	other := "rocksdb_"
	if s.engine == rocksdb {
		other = "innodb_"
	}
	var known []bulkupdate.Wait
	for _, w := range waitStatus() {
		name := strings.ToLower(w.Name)
		value, err := strconv.ParseInt(status[name], 10, 64)
		if err != nil || strings.HasPrefix(name, other) {
			continue
		}
		if w.Value = value; w.Unit == bulkupdate.Time {
			w.Value *= int64(time.Millisecond)
		}
		known = append(known, w)
	}
	return known, nil
}

// bulkUpdateSession implements bulkupdate.Session on one connection.
type bulkUpdateSession struct{ *session }

// Session implements bulkupdate.Store.
func (s *bulkUpdateStore) Session(ctx context.Context) (bulkupdate.Session, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &bulkUpdateSession{l}, nil
}

// Update implements bulkupdate.Session: one statement, committed by itself. The
// server counts the rows that it has changed, not those that were found so.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	if err := n.ready(ctx); err != nil {
		reply := n.unsent(err)
		reply.Broken = true
		return bulkupdate.Reply{Reply: reply}
	}
	changed, err := n.affected(ctx, fmt.Sprintf(`UPDATE `+bulkUpdateSchema+`.document SET flag = %t, generation = %d WHERE owner = %d`, flag, generation, user))
	return bulkupdate.Reply{Reply: n.executed(operation("update", err)), Changed: changed}
}
