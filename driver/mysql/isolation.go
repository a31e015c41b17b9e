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

// Levels implements store.Database. Repeatable read comes twice if the server can refuse what a
// snapshot does not allow (MariaDB, innodb_snapshot_isolation; TiDB, tidb_txn_mode).
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

// transactionsCache is how long InnoDB repeats its account of transactions: 0.1 s (MySQL manual,
// "Persistence and Consistency of InnoDB Transaction and Locking Information").
const transactionsCache = 110 * time.Millisecond

// Waiting implements sqldb.Connection by information_schema.innodb_trx (MySQL manual) or TiDB's
// table. Other engines have no such account.
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

// keepsLevel returns an error if the server runs transactions at another level than asked for. It
// reads the session's variable, and for the first session also its transaction's level, if the user
// may see it (PROCESS). InnoDB tells it of transactions that have read something (MariaDB
// documentation, "INNODB_TRX Table"; MySQL 8.4 manual, "The INFORMATION_SCHEMA INNODB_TRX Table").
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

// promised is the promised consistency model of a level.
//
//   - InnoDB's read uncommitted has dirty reads. Read committed has a fresh snapshot for each read
//     (MySQL manual, "Transaction Isolation Levels").
//   - InnoDB's repeatable read reads the snapshot of the first read. Statements that write change
//     the latest version, which later reads then see (MySQL 8.4 manual, "Consistent Nonlocking
//     Reads"; MariaDB documentation, "SET TRANSACTION"). That is snapshot reads. Snapshot isolation
//     is promised where such a change is refused: with MariaDB's innodb_snapshot_isolation ("InnoDB
//     System Variables"), in MyRocks ("MyRocks Transactional Isolation") and for TiDB's optimistic
//     transactions ("TiDB Transaction Isolation Levels").
//   - InnoDB's serializable locks all that plain reads read (MySQL manual, the same chapter). Read
//     locks do not hold between the nodes of a Galera cluster (Galera documentation, "Isolation
//     Levels"). There neither serializable nor a snapshot is promised.
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
