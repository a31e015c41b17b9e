package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"assay/history"
	"assay/store"
)

// Error classes that are this driver's own, beside those of package store.
const (
	classCancelled    = "cancelled"
	classAborted      = "transaction aborted by the server"
	classTooLong      = "transaction over its lifetime limit"
	classSnapshot     = "snapshot unavailable"
	classWriteConcern = "write concern not met"
	classResent       = "commit resent"
	classInterrupted  = "interrupted"
	classUnauthorized = "not authorized"
	classUnconfirmed  = "duplicate not confirmed"
	classRouting      = "routing out of date"
)

// The labels that the transactions specification speaks of
// (https://github.com/mongodb/specifications/blob/master/source/transactions/transactions.md,
// "Error Labels").
const (
	labelTransient = "TransientTransactionError"
	labelUnknown   = "UnknownTransactionCommitResult"
)

// Codes that are asked for by name. They are those of the server's
// src/mongo/base/error_codes.yml.
const (
	codeUnauthorized         = 13
	codeAuthenticationFailed = 18
	codeMaxTimeMSExpired     = 50
	codeExceededTimeLimit    = 262
	codeSnapshotTooOld       = 239
	codeSnapshotUnavailable  = 246
	codeNoSuchTransaction    = 251
	codeDuplicateKey         = 11000
	// DocumentValidationFailure: a collection's validator looks before the document is written
	// (manual 8.0, "Schema Validation").
	codeNotValidated = 121
	// FailedToSatisfyReadPreference: a router finds no primary of a shard.
	codeNoPrimaryFound = 133
)

// classOfCode gives the class of a server's error. Codes that are not here are
// store.ClassOther.
func classOfCode(code int) string {
	switch code {
	case 112, // WriteConflict
		267: // PreparedTransactionInProgress
		return store.ClassSerialization
	case 13388, // StaleConfig
		150, // StaleEpoch
		249, // StaleDbVersion
		70,  // ShardNotFound
		343, // ShardCannotRefreshDueToLocksHeld
		82:  // NoProgressMade: a router found its view of the cluster out of date again and again
		return classRouting
	case 24: // LockTimeout
		return store.ClassLockTimeout
	case codeNoSuchTransaction,
		282, // TransactionCoordinatorReachedAbortDecision
		225: // TransactionTooOld: a later one has begun in the session
		return classAborted
	case 290: // TransactionExceededLifetimeLimitSeconds
		return classTooLong
	case codeSnapshotTooOld, codeSnapshotUnavailable,
		250, // StaleChunkHistory
		272: // MigrationConflict
		return classSnapshot
	case codeMaxTimeMSExpired, codeExceededTimeLimit,
		89,  // NetworkTimeout, between the servers
		202, // NetworkInterfaceExceededTimeLimit, between the servers
		407: // PooledConnectionAcquisitionExceededTimeLimit, of a router
		return store.ClassTimeout
	case 189, // PrimarySteppedDown
		10107, // NotWritablePrimary
		10058, // its predecessor
		11602, // InterruptedDueToReplStateChange
		13435, // NotPrimaryNoSecondaryOk
		13436, // NotPrimaryOrSecondary
		281,   // TransactionCoordinatorSteppingDown
		149,   // NoConfigPrimary
		codeNoPrimaryFound:
		return store.ClassNotPrimary
	case 91, // ShutdownInProgress
		11600: // InterruptedAtShutdown
		return store.ClassShutdown
	case 6, // HostUnreachable, between the servers
		7,    // HostNotFound
		9001: // SocketException
		return store.ClassLost
	case 64, // WriteConcernFailed
		79,  // UnknownReplWriteConcern
		100: // UnsatisfiableWriteConcern
		return classWriteConcern
	case 11601: // Interrupted: somebody killed the operation or its session
		return classInterrupted
	case codeUnauthorized, codeAuthenticationFailed:
		return classUnauthorized
	case codeDuplicateKey:
		return store.ClassDuplicate
	case codeNotValidated:
		return store.ClassConstraint
	default:
		return store.ClassOther
	}
}

// serverCode returns the code that the server answered with, and false if the
// error is not an answer of the server.
func serverCode(err error) (int, bool) {
	if answer, is := errors.AsType[mongo.ServerError](err); is {
		if codes := answer.ErrorCodes(); len(codes) > 0 && codes[0] != 0 {
			return codes[0], true
		}
	}
	return 0, false
}

// hasLabel reports whether the server's own answer carries the label. The
// library puts labels on errors of its own as well; those have no code.
func hasLabel(err error, label string) bool {
	_, answered := serverCode(err)
	labeled := mongo.LabeledError(nil)
	return answered && errors.As(err, &labeled) && labeled.HasErrorLabel(label)
}

