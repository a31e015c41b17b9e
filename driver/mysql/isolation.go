package mysql

import (
	"context"
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

// promised is the consistency model that the manuals promise for a level.
//
//   - Read uncommitted and read committed of InnoDB: dirty reads, and "each
//     consistent read, even within the same transaction, sets and reads its own
//     fresh snapshot" (MySQL manual, "Transaction Isolation Levels").
//   - Repeatable read of InnoDB: plain reads are of one snapshot, but "the snapshot
//     ... applies to SELECT statements within a transaction, not necessarily to
//     DML statements", which change what others have committed since, and after
//     that one sees a mixture (MySQL manual, "Consistent Nonlocking Reads"). No
//     model between read committed and snapshot isolation allows that, so no more
//     than read committed is promised. With innodb_snapshot_isolation MariaDB
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
	default:
		return "read-committed"
	}
}
