package postgres

import (
	"cmp"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/store"
)

// classNotReplicated is the class of a commit that the server made locally
// while giving up the wait for its synchronous standby.
const classNotReplicated = "not replicated"

// errorTable is what the server's errors mean. The rules, and where they come from:
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
// What is known not to have been sent (pgconn.SafeToRetry) is Failed.
func errorTable() *sqldb.ErrorTable[string] {
	return &sqldb.ErrorTable[string]{
		Code:     answerCode,
		Doubtful: doubtful,
		Unsent:   pgconn.SafeToRetry,
		TimedOut: timedOut,
		Rows: []sqldb.ErrorRow[string]{
			{Codes: []string{codeRolledBack}, Proves: sqldb.ProvesCommit},
			{Codes: []string{codeNoTransaction}, Proves: sqldb.ProvesNothing},
			{Codes: []string{codeNotReplicated}, Class: classNotReplicated, Proves: sqldb.ProvesNothing},
			{Codes: []string{codeSerializationFailure}, Class: store.ClassSerialization, Proves: sqldb.ProvesCommit, Kind: sqldb.Clash},
			{Codes: []string{codeDeadlockDetected}, Class: store.ClassDeadlock, Proves: sqldb.ProvesCommit, Kind: sqldb.Clash},
			{Codes: []string{codeUniqueViolation}, Class: store.ClassConstraint, Proves: sqldb.ProvesCommit, Kind: sqldb.Clash},
			{Codes: []string{codeDependentObjects}, Proves: sqldb.ProvesAlone, Kind: sqldb.InUse},
			{Codes: []string{"23000"}, Last: "23ZZZ", Class: store.ClassConstraint, Proves: sqldb.ProvesCommit}, // integrity constraint violation
			{Codes: []string{"08000"}, Last: "08ZZZ", Class: store.ClassLost, Proves: sqldb.ProvesNothing},
			{Codes: []string{codeStatementUnknown}, Proves: sqldb.ProvesNothing},
			{Codes: []string{codeLockNotAvailable}, Class: store.ClassLockTimeout, Proves: sqldb.ProvesAlone},
			{Codes: []string{codeQueryCanceled, codeIdleInTransaction, codeTransactionTimeout, codeIdleSessionTimeout}, Class: store.ClassTimeout, Proves: sqldb.ProvesAlone},
			{Codes: []string{codeReadOnlyTransaction}, Class: store.ClassReadOnly, Proves: sqldb.ProvesAlone, Kind: sqldb.NoWrites, Lasting: true},
			{Codes: []string{codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow, codeDatabaseDropped}, Class: store.ClassShutdown, Proves: sqldb.ProvesAlone, Lasting: true},
			{Codes: []string{codeUndefinedTable, codeInvalidSchemaName}, Proves: sqldb.ProvesAlone, Kind: sqldb.NotThere},
			{Codes: []string{codeInsufficientPrivilege}, Proves: sqldb.ProvesAlone, Kind: sqldb.NotAllowed},
			// Duplicate schema, duplicate table and "tuple concurrently updated" are of
			// those who make or drop the same schema at the same time.
			{Codes: []string{"42P06", "42P07", "XX000"}, Proves: sqldb.ProvesAlone, Kind: sqldb.Clash},
		},
		Other: sqldb.ErrorRow[string]{Proves: sqldb.ProvesAlone},
	}
}

// classify is sqldb.Wire's. Without the transaction that was begun, what was done is
// done for good, whether or not COMMIT was sent.
func classify(err error, at sqldb.Stage) store.Reply {
	if errors.Is(err, errNoTransaction) {
		at = sqldb.Committing
	}
	return errorTable().Classify(err, at)
}

// Codes of this package's own, for what the server says otherwise.
const (
	codeRolledBack    = "rolled back"
	codeNoTransaction = "no transaction"
	codeNotReplicated = "not replicated"
)

func answerCode(err error) (string, bool) {
	var answer *pgconn.PgError
	switch {
	case errors.Is(err, errNoTransaction):
		return codeNoTransaction, true
	case errors.Is(err, errNotReplicated):
		return codeNotReplicated, true
	case errors.Is(err, errRolledBack):
		return codeRolledBack, true
	case errors.As(err, &answer):
		return answer.Code, true
	}
	return "", false
}

// doubtful reports whether an answer is of a severity that ends the connection, which
// poolers send also.
func doubtful(err error) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return false
	}
	// Servers before 9.6, and poolers, do not add the plain word.
	return cmp.Or(answer.SeverityUnlocalized, answer.Severity) != "ERROR"
}

// timedOut reports whether the network's own patience was at its end.
func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
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

// Kind implements sqldb.Server.
func (p *schema) Kind(err error) sqldb.ErrorKind { return errorTable().Kind(err) }

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
func violated(err error, tables []store.Table) store.Violation {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return store.NoViolation
	}
	for i := range tables {
		t := &tables[i]
		switch answer.Code {
		case codeUniqueViolation:
			unique := func(i store.Index) bool { return i.Unique && i.Name == answer.ConstraintName }
			if answer.ConstraintName == t.Name+"_pkey" && (!t.LateKey || t.Grows) || slices.ContainsFunc(t.Indexes, unique) {
				return store.Unique
			}
		case codeCheckViolation:
			if slices.ContainsFunc(t.Floors, func(f store.Minimum) bool { return f.Name == answer.ConstraintName }) {
				return store.Floor
			}
			if column, is := strings.CutPrefix(answer.ConstraintName, knownPrefix); is && isDerived(t, column) {
				return store.Absent
			}
		case codeNotNullViolation:
			if answer.TableName == t.Name && isDerived(t, answer.ColumnName) {
				return store.Absent
			}
		}
	}
	return store.NoViolation
}

// knownPrefix begins the names of the CHECK constraints that stand for NOT NULL
// where a server tells no column of a null; see cockroachdb.
const knownPrefix = "known_"

func isDerived(t *store.Table, column string) bool {
	return slices.ContainsFunc(t.Columns, func(c store.Column) bool { return c.Derived && c.Name == column })
}