// classOf gives the class of any error that came after something was sent.
func classOf(err error) string {
	if code, answered := serverCode(err); answered {
		return classOfCode(code)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return classCancelled
	case mongo.IsTimeout(err):
		return store.ClassTimeout
	case mongo.IsNetworkError(err):
		return store.ClassLost
	default:
		return store.ClassOther
	}
}

// unreached reports whether a command was not sent because no server could be
// found or reached, rather than because time was over.
func unreached(err error) bool {
	return errors.As(err, &topology.ServerSelectionError{}) ||
		!mongo.IsTimeout(err) && !errors.Is(err, context.Canceled)
}

// unacknowledged is the reply to what ended with an error, which the library has begun
// to send so often: Failed if it was never sent, else Unknown.
func unacknowledged(doing string, err error, sent int) store.Reply {
	return judgedBy(failed(doing, err), sent > 0)
}

func judgedBy(err error, sent bool) store.Reply {
	r := store.Reply{Class: classOf(err), Err: err}
	r.Broken = broken(err, r.Class)
	if !sent {
		r.Outcome = history.Failed
		if _, answered := serverCode(err); !answered && unreached(err) {
			r.Class = store.ClassConnect
		}
	}
	return r
}

// withoutEffect is unacknowledged of what has no effect, such as a read.
func withoutEffect(doing string, err error, sent int) store.Reply {
	r := unacknowledged(doing, err, sent)
	r.Outcome = history.Failed
	return r
}

// judgeStatement says how a transfer ended of which a statement before the
// commit has failed. Only commitTransaction makes the effects of a transaction
// take place (MongoDB manual, "Transactions", "Atomicity"), and the library
// sends it only when it is told to; so whatever happened here, there is no
// effect. sent says whether that statement was sent.
func judgeStatement(err error, sent bool) store.Reply {
	r := judgedBy(err, sent)
	r.Outcome = history.Failed
	return r
}

// judgeCommit says how a transfer ended whose commit was tried and ended with
// err, which may be nil. sent is how often the library has begun to send the
// command, majority whether it asked for write concern majority.
//
//	never sent                                   Failed
//	acknowledged, write concern met              Committed
//	acknowledged, write concern not met          Unknown: it may be rolled back
//	the server's answer is an error and carries  Failed, if it was sent once, w
//	TransientTransactionError, neither           is majority: the transaction
//	UnknownTransactionCommitResult nor a         was aborted, and no later
//	writeConcernError                            primary knows better
//	anything else                                Unknown
//
// The server puts TransientTransactionError on its answer to a commit only if
// the transaction was not committed, and with NoSuchTransaction only if the
// write concern was met beside it, because a primary that is about to be
// deposed may not know what its successor knows (transactions specification,
// "Transient Transaction Error", "Retrying transactions that fail with
// TransientTransactionError", and the server's src/mongo/db/error_labels.cpp).
// Without majority that proof is missing. The library would put
// UnknownTransactionCommitResult on whatever leaves the commit open ("Unknown
// Transaction Commit Result" there); with the commands used here it does not
// come to that, and what has no label is taken for open. The answer to a commit
// that was sent twice may be about its repetition.
func judgeCommit(err error, sent int, majority bool) store.Reply {
	if err == nil {
		return store.Reply{Outcome: history.Committed}
	}
	r := judgedBy(err, sent > 0)
	if sent > 1 {
		r.Class = classResent
		return r
	}
	aborted := sent == 1 && hasLabel(err, labelTransient) && !hasLabel(err, labelUnknown) && !hasWriteConcernError(err)
	if aborted && majority {
		r.Outcome = history.Failed
	}
	return r
}

// hasWriteConcernError reports whether the answer says that the write concern
// was not met, be it beside another error.
func hasWriteConcernError(err error) bool {
	var raw bson.Raw
	if command := (mongo.CommandError{}); errors.As(err, &command) {
		raw = command.Raw
	}
	if write := (mongo.WriteException{}); errors.As(err, &write) {
		if write.WriteConcernError != nil {
			return true
		}
		raw = write.Raw
	}
	_, lookup := raw.LookupErr("writeConcernError")
	return lookup == nil
}

// broken reports whether the session must look for a server again: its
// connection is gone, or leads to a server that is not, or soon not, the
// primary.
func broken(err error, class string) bool {
	if _, answered := serverCode(err); !answered {
		return true
	}
	return class == store.ClassNotPrimary || class == store.ClassShutdown || class == store.ClassLost
}
