package foundationdb

import (
	"assay/history"
	"assay/workload/bank"
)

// Error classes beside those of workload/bank.
const (
	classTooOld    = "transaction too old"
	classBehind    = "storage behind"
	classUnknown   = "commit unknown result"
	classVersion   = "cluster version changed"
	classThrottled = "throttled"
	classLocked    = "database locked"
	classTooLarge  = "too large"
	classTooLong   = "list too long"
)

// The errors that mean something here (manual, "Error Codes", and
// flow/error_definitions.h of release 7.3).
const (
	codeTimedOut           = 1004
	codeTooOld             = 1007
	codeFutureVersion      = 1009
	codeNotCommitted       = 1020
	codeCommitUnknown      = 1021
	codeCancelled          = 1025
	codeTransactionTimeout = 1031
	codeProcessBehind      = 1037
	codeLocked             = 1038
	codeVersionChanged     = 1039
	codeCommitMemory       = 1042
	codeBatchThrottled     = 1051
	codeReadVersionMemory  = 1078
	codeTagThrottled       = 1213
	codeProxyTagThrottled  = 1223
	codeNoClusterFile      = 1515
	codeTransactionTooBig  = 2101
	codeKeyTooBig          = 2102
	codeValueTooBig        = 2103
)

func classOf(code int) string {
	switch code {
	case codeNotCommitted:
		return bank.ClassSerialization
	case codeTooOld:
		return classTooOld
	case codeFutureVersion, codeProcessBehind:
		return classBehind
	case codeCommitUnknown:
		return classUnknown
	case codeTimedOut, codeCancelled, codeTransactionTimeout:
		// A transaction is cancelled when its context ends, and never else.
		return bank.ClassTimeout
	case codeLocked:
		return classLocked
	case codeVersionChanged:
		return classVersion
	case codeCommitMemory, codeBatchThrottled, codeReadVersionMemory, codeTagThrottled, codeProxyTagThrottled:
		return classThrottled
	case codeNoClusterFile:
		return bank.ClassConnect
	case codeTransactionTooBig, codeKeyTooBig, codeValueTooBig:
		return classTooLarge
	default:
		return bank.ClassOther
	}
}

// passing says that an error "indicates that the operations in the transaction
// should be retried because of transient error" and that it is certain that
// nothing was committed: FDB_ERROR_PREDICATE_RETRYABLE_NOT_COMMITTED of
// fdb_error_predicate (manual, "C API"; bindings/c/fdb_c.cpp of release 7.3
// lists the codes). A code that a later release adds is not among them, and so
// leaves the outcome unknown.
func passing(code int) bool {
	switch code {
	case codeNotCommitted, codeTooOld, codeFutureVersion, codeProcessBehind, codeLocked, codeCommitMemory,
		codeBatchThrottled, codeReadVersionMemory, codeTagThrottled, codeProxyTagThrottled:
		return true
	default:
		return false
	}
}

// judge says how a transaction ended that met an error.
//
// Before the commit was asked for, nothing can take effect: writes are kept in
// the client until then. An error of the commit is proof of no effect if the
// manual says so (passing; not_committed, 1020, is "Transaction not committed
// due to conflict with another transaction"), or if the client refuses to send
// the transaction because it is too large (2101 to 2103). All others leave the
// outcome unknown: commit_unknown_result by its name; cluster_version_changed,
// which fdb_error_predicate calls maybe committed as well; and what ended by
// time or was cancelled: "even if the call to commit() appears to return a
// transaction_cancelled error, the commit may have occurred or may occur in the
// future" (manual, "API reference", "cancel").
func judge(code int, committing bool) (history.Outcome, string) {
	class := classOf(code)
	switch {
	case !committing, passing(code), class == classTooLarge:
		return history.Failed, class
	default:
		return history.Unknown, class
	}
}

// repeatable says that preparing and settling, which do the same however often
// they are done, may be tried again after this error: nothing was committed, or
// nobody knows and nothing of it is in flight any more.
func repeatable(code int) bool {
	return passing(code) && code != codeLocked || code == codeCommitUnknown || code == codeVersionChanged
}
