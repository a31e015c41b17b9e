package postgres

import (
	"context"
	"fmt"
	"slices"

	"assay/driver/sqldb"
	"assay/store"
)

func (p *schema) Levels() (levels []store.Level) {
	for _, name := range p.dialect.levels {
		levels = append(levels, store.Level{Name: name, Isolation: name})
	}
	return levels
}

// Waiting implements sqldb.Connection by pg_blocking_pids (manual, "System Information Functions").
// CockroachDB does not tell, and behind a pooler the process is not known.
func (c *connection) Waiting(ctx context.Context) (waiting, known bool, err error) {
	if c.schema.dialect.session != "" || c.schema.pooled {
		return false, false, nil
	}
	err = c.schema.pool.Use(ctx, func(by conn) error {
		return sqldb.One(ctx, by, `SELECT cardinality(pg_blocking_pids($1::bigint::int)) > 0`, []store.Value{store.OfInt(int64(c.conn.PID()))}, &waiting)
	})
	return waiting, true, c.schema.Operation("ask for waits", err)
}

// keepsLevel returns an error if the server runs transactions at another level than asked for.
// Describe tells CockroachDB's level.
func (l *connection) keepsLevel(ctx context.Context) error {
	p := l.schema
	if !p.dialect.standbys || p.reads != nil && !p.Judged {
		return nil
	}
	results, err := l.conn.PgConn.Exec(ctx, l.texts[begin].Text+"; SHOW transaction_isolation; ROLLBACK").ReadAll()
	if err != nil {
		return err
	}
	for _, r := range results {
		for _, row := range r.Rows {
			if err := store.KeepsLevel(p.level, string(row[0])); err != nil {
				return err
			}
		}
	}
	return nil
}

// promised is the promised consistency model of a level. PostgreSQL's manual, "Transaction
// Isolation":
//
//   - Read committed, also for read uncommitted: each statement sees what was committed before it;
//     two statements of a transaction can differ.
//   - Repeatable read is snapshot isolation.
//   - Serializable promises some serial order, but says nothing about real time, so it is not
//     strict.
//
// CockroachDB's docs, "Transactions" and "Transaction Layer":
//
//   - Read committed: each statement has a snapshot of its own. Clusters that do not allow it run
//     serializable.
//   - Serializable permits no anomalies, and reads see all commits before the transaction. It is
//     not strict ("CockroachDB's consistency model", cockroachlabs.com/blog/consistency-model).
//   - Repeatable read is not offered.
func promised(d dialect, level string) (string, error) {
	switch level {
	case "read uncommitted", "read committed":
		return "read-committed", nil
	case "repeatable read":
		if !slices.Contains(d.levels, level) {
			break
		}
		return "snapshot-isolation", nil
	case serializable:
		return "serializable", nil
	}
	return "", fmt.Errorf("the server's default isolation level is %q, which assay does not know; name one with --isolation", level)
}
