package mysql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/isolation"
)

// isolationSchema is the database of workload isolation.
const isolationSchema = schemaPrefix + "isolation"

// isolationStore implements isolation.Store.
type isolationStore struct {
	*schema
	promise string
}

// OpenIsolation connects to the target and returns the Store on it, in the
// database assay_isolation. The isolation level, where the target names none, is
// what the server gives its sessions now, and is then asked for by name. Errors
// and the address are as with OpenBank.
func OpenIsolation(ctx context.Context, target workload.Target) (isolation.Store, error) {
	p, err := openSchema(ctx, target, sqldb.IsolationSchema())
	if err != nil {
		return nil, err
	}
	s := &isolationStore{p, promised(p.level, p.engine, p.server)}
	// A copy: connections that are made already do not look at it.
	named := *p.settings
	named.isolation = p.level
	p.settings = &named
	for _, h := range p.hosts {
		h.settings = p.settings
	}
	return s, nil
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

// Promise implements isolation.Store.
func (s *isolationStore) Promise() string { return s.promise }

// Read implements isolation.Store.
func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	return s.view(ctx, nil, func(c *conn) error {
		err := c.query(ctx, func(row []driver.Value) error {
			var key int64
			if err := numbers(row[:1], &key); err != nil {
				return err
			}
			elements, err := readElements(row[1], nil)
			if err != nil {
				return fmt.Errorf("list %d: %w", key, err)
			}
			return stopped(list(key, elements))
		}, `SELECT id, elements FROM `+isolationSchema+`.list ORDER BY id`)
		if err != nil {
			return err
		}
		return c.query(ctx, func(row []driver.Value) error {
			var key, value int64
			if err := numbers(row, &key, &value); err != nil {
				return err
			}
			return stopped(register(key, value))
		}, `SELECT id, value FROM `+isolationSchema+`.register ORDER BY id`)
	})
}

// readElements appends the elements of a list to into.
func readElements(value driver.Value, into []int64) ([]int64, error) {
	list := text(value)
	if list == "" {
		return into, nil
	}
	for element := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(element, 10, 64)
		if err != nil {
			return into, err
		}
		into = append(into, n)
	}
	return into, nil
}

// writeElements is the text of a list.
func writeElements(elements []int64) string {
	var b []byte
	for i, n := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(b)
}
