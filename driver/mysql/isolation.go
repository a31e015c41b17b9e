package mysql

import (
	"cmp"
	"context"
	"database/sql/driver"
	"strings"
	"time"

	"assay/driver/sqldb"
	"assay/internal/wait"
	"assay/store"
)

// Levels implements store.Database. Repeatable read comes twice where the server can
// refuse what a snapshot does not allow (MariaDB, innodb_snapshot_isolation; TiDB,
// tidb_txn_mode).
func (p *schema) Levels() (levels []store.Level) {
	for _, name := range p.dialect.levels {
		level := store.Level{Name: strings.ToLower(name), Isolation: name}
		switch {
		case p.engine == rocksdb && (name == readUncommitted || name == serializable):
			// MyRocks has neither (MariaDB documentation, "MyRocks Transactional Isolation").
		case p.engine != rocksdb && name == repeatableRead && p.server.strict != nil:
			strict := store.Level{Name: level.Name + " (snapshot)", Isolation: name, Options: []string{p.server.strict.on()}}
			level.Options = []string{p.server.strict.off()}
			levels = append(levels, level, strict)
		default:
			levels = append(levels, level)
		}
	}
	return levels
}

// transactionsCache is how long InnoDB gives the same answer of its transactions
// (MySQL manual, "Persistence and Consistency of InnoDB Transaction and Locking
// Information": it is read anew if it was not read for 0.1 s).
const transactionsCache = 110 * time.Millisecond

// Waiting implements sqldb.Connection, by information_schema.innodb_trx (MySQL
// manual) or what TiDB has in its place. Other engines have no such account.
func (l *session) Waiting(ctx context.Context) (waiting, known bool, err error) {
	if l.schema.engine == rocksdb {
		return false, false, nil
	}
	if err := wait.Pause(ctx, transactionsCache); err != nil {
		return false, true, err
	}
	var waits int64
	err = l.host.pool.Use(ctx, func(c *conn) error {
		return sqldb.One(ctx, c, l.schema.dialect.waits.session, []store.Value{store.OfInt(l.look.id)}, &waits)
	})
	return waits > 0, true, l.schema.Operation("ask for waits", err)
}

// keepsLevel is an error if the server runs the session's transactions at another level than
// it was asked to. The session's variable is what transactions begin with. What the first
// session's transaction has is asked as well, where the user may know (PROCESS): InnoDB tells it
// of transactions that have read something (MariaDB documentation, "INNODB_TRX Table"; MySQL 8.4
// manual, "The INFORMATION_SCHEMA INNODB_TRX Table", trx_isolation_level).
func (p *schema) keepsLevel(ctx context.Context, c *conn) error {
	if err := store.KeepsLevel(p.level, c.level); err != nil {
		return err
	}
	if p.Existing || p.dialect.product != "" || p.engine != innodb || !p.asked.CompareAndSwap(false, true) {
		return nil
	}
	level := ""
	err := sqldb.InTransaction(ctx, c, []string{begin, `DO (SELECT count(*) FROM ` + p.Name + `.assay_mark)`}, func() error {
		if err := wait.Pause(ctx, transactionsCache); err != nil {
			return err
		}
		return c.values(ctx, func(row []driver.Value) error {
			level = sqldb.TextOf(row[0])
			return nil
		}, `SELECT trx_isolation_level FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = CONNECTION_ID()`)
	})
	if hasCode(err, codePrivilege) {
		return nil
	}
	return cmp.Or(err, store.KeepsLevel(p.level, level))
}

// promised is the consistency model that the manuals promise for a level.
//
//   - Read uncommitted and read committed of InnoDB: dirty reads, and "each
//     consistent read, even within the same transaction, sets and reads its own
//     fresh snapshot" (MySQL manual, "Transaction Isolation Levels").
//   - Repeatable read of InnoDB: "consistent reads within the same transaction read
//     the snapshot established by the first read", while "the snapshot ... applies to
//     SELECT statements within a transaction, not necessarily to DML statements", which
//     change what others have committed since; of such rows a read sees the latest
//     version (MySQL 8.4 manual, "Consistent Nonlocking Reads"; MariaDB documentation,
//     "SET TRANSACTION", "REPEATABLE READ"). That is snapshot reads. With innodb_snapshot_isolation MariaDB
//     refuses such a change: "snapshot isolation" (MariaDB documentation, "InnoDB
//     System Variables"). MyRocks does the same, by a check against the snapshot
//     ("MyRocks Transactional Isolation"), and so do TiDB's optimistic transactions ("TiDB
//     Transaction Isolation Levels").
//   - Serializable of InnoDB: all plain reads lock what they read ("SELECT ... FOR
//     SHARE"; MySQL manual, the same chapter). Between the nodes of a Galera
//     cluster no read lock holds: serializable "is honored only between
//     transactions issued on the same node" (Galera documentation, "Isolation
//     Levels"), so there it is not promised, and nor is a snapshot, for the reason
//     given above.
func promised(level, engine string, s server) string {
	switch {
	case level == readUncommitted:
		return "read-uncommitted"
	case level == readCommitted:
		return "read-committed"
	case level == serializable && !s.galera:
		return "serializable"
	case engine == rocksdb, s.snapshots && !s.galera:
		return "snapshot-isolation"
	case s.galera:
		return "read-committed"
	default:
		return "snapshot-reads"
	}
}
