package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/isolation"
)

// isolationSchema is the place of workload isolation in the database.
const isolationSchema = "assay_isolation"

// isolationTables makes the tables. The index lets a group be counted without a
// look at all rows of the run; a count is still one by a predicate, and under
// serializable what it locks is a part of the index.
func isolationTables() []string {
	return []string{
		`CREATE TABLE ` + isolationSchema + `.list (key bigint PRIMARY KEY, elements bigint[] NOT NULL)`,
		`CREATE TABLE ` + isolationSchema + `.register (key bigint PRIMARY KEY, value bigint NOT NULL)`,
		`CREATE TABLE ` + isolationSchema + `.member (id bigint PRIMARY KEY, grp bigint NOT NULL)`,
		`CREATE INDEX member_grp ON ` + isolationSchema + `.member (grp)`,
		`CREATE TABLE ` + isolationSchema + `.pair (id bigint PRIMARY KEY, value bigint NOT NULL)`,
	}
}

// isolationStore implements isolation.Store.
type isolationStore struct {
	*schema
	promise string
}

// OpenIsolation connects to the target and returns the Store on it, in the
// schema assay_isolation of the address's database. The isolation level, where
// the target names none, is what the server gives its sessions now
// (default_transaction_isolation), and is then asked for by name. Errors and the
// parameter default_query_exec_mode are as with OpenBank.
func OpenIsolation(ctx context.Context, target workload.Target) (isolation.Store, error) {
	p, err := openSchema(ctx, target, sqldb.Schema{Workload: "isolation", Transactions: true})
	if err != nil {
		return nil, err
	}
	promise, err := promised(p.dialect, p.level)
	if err != nil {
		p.pool.close()
		return nil, operation("connect", err)
	}
	p.isolation = p.level
	return &isolationStore{p, promise}, nil
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
	return "", fmt.Errorf("the server's default isolation level is %q, of which nothing is known; name one with --isolation", level)
}

func (s *isolationStore) Promise() string { return s.promise }

func (s *isolationStore) Create(ctx context.Context, mark workload.Marker) error {
	return s.create(ctx, mark, isolationTables())
}

func (s *isolationStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, "list", "register", "member", "pair")
}

func (s *isolationStore) Size(ctx context.Context) (workload.Size, error) {
	return s.size(ctx, "list", "register", "member", "pair")
}

const (
	readLists     = `SELECT key, elements FROM ` + isolationSchema + `.list ORDER BY key`
	readRegisters = `SELECT key, value FROM ` + isolationSchema + `.register ORDER BY key`
)

func (s *isolationStore) Read(ctx context.Context, list func(key int64, elements []int64) error, register func(key, value int64) error) error {
	return s.view(ctx, s.pool, func(conn *pgx.Conn) error {
		err := stream(ctx, conn, readLists, func(row [][]byte) error {
			var key int64
			if err := bigints(row[:1], &key); err != nil {
				return err
			}
			elements, err := bigintArray(row[1], nil)
			if err != nil {
				return fmt.Errorf("list %d: %w", key, err)
			}
			return stopped(list(key, elements))
		})
		if err != nil {
			return err
		}
		return stream(ctx, conn, readRegisters, func(row [][]byte) error {
			var key, value int64
			if err := bigints(row, &key, &value); err != nil {
				return err
			}
			return stopped(register(key, value))
		})
	})
}
