package mysql

import (
	"context"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/isolation"
)

// OpenIsolation connects to the target and returns the Store on it, in the
// database assay_isolation. The isolation level, where the target names none, is
// what the server gives its sessions now, and is then asked for by name. Errors
// and the address are as with OpenBank.
func OpenIsolation(ctx context.Context, target workload.Target) (isolation.Store, error) {
	s, err := openIsolation(ctx, target)
	if err != nil {
		return nil, err
	}
	return sqldb.Isolation(s), nil
}

// isolationSchema is a schema that promises a consistency model.
type isolationSchema struct{ *schema }

// Promise implements sqldb.Promiser.
func (s *isolationSchema) Promise() string { return promised(s.level, s.engine, s.server) }

func openIsolation(ctx context.Context, target workload.Target) (*isolationSchema, error) {
	p, err := openSchema(ctx, target, sqldb.IsolationSchema())
	if err != nil {
		return nil, err
	}
	// A copy: connections that are made already do not look at it.
	named := *p.settings
	named.isolation = p.level
	p.settings = &named
	for _, h := range p.hosts {
		h.settings = p.settings
	}
	return &isolationSchema{p}, nil
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
//     ("MyRocks Transactional Isolation").
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
