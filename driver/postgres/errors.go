package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/history"
	"assay/workload"
)

// classNotReplicated is the class of a commit that the server made locally
// while giving up the wait for its synchronous standby.
const classNotReplicated = "not replicated"

// classify gives the reply to a transaction in which an error came up; see
// sqldb.Wire. The rules, and where they come from:
//
// The whole transaction is one pipeline, closed by one Sync. "When an error is
// detected while processing any extended-query message, the backend issues
// ErrorResponse, then reads and discards messages until a Sync is reached"
// (PostgreSQL manual, "Frontend/Backend Protocol", "Extended Query"; so also
// under "Pipelining"): after an ERROR that answers a statement before COMMIT
// the COMMIT is not executed, and the transaction can only be rolled back.
// That proves no effect: Failed.
//
// An ERROR that answers COMMIT comes from checks that the server makes before
// it writes the commit record if it is a serialization failure (40001), a
// deadlock (40P01) or a constraint checked late (class 23): Failed. No other
// code is taken for proof there.
//
// Never a proof, wherever it comes: class 08 (connection exception) and 40003
// (statement completion unknown), whose meaning is that somebody on the way,
// such as a connection pooler, does not know; FATAL and PANIC (57P01 and its
// like), which end the connection, and which a pooler sends also when it lost
// a server that had the whole pipeline; whatever the client itself reports
// after it has sent something. All of these are Unknown. (Codes: manual,
// appendix A; severities: "Error and Notice Message Fields".)
//
// In CockroachDB (docs, v24.3) these are the same, for reasons of its own:
//
//   - 40001, "restart transaction: ...", can answer any statement and COMMIT, and
//     says that the transaction failed and is to be done again ("Transaction Retry
//     Error Reference"): Failed. Of a COMMIT too: if one of the writes that a
//     parallel commit waits for failed, the transaction is not committed, and if
//     it is not known whether all succeeded, the answer is 40003 instead
//     (pkg/kv/kvclient/kvcoord/txn_interceptor_committer.go, "an
//     AmbiguousResultError is returned"). Versions before pull request 107658 of
//     cockroachdb/cockroach (2023) could report as failed what committed later
//     (issue 103817): that is a broken word, and to be found, not to be hidden.
//   - 40003, "result is ambiguous", is "only possible for the last statement of a
//     transaction [...] or for statements outside a transaction" ("Common
//     Errors"): Unknown.
//   - A statement outside of a transaction commits before it is answered, so that
//     any error of it may be the commit's, and is judged as such
//     (dialect.commitsFirst). In PostgreSQL it commits at the Sync that follows.
//   - "If a connection drops during a transaction that has not yet tried to
//     commit, the transaction will definitely be aborted" ("Common Errors").
//
// What pgx knows not to have been sent (pgconn.SafeToRetry) is Failed.
func classify(err error, at sqldb.Stage) workload.Reply {
	switch {
	case errors.Is(err, errNoTransaction):
		return unsuccessful(err, workload.ClassOther, false)
	case errors.Is(err, errNotReplicated):
		return unsuccessful(err, classNotReplicated, false)
	case errors.Is(err, errRolledBack):
		return unsuccessful(err, workload.ClassOther, true)
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return unsuccessful(err, classOf(answer), at == sqldb.BeforeCommit || proves(answer, at))
	}
	class := workload.ClassLost
	if pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		class = workload.ClassTimeout
	}
	return unsuccessful(err, class, at == sqldb.BeforeCommit || pgconn.SafeToRetry(err))
}

// errRolledBack is a COMMIT answered by ROLLBACK: the server's way to end a
// transaction that had failed before.
var errRolledBack = errors.New("the server answered COMMIT by ROLLBACK")

// errNotReplicated is a commit whose standby the server gave up waiting for:
// here and now it is committed; the standby may not have it and may be the
// primary next.
var errNotReplicated = errors.New("committed locally, but the server gave up waiting for its synchronous standby")

// errNoTransaction means that BEGIN has begun nothing, so that what was done is
// done for good. Somebody on the way, such as a connection pooler, must have
// kept it.
var errNoTransaction = errors.New("the server is not in the transaction that was begun")

