package mysql

import (
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
	"assay/store"
)

// Error numbers by their names in the manuals ("Server Error Message Reference", "MariaDB Error
// Codes").
const (
	codeRecordChanged         = 1020 // ER_CHECKREAD, MariaDB with innodb_snapshot_isolation
	codeTooManyConnections    = 1040
	codeDatabaseDenied        = 1044
	codeAccessDenied          = 1045
	codeUnknownCommand        = 1047 // ER_UNKNOWN_COM_ERROR; Galera: not prepared for application use
	codeBadNull               = 1048
	codeUnknownDatabase       = 1049
	codeServerShutdown        = 1053
	codeUnknownColumn         = 1054
	codeDuplicateEntry        = 1062
	codeParseError            = 1064
	codeNoSuchThread          = 1094 // of KILL: the session is gone
	codeKillDenied            = 1095 // of KILL: it is another user's
	codeUnknownError          = 1105
	codeHostBlocked           = 1129
	codeHostDenied            = 1130
	codeTableDenied           = 1142
	codeNoSuchTable           = 1146
	codeErrorDuringCommit     = 1180
	codeUnknownVariable       = 1193
	codeUserConnections       = 1203
	codeLockWaitTimeout       = 1205
	codeDeadlock              = 1213
	codeRowIsReferenced       = 1451 // ER_ROW_IS_REFERENCED_2; MariaDB, of DROP TABLE too
	codeTableIsReferenced     = 3730 // ER_FK_CANNOT_DROP_PARENT
	codeUserLimit             = 1226
	codePrivilege             = 1227
	codeWrongVariableType     = 1232
	codeWrongVariableValue    = 1231
	codeGlobalVariable        = 1229
	codeReadOnlyVariable      = 1238
	codeOptionPrevents        = 1290 // the server is read only, or another option is in the way
	codeQueryInterrupted      = 1317
	codeAccessDeniedNoReason  = 1698
	codeReadOnlyTransaction   = 1792
	codeMustSetPassword       = 1820
	codeReadOnlyMode          = 1836
	codePasswordExpired       = 1862
	codeConnectionKilled      = 1927 // MariaDB
	codeStatementTimeout      = 1969 // MariaDB, max_statement_time
	codeQueryTimeout          = 3024 // MySQL, max_execution_time
	codeOfflineMode           = 3032 // ER_SERVER_OFFLINE_MODE: a member that left its group
	codeSecureTransport       = 3159 // ER_SECURE_TRANSPORT_REQUIRED
	codeRolledBackAtCommit    = 3101 // MySQL's group replication
	codeCheckViolatedMySQL    = 3819
	codeNoReferenced          = 1216
	codeNoReferencedRow       = 1452
	codeConstraintFailed      = 4025 // MariaDB
	codeClientInteractionTime = 4031 // MySQL: the session was idle for too long
	codeOfClients             = 2000 // and those that follow: errors of clients and proxies
	lastOfClients             = 2999
	codeNotPrepared           = 1 // stands for codeUnknownCommand of a Galera node without a quorum
	codeOtherOption           = 2 // stands for codeOptionPrevents of an option that is not read_only
)

// TiDB's own error numbers ("TiDB Docs", v8.5, "Error Codes and Troubleshooting").
const (
	codeNoRetry        = 8002 // SELECT FOR UPDATE that cannot be tried again
	codeNoSuchLevel    = 8048 // of SET TRANSACTION ISOLATION LEVEL
	codeTxnRetryable   = 8022 // "The transaction commit fails and has been rolled back"
	codeSchemaExpired  = 8027
	codeSchemaChanged  = 8028 // a table of the transaction was changed meanwhile
	codeWriteConflict  = 9007
	codeOfStorage      = 9001 // and those that follow: PD and TiKV are silent, busy or away
	lastOfStorage      = 9005
	codeStaleCommand   = 9010
	codeNoTimestamp    = 9011
	codeLocksMayExpire = 8229 // the transaction is too long
)

// Classes beyond those of package store.
const (
	// classNotPrepared: a Galera node has no quorum.
	classNotPrepared = "node not prepared"
	// classDuringCommit: the server failed during COMMIT. A Galera node that loses its quorum
	// says so, and the others may have the commit.
	classDuringCommit = "error during commit"
	classStorage      = "storage does not answer"
)

