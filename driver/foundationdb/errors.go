package foundationdb

import (
	"cmp"

	"assay/history"
	"assay/store"
)

// Error classes beside those of package store.
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

// Codes that are asked for by name.
const (
	codeTooOld             = 1007
	codeCommitUnknown      = 1021
	codeCancelled          = 1025
	codeTransactionTimeout = 1031
	codeNotCommitted       = 1020
	codeLocked             = 1038
	codeVersionChanged     = 1039
)

// meaning is the class of an error. passing is true if it will pass and is proof that
// nothing was committed: FDB_ERROR_PREDICATE_RETRYABLE_NOT_COMMITTED, "Returns true if
// the error indicates the transaction has not committed, though in a way that can be
// retried" (fdb_c_options.g.h; bindings/c/fdb_c.cpp of release 7.3 lists the codes). A
// code that a later release adds is not among them, and so leaves the outcome unknown.
type meaning struct {
	class   string
	passing bool
}

// meanings are the meanings of the errors that mean something here, by their codes (manual,
// "Error Codes", and flow/error_definitions.h of release 7.3).
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
	1042:                   {classThrottled, true},      // commit_proxy_memory_limit_exceeded
	1051:                   {classThrottled, true},      // batch_transaction_throttled
	1078:                   {classThrottled, true},      // grv_proxy_memory_limit_exceeded
	1213:                   {classThrottled, true},      // tag_throttled
	1223:                   {classThrottled, true},      // proxy_tag_throttled
	1515:                   {store.ClassConnect, false}, // no_cluster_file_found
	2101:                   {classTooLarge, false},      // transaction_too_large
	2102:                   {classTooLarge, false},      // key_too_large
	2103:                   {classTooLarge, false},      // value_too_large
}

func classOf(code int) string { return cmp.Or(meanings[code].class, store.ClassOther) }

func passing(code int) bool { return meanings[code].passing }

// judge says how a transaction ended that met an error.
//
// Before the commit was asked for, nothing can take effect: "Writes will go into
// a local cache and will be sent to FoundationDB during commit time" (manual,
// "Developer Guide", "How FoundationDB Detects Conflicts"). An error of the
// commit is proof of no effect if the client library says so (passing); of the
// common ones, not_committed, transaction_too_old and future_version, the
// manual says "we're guaranteed that nothing that we attempted to write was
// written to the database" ("Errors where we know the State of the
// Transaction"). So is the client's refusal to send a transaction that is too
// large (2101 to 2103). All others leave the outcome unknown:
// commit_unknown_result by its name; cluster_version_changed, which the client
// library calls maybe committed as well; and what ended by time or was
// cancelled, since "if the commit has already been sent to the database, the
// transaction could get committed at a later point in time" ("Non-Retryable
// Errors").
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

// goesOn says that a reading is followed by another transaction after this
// error: it passes, or the time of a transaction was over in which rows came,
// so that the servers are there.
func goesOn(code int, moved bool) bool {
	return passing(code) || code == codeTransactionTimeout && moved
}
