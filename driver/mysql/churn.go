package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"assay/history"
	"assay/workload"
	"assay/workload/churn"
)

// churnSchema is the database of workload churn.
const churnSchema = schemaPrefix + "churn"

func churnTables() []table {
	return []table{{"entry", `id BIGINT NOT NULL PRIMARY KEY, payload VARCHAR(10000) NOT NULL`}}
}

// churnStore implements churn.Store.
type churnStore struct{ *schema }

// OpenChurn connects to the target and returns the Store on it, in the database
// assay_churn. Errors and the address are as with OpenBank.
func OpenChurn(ctx context.Context, target workload.Target) (churn.Store, error) {
	p, err := openSchema(ctx, target, "churn")
	if err != nil {
		return nil, err
	}
	return &churnStore{p}, nil
}

// Create implements churn.Store.
func (s *churnStore) Create(ctx context.Context, mark workload.Marker) error {
	return s.create(ctx, mark, churnTables())
}

// Find implements churn.Store.
func (s *churnStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, "entry")
}

// Drop implements churn.Store.
func (s *churnStore) Drop(ctx context.Context) error { return s.drop(ctx, churnTables()) }

// Size implements churn.Store: what the table uses, and what is free in its
// tablespace (DATA_FREE; MySQL manual, "The INFORMATION_SCHEMA TABLES Table").
func (s *churnStore) Size(ctx context.Context) (workload.Size, error) {
	size, err := s.size(ctx, churnTables())
	if err != nil {
		return size, err
	}
	var free int64
	err = s.use(ctx, func(c *conn) error {
		return c.one(ctx, `SELECT coalesce(data_free, 0) FROM information_schema.tables WHERE table_schema = ? AND table_name = 'entry'`, []any{churnSchema}, &free)
	})
	if err != nil {
		return workload.Size{}, operation("size", err)
	}
	size.Tables += free
	size.Bytes += free
	return size, nil
}

const repairOptimize = "OPTIMIZE TABLE"

// Repairs implements churn.Store.
func (s *churnStore) Repairs() []string { return []string{repairOptimize} }

// Repair implements churn.Store. What went wrong is a row of the answer (MySQL
// manual, "OPTIMIZE TABLE Statement").
func (s *churnStore) Repair(ctx context.Context, name string) error {
	if name != repairOptimize {
		return fmt.Errorf("mysql: there is no repair %q", name)
	}
	return operation("optimize", s.use(ctx, func(c *conn) error {
		var wrong error
		err := c.query(ctx, func(row []driver.Value) error {
			if len(row) == 4 && strings.EqualFold(text(row[2]), "error") {
				wrong = fmt.Errorf("%s", text(row[3]))
			}
			return nil
		}, `OPTIMIZE NO_WRITE_TO_BINLOG TABLE `+churnSchema+`.entry`)
		if err != nil {
			return err
		}
		return wrong
	}))
}

// Read implements churn.Store.
func (s *churnStore) Read(ctx context.Context, row func(churn.Row) error) error {
	return s.view(ctx, nil, func(c *conn) error {
		return c.query(ctx, func(values []driver.Value) error {
			var r churn.Row
			if err := numbers(values[:1], &r.ID); err != nil {
				return err
			}
			r.Payload = text(values[1])
			return stopped(row(r))
		}, `SELECT id, payload FROM `+churnSchema+`.entry`)
	})
}

// churnSession implements churn.Session on one connection.
type churnSession struct{ *session }

// Session implements churn.Store.
func (s *churnStore) Session(ctx context.Context) (churn.Session, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &churnSession{l}, nil
}

// Insert implements churn.Session.
func (n *churnSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	if len(rows) == 0 {
		return churn.Reply{Outcome: history.Committed}
	}
	var statement strings.Builder
	statement.WriteString(`INSERT INTO ` + churnSchema + `.entry (id, payload) VALUES `)
	payloads := make([]any, len(rows))
	for i, r := range rows {
		if i > 0 {
			statement.WriteByte(',')
		}
		fmt.Fprintf(&statement, "(%d,?)", r.ID)
		payloads[i] = r.Payload
	}
	return n.do(ctx, "insert", statement.String(), payloads...)
}

// Delete implements churn.Session.
func (n *churnSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	if len(ids) == 0 {
		return churn.Reply{Outcome: history.Committed}
	}
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
	return n.do(ctx, "delete", `DELETE FROM `+churnSchema+`.entry WHERE id IN (`+list+`)`)
}

// do runs one statement, committed by itself.
func (n *churnSession) do(ctx context.Context, doing, statement string, args ...any) churn.Reply {
	if err := n.ready(ctx); err != nil {
		reply := n.unsent(err)
		reply.Broken = true
		return reply
	}
	return n.executed(operation(doing, n.exec(ctx, statement, args...)))
}
