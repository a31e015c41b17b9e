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

// classNotReplicated: the server committed locally and gave up waiting for its synchronous standby.
const classNotReplicated = "not replicated"

// errorTable is the meaning of the server's errors.
//
// A transaction is one pipeline with one Sync at its end. After an error the server discards
// messages up to the Sync (PostgreSQL manual, "Frontend/Backend Protocol", "Extended Query" and
// "Pipelining"). So an ERROR that answers a statement before COMMIT proves no effect: Failed.
//
// An ERROR that answers COMMIT is Failed for a serialization failure (40001), a deadlock (40P01) or
// a late constraint (class 23), which the server checks before it writes the commit record. Other
// codes prove nothing there.
//
// Unknown wherever they come: class 08 and 40003, by which a component such as a pooler says that
// it does not know; FATAL and PANIC (57P01 and others), which end the connection and which a pooler
// also sends after it has lost a server with the whole pipeline; the client's own errors after it
// has sent something. (Codes: manual, appendix A; severities: "Error and Notice Message Fields".)
//
// In CockroachDB (docs, v24.3) the same holds for other reasons:
//
//   - 40001 ("Transaction Retry Error Reference") says that the transaction failed: Failed, of a
//     COMMIT too. If it is not known whether all writes of a parallel commit succeeded, the answer
//     is 40003 (pkg/kv/kvclient/kvcoord/txn_interceptor_committer.go). Versions before pull request
//     107658 of cockroachdb/cockroach (2023) could report 40001 and commit later (issue 103817);
//     such a broken promise is to be found, not hidden.
//   - 40003 can come for a transaction's last statement, or outside of a transaction ("Common
//     Errors"): Unknown.
//   - A statement outside of a transaction commits before its answer. Any error of it is judged as
//     the commit's (dialect.commitsFirst). In PostgreSQL it commits at the Sync that follows.
//   - A connection lost before COMMIT proves that the transaction is aborted ("Common Errors").
//
// What was certainly not sent (pgconn.SafeToRetry) is Failed.
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
			{Codes: []string{codeQueryCanceled, codeIdleInTransaction, codeTransactionTimeout, codeIdleSessionTimeout}, Class: store.ClassTimeout, Proves: sqldb.ProvesAlone, Kind: sqldb.TimedOut},
			{Codes: []string{codeReadOnlyTransaction}, Class: store.ClassReadOnly, Proves: sqldb.ProvesAlone, Kind: sqldb.NoWrites, Lasting: true},
			{Codes: []string{codeAdminShutdown, codeCrashShutdown, codeCannotConnectNow, codeDatabaseDropped}, Class: store.ClassShutdown, Proves: sqldb.ProvesAlone, Lasting: true},
			{Codes: []string{codeUndefinedTable, codeInvalidSchemaName}, Proves: sqldb.ProvesAlone, Kind: sqldb.NotThere},
			{Codes: []string{codeInsufficientPrivilege}, Proves: sqldb.ProvesAlone, Kind: sqldb.NotAllowed},
			// Duplicate schema, duplicate table and "tuple concurrently updated" come from
			// concurrent creation or dropping of the same schema.
			{Codes: []string{"42P06", "42P07", "XX000"}, Proves: sqldb.ProvesAlone, Kind: sqldb.Clash},
		},
		Other: sqldb.ErrorRow[string]{Proves: sqldb.ProvesAlone},
	}
}

// classify implements sqldb.Wire. If BEGIN began nothing, the statements took effect, whether or
// not COMMIT was sent.
func classify(err error, at sqldb.Stage) store.Reply {
	if errors.Is(err, errNoTransaction) {
		at = sqldb.Committing
	}
	return errorTable().Classify(err, at)
}

// Codes of this package for answers without an error code.
const (
	codeRolledBack    = "rolled back"
	codeNoTransaction = "no transaction"
	codeNotReplicated = "not replicated"
	codeRowPolicy     = "row policy" // codeInsufficientPrivilege, which no GRANT would help
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
	case !errors.As(err, &answer):
		return "", false
	case answer.Code == codeInsufficientPrivilege && slices.Contains([]string{"ExecWithCheckOptions", "check_enable_rls"}, answer.Routine):
		return codeRowPolicy, true
	}
	return answer.Code, true
}

// doubtful reports a severity that ends the connection, which poolers send too.
func doubtful(err error) bool {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return false
	}
	// Servers before 9.6, and poolers, send no unlocalized severity.
	return cmp.Or(answer.SeverityUnlocalized, answer.Severity) != "ERROR"
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// errRolledBack: the server answered COMMIT by ROLLBACK, since the transaction had failed.
var errRolledBack = errors.New("the server answered COMMIT by ROLLBACK")

// errNotReplicated: the commit is on the primary, but the standby may not have it and may be the
// next primary.
var errNotReplicated = errors.New("committed locally, but the server gave up waiting for its synchronous standby")

// errNoTransaction: BEGIN has begun nothing, so the statements took effect. Something on the way,
// such as a pooler, must have kept BEGIN.
var errNoTransaction = errors.New("the server is not in the transaction that was begun")

func (p *schema) Kind(err error) sqldb.ErrorKind { return errorTable().Kind(err) }

// abandonedReplication recognizes the notice that the server stopped waiting for its synchronous
// standby (manual, "Synchronous Replication"). Its text is translated and its code (01000) is
// general, but the name of the function that sends it is the same in all languages.
func abandonedReplication(notice *pgconn.Notice) bool {
	return notice.Routine == "SyncRepWaitForLSN"
}

// violated is the violated constraint, if it is of these tables. Others' constraints and triggers
// do not count, nor does the key of a table into which sessions do not insert.
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

// knownPrefix begins CHECK constraints in place of NOT NULL; see cockroachdb.
const knownPrefix = "known_"

func isDerived(t *store.Table, column string) bool {
	return slices.ContainsFunc(t.Columns, func(c store.Column) bool { return c.Derived && c.Name == column })
}
