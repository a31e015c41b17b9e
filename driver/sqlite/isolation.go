package sqlite

import (
	"context"

	"assay/driver/sqldb"
	"assay/workload"
	"assay/workload/interleaving"
	"assay/workload/isolation"
)

// OpenIsolation returns the Store of the file that target.Address names, which
// must not hold another workload's run. Address and errors are as with
// OpenBank.
func OpenIsolation(_ context.Context, target workload.Target) (isolation.Store, error) {
	f, err := open(target, sqldb.IsolationSchema(), beginEither)
	if err != nil {
		return nil, err
	}
	return sqldb.Isolation(isolationFile{f}), nil
}

// isolationFile is a file that promises a consistency model.
type isolationFile struct{ *file }

// Promise implements sqldb.Promiser. SQLite's documentation promises
// serializable isolation "by actually serializing the writes"
// (https://www.sqlite.org/isolation.html), and in real time: whoever writes
// holds the only write lock from its beginning, so that what it reads is what
// the last commit left; and whoever reads "remembers the location of the last
// valid commit record in the WAL" when it begins
// (https://www.sqlite.org/wal.html), so it sees all that was committed by
// then. With a rollback journal readers and writers lock each other out.
func (isolationFile) Promise() string { return "strict-serializable" }

func (isolationFile) Levels() []interleaving.Level { return []interleaving.Level{{Name: level}} }

// Waiting implements sqldb.LockWaiter: those who write queue for their turn, in this
// process.
func (l *connection) Waiting(context.Context) (waiting, known bool, err error) {
	return l.queued.Load(), true, nil
}