// errorTable is the meaning of the server's errors.
//
// A failure before COMMIT is sent has no effect, as a lost connection rolls its transactions back
// (MySQL, "C API Developer Guide", "Automatic Reconnection Control"): Failed.
//
// A transfer's statements may be one text. After an error the server executes no further statement
// of it (same guide, mysql_next_result()), so not the COMMIT either. A deadlock (1213) rolls back
// the transaction, other errors such as a lock wait timeout (1205) or a duplicate key only the
// statement (MySQL manual, "InnoDB Error Handling"). The rest is rolled back by our ROLLBACK or by
// the end of the connection: Failed.
//
// Few errors that answer COMMIT are proof. 1213 is a failed certification in Galera (documentation,
// "Certification-Based Replication"), 3101 the same in MySQL's group replication. TiDB refuses a
// commit for a conflict (9007, 8022, 8002), a changed table (8027, 8028) or an existing key (1062);
// if it does not know, it closes the connection without an answer (clientConn.Run,
// ErrResultUndetermined). Other numbers prove nothing, such as 1180 (error during COMMIT) and 1317
// (interrupted).
//
// A single statement works and commits. Besides COMMIT's two, these errors are proof. The manual
// says that the statement is rolled back: 1062, 1205 and a constraint's 4025, 3819, 1216 and 1452
// ("InnoDB Error Handling"). Or the statement was refused before it began: 1047 by a Galera node
// without a quorum; 1290, 1792 and 1836 by a server that takes no writes; 1044, 1142 and 1146 for a
// missing or forbidden table; 1054 and 1064 for an unknown column or wrong syntax.
//
// Never a proof: 1053 and 1927 (shutdown, killed); 3032 (a member expelled from a group ends its
// sessions; group_replication_exit_state_action); 2000 to 2999, which a proxy also sends after it
// lost a server that had the whole text; 1105, which means anything; the client's own errors after
// it has sent something. What was certainly not sent (driver.ErrBadConn, by the contract of
// database/sql/driver) is Failed.
func errorTable() *sqldb.ErrorTable[uint16] {
	return &sqldb.ErrorTable[uint16]{
		Code:     answerCode,
		Doubtful: func(error) bool { return false },
		Unsent:   func(err error) bool { return errors.Is(err, driver.ErrBadConn) },
		TimedOut: func(error) bool { return false },
		Rows: []sqldb.ErrorRow[uint16]{
			{Codes: []uint16{codeDeadlock}, Class: store.ClassDeadlock, Proves: sqldb.ProvesCommit, Kind: sqldb.Clash},
			{Codes: []uint16{codeRolledBackAtCommit}, Class: store.ClassSerialization, Proves: sqldb.ProvesCommit},
			{Codes: []uint16{codeRecordChanged}, Class: store.ClassSerialization},
			{Codes: []uint16{codeLockWaitTimeout}, Class: store.ClassLockTimeout, Proves: sqldb.ProvesAlone, Kind: sqldb.Clash},
			{Codes: []uint16{codeWriteConflict, codeTxnRetryable, codeNoRetry}, Class: store.ClassSerialization, Proves: sqldb.ProvesCommit, Kind: sqldb.Clash},
			{Codes: []uint16{codeSchemaChanged, codeSchemaExpired}, Proves: sqldb.ProvesCommit, Kind: sqldb.Clash},
			{Codes: []uint16{codeOfStorage}, Last: lastOfStorage, Class: classStorage},
			{Codes: []uint16{codeStaleCommand, codeNoTimestamp}, Class: classStorage},
			{Codes: []uint16{codeLocksMayExpire}, Class: store.ClassTimeout},
			// TiDB's optimistic transactions look for duplicates at commit.
			{Codes: []uint16{codeDuplicateEntry}, Class: store.ClassConstraint, Proves: sqldb.ProvesCommit, Violation: store.Unique, Kind: sqldb.Clash},
			{Codes: []uint16{codeConstraintFailed, codeCheckViolatedMySQL}, Class: store.ClassConstraint, Proves: sqldb.ProvesAlone, Violation: store.Floor},
			{Codes: []uint16{codeBadNull}, Class: store.ClassConstraint, Violation: store.Absent},
			{Codes: []uint16{codeNotPrepared}, Class: classNotPrepared, Proves: sqldb.ProvesAlone, Lasting: true},
			{Codes: []uint16{codeUnknownCommand}, Class: classNotPrepared, Lasting: true},
			{Codes: []uint16{codeOptionPrevents, codeReadOnlyMode}, Class: store.ClassReadOnly, Proves: sqldb.ProvesAlone, Kind: sqldb.NoWrites, Lasting: true},
			{Codes: []uint16{codeReadOnlyTransaction}, Class: store.ClassReadOnly, Proves: sqldb.ProvesAlone, Kind: sqldb.NoWrites},
			{Codes: []uint16{codeUnknownColumn, codeOtherOption}, Proves: sqldb.ProvesAlone},
			{Codes: []uint16{codeParseError}, Proves: sqldb.ProvesCommit}, // the text was not understood, and so no COMMIT
			{Codes: []uint16{codeNoSuchTable}, Proves: sqldb.ProvesAlone, Kind: sqldb.NotThere},
			{Codes: []uint16{codeNoReferenced, codeNoReferencedRow}, Class: store.ClassConstraint, Proves: sqldb.ProvesAlone},
			{Codes: []uint16{codeRowIsReferenced, codeTableIsReferenced}, Class: store.ClassConstraint, Kind: sqldb.InUse},
			{Codes: []uint16{codeUnknownDatabase, codeNoSuchThread}, Kind: sqldb.NotThere},
			{Codes: []uint16{codeDatabaseDenied, codeTableDenied}, Proves: sqldb.ProvesAlone, Kind: sqldb.NotAllowed},
			{Codes: []uint16{codeKillDenied}, Kind: sqldb.NotAllowed},
			{Codes: []uint16{codeQueryInterrupted, codeStatementTimeout, codeQueryTimeout}, Class: store.ClassTimeout, Kind: sqldb.TimedOut},
			{Codes: []uint16{codeClientInteractionTime}, Class: store.ClassTimeout, Proves: sqldb.ProvesNothing},
			{Codes: []uint16{codeServerShutdown}, Class: store.ClassShutdown, Proves: sqldb.ProvesNothing, Lasting: true},
			{Codes: []uint16{codeOfflineMode}, Class: store.ClassShutdown, Proves: sqldb.ProvesNothing, Lasting: true},
			{Codes: []uint16{codeConnectionKilled}, Class: store.ClassShutdown, Proves: sqldb.ProvesNothing},
			{Codes: []uint16{codeErrorDuringCommit}, Class: classDuringCommit, Proves: sqldb.ProvesNothing},
			{Codes: []uint16{codeUnknownError}, Proves: sqldb.ProvesNothing},
			{Codes: []uint16{codeOfClients}, Last: lastOfClients, Class: store.ClassLost, Proves: sqldb.ProvesNothing},
		},
	}
}

