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

// Waiting implements sqldb.Connection, by pg_blocking_pids (manual, "System
// Information Functions"). CockroachDB has no such account,
// and behind a pooler nobody knows which process it is.
func (c *connection) Waiting(ctx context.Context) (waiting, known bool, err error) {
	if c.schema.dialect.session != "" || c.schema.pooled {
		return false, false, nil
	}
	err = c.schema.pool.Use(ctx, func(by conn) error {
		return sqldb.One(ctx, by, `SELECT cardinality(pg_blocking_pids($1::bigint::int)) > 0`, []store.Value{store.OfInt(int64(c.conn.PID()))}, &waiting)
	})
	return waiting, true, c.schema.Operation("ask for waits", err)
}

// keepsLevel is an error if the server runs the session's transactions at another level than
// it was asked to. CockroachDB's levels are told by Describe.
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

// promised is the consistency model that PostgreSQL's manual promises for a
// level, in chapter "Concurrency Control", "Transaction Isolation":
//
//   - Read committed, which read uncommitted is too: a statement "sees only data
//     committed before the query began", and two of one transaction "can see
//     different data".
//   - Repeatable read "is implemented using a technique known in academic
//     database literature and in some other database products as Snapshot
//     Isolation".
//   - Serializable "emulates serial transaction execution for all committed
//     transactions; as if transactions had been executed one after another".
//     Nothing is said of that order and real time, so it is not promised to be
//     strict.
//
// And CockroachDB's documentation, "Transactions" and "Transaction Layer":
//
//   - Read committed: each statement reads a snapshot of its own and "will only
//     read the latest value of each row it retrieves". Where the cluster does not
//     allow it, transactions run as serializable.
//   - Serializable "permits no concurrency anomalies", and its reads are not stale:
//     they "see all writes performed by writers that committed before the reading
//     transaction [...] started". It is not strict for all that: "CockroachDB
//     implements serializability, not linearizability" ("CockroachDB's consistency
//     model", cockroachlabs.com/blog/consistency-model).
//   - Repeatable read is not among the levels that it offers.
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