func unsuccessful(err error, class string, proven bool) workload.Reply {
	if proven {
		return workload.Reply{Outcome: history.Failed, Class: class, Err: err}
	}
	return workload.Reply{Class: class, Err: err, Broken: true}
}

func proves(answer *pgconn.PgError, at sqldb.Stage) bool {
	severity := answer.SeverityUnlocalized
	if severity == "" {
		severity = answer.Severity // servers before 9.6, poolers
	}
	switch {
	case severity != "ERROR":
		return false
	case strings.HasPrefix(answer.Code, classConnectionException) || answer.Code == codeStatementUnknown:
		return false
	case at != sqldb.Committing:
		return true
	default:
		return answer.Code == codeSerializationFailure || answer.Code == codeDeadlockDetected ||
			strings.HasPrefix(answer.Code, classIntegrityViolation)
	}
}

func classOf(answer *pgconn.PgError) string {
	switch answer.Code {
	case codeSerializationFailure:
		return workload.ClassSerialization
	case codeDeadlockDetected:
		return workload.ClassDeadlock
	case codeLockNotAvailable:
		return workload.ClassLockTimeout
	case codeQueryCanceled, codeIdleInTransaction, codeTransactionTimeout, codeIdleSessionTimeout:
		return workload.ClassTimeout
	case codeReadOnlyTransaction:
		return workload.ClassReadOnly
	case codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow, codeDatabaseDropped:
		return workload.ClassShutdown
	}
	if strings.HasPrefix(answer.Code, classConnectionException) {
		return workload.ClassLost
	}
	return workload.ClassOther
}

// Kind implements sqldb.Server. The last ones of a clash, duplicate schema, duplicate
// table and "tuple concurrently updated", are of those who make or drop the same
// schema at the same time.
func (p *schema) Kind(err error) sqldb.ErrorKind {
	switch {
	case hasCode(err, codeUndefinedTable, codeInvalidSchemaName):
		return sqldb.NotThere
	case hasCode(err, codeUniqueViolation, codeSerializationFailure, codeDeadlockDetected, "42P06", "42P07", "XX000"):
		return sqldb.Clash
	case hasCode(err, codeInsufficientPrivilege):
		return sqldb.NotAllowed
	case hasCode(err, codeReadOnlyTransaction):
		return sqldb.NoWrites
	}
	return sqldb.OtherError
}

// abandonedReplication reports whether a notice says that the server stopped
// waiting for its synchronous standby ("The transaction has already committed
// locally, but might not have been replicated to the standby"; manual,
// "Synchronous Replication"). The text is translated and the code (01000) says
// nothing; the name of the function that says it is the same in all languages.
func abandonedReplication(notice *pgconn.Notice) bool {
	return notice.Routine == "SyncRepWaitForLSN"
}

// violated is the constraint of these tables that an error tells of. What others
// have put on a table, such as a constraint or a trigger of somebody's own, is none
// of them; nor is the key of a table that sessions do not insert into.
func violated(err error, tables []sqldb.Table) sqldb.Violation {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return sqldb.NoViolation
	}
	for i := range tables {
		t := &tables[i]
		switch answer.Code {
		case codeUniqueViolation:
			if answer.ConstraintName == t.Name+"_pkey" && !t.LateKey {
				return sqldb.Unique
			}
		case codeCheckViolation:
			if slices.ContainsFunc(t.Checks, func(c sqldb.Constraint) bool { return c.Name == answer.ConstraintName }) {
				return sqldb.Check
			}
			if column, is := strings.CutPrefix(answer.ConstraintName, knownPrefix); is && isDerived(t, column) {
				return sqldb.Null
			}
		case codeNotNullViolation:
			if answer.TableName == t.Name && isDerived(t, answer.ColumnName) {
				return sqldb.Null
			}
		}
	}
	return sqldb.NoViolation
}

// knownPrefix begins the names of the CHECK constraints that stand for NOT NULL
// where a server tells no column of a null; see cockroachdb.
const knownPrefix = "known_"

func isDerived(t *sqldb.Table, column string) bool {
	return slices.ContainsFunc(t.Columns, func(c sqldb.Column) bool { return c.Derived && c.Name == column })
}