// answerCode is the number of a server's error, or codeNotPrepared if a Galera node without a
// quorum refused a statement (Galera documentation, "Quorum Components"), whose own number means any
// unknown command, or codeOtherOption. The servers' messages name the option in all languages.
func answerCode(err error) (uint16, bool) {
	var answer *library.MySQLError
	if !errors.As(err, &answer) {
		return 0, false
	}
	switch {
	case answer.Number == codeUnknownCommand && strings.Contains(answer.Message, "WSREP"):
		return codeNotPrepared, true
	case answer.Number == codeOptionPrevents && !strings.Contains(strings.ReplaceAll(answer.Message, "_", "-"), "read-only"):
		return codeOtherOption, true
	}
	return answer.Number, true
}

func hasCode(err error, codes ...uint16) bool {
	if err == nil {
		return false // and nothing is allocated
	}
	var answer *library.MySQLError
	return errors.As(err, &answer) && slices.Contains(codes, answer.Number)
}

// hintPrivilege names all workloads' databases by a pattern. GRANT reads an unescaped underscore as
// any character.
func hintPrivilege() string {
	return "the user needs all privileges on the databases whose names begin with " + schemaPrefix +
		" (GRANT ALL ON `" + strings.ReplaceAll(schemaPrefix, "_", `\_`) + "%`.* TO ...)"
}

// Kind implements sqldb.Server. A Galera node reports a lost conflict between nodes as a deadlock.
func (p *schema) Kind(err error) sqldb.ErrorKind { return errorTable().Kind(err) }
