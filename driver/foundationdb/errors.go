package foundationdb

import (
	"cmp"

	"assay/driver/ordered"
	"assay/history"
	"assay/store"
)

// Error classes beyond those of package store.
const (
	classTooOld    = "transaction too old"
	classBehind    = "storage behind"
	classUnknown   = "commit unknown result"
	classVersion   = "cluster version changed"
	classThrottled = "throttled"
	classLocked    = "database locked"
)

// Codes that this driver asks for.
const (
	codeTooOld             = 1007
	codeCommitUnknown      = 1021
	codeCancelled          = 1025
	codeTransactionTimeout = 1031
	codeNotCommitted       = 1020
	codeLocked             = 1038
	codeVersionChanged     = 1039
)

// meaning is an error's class. passing proves that nothing was committed and that a retry may
// succeed: FDB_ERROR_PREDICATE_RETRYABLE_NOT_COMMITTED (fdb_c_options.g.h; bindings/c/fdb_c.cpp of
// 7.3 lists the codes). Codes of later releases are not among them, and so leave the outcome
// unknown.
type meaning struct {
	class   string
	passing bool
}

// meanings are by code (manual, "Error Codes"; flow/error_definitions.h of 7.3).
var meanings = map[int]meaning{
	1004:                   {store.ClassTimeout, false}, // timed_out
	codeTooOld:             {classTooOld, true},
	1009:                   {classBehind, true}, // future_version
	codeNotCommitted:       {store.ClassSerialization, true},
	codeCommitUnknown:      {classUnknown, false},
	codeCancelled:          {store.ClassTimeout, false}, // when its context ends, and never else
	codeTransactionTimeout: {store.ClassTimeout, false},
	1037:                   {classBehind, true}, // process_behind
	codeLocked:             {classLocked, true},
	codeVersionChanged:     {classVersion, false},
	1042:                   {classThrottled, true},         // commit_proxy_memory_limit_exceeded
	1051:                   {classThrottled, true},         // batch_transaction_throttled
	1078:                   {classThrottled, true},         // grv_proxy_memory_limit_exceeded
	1213:                   {classThrottled, true},         // tag_throttled
	1223:                   {classThrottled, true},         // proxy_tag_throttled
	1515:                   {store.ClassConnect, false},    // no_cluster_file_found
	2101:                   {ordered.ClassTooLarge, false}, // transaction_too_large
	2102:                   {ordered.ClassTooLarge, false}, // key_too_large
	2103:                   {ordered.ClassTooLarge, false}, // value_too_large
}

func classOf(code int) string { return cmp.Or(meanings[code].class, store.ClassOther) }

func passing(code int) bool { return meanings[code].passing }

// judge is the outcome of a transaction that met an error.
//
// Before the commit nothing takes effect, since writes are kept locally (manual, "Developer Guide",
// "How FoundationDB Detects Conflicts"). An error of the commit proves no effect if the client
// library says so (passing), among them not_committed, transaction_too_old and future_version
// ("Errors where we know the State of the Transaction"). The client's refusal of a too large
// transaction (2101 to 2103) proves it too. All others are unknown: commit_unknown_result;
// cluster_version_changed, which the library calls maybe committed; and time limits and
// cancellation, after which a sent commit may still happen ("Non-Retryable Errors").
func judge(code int, committing bool) (history.Outcome, string) {
	class := classOf(code)
	switch {
	case !committing, passing(code), class == ordered.ClassTooLarge:
		return history.Failed, class
	default:
		return history.Unknown, class
	}
}

// repeatable reports whether idempotent preparing and settling may be repeated after this error:
// nothing was committed, or the outcome is unknown but nothing is in flight any more.
func repeatable(code int) bool {
	return passing(code) && code != codeLocked || code == codeCommitUnknown || code == codeVersionChanged
}

// goesOn reports whether another transaction continues a reading after this error: it passes, or
// the transaction's time ended after rows had come, so that the servers are there.
func goesOn(code int, moved bool) bool {
	return passing(code) || code == codeTransactionTimeout && moved
}
