package mongodb

import (
	"assay/history"
	"assay/store"
)

// labelNoWrites is the server's word for an answer before anything was written
// (retryable writes specification, "NoWritesPerformed").
const labelNoWrites = "NoWritesPerformed"

// judgeInsert says how an insert ended with err, which may be nil. sent is how
// often the library has begun to send it.
//
//	never sent                                  Failed
//	acknowledged, write concern met             Committed
//	a document of the key is there              Failed, Duplicate, Confirmed
//	the same, and the write concern not met:    Failed: that document may be
//	                                            rolled back
//	the validator refuses it                    Failed
//	refused by who is not the primary, for      Failed
//	want of rights, by a router that finds no
//	primary, or labelled NoWritesPerformed,
//	without a word of the write concern
//	anything else                               Unknown
//
// A server that finds the key there waits all the same for the write concern, up to all that
// it had written by then (the server's src/mongo/db/ops/write_ops_exec.cpp, LastOpFixer): its
// answer is worth an acknowledgement.
//
// A server that is not the primary refuses an insert before it writes (the
// server's src/mongo/db/ops/write_ops_exec.cpp, assertCanWrite_inlock). One that
// steps down while it works says PrimarySteppedDown or
// InterruptedDueToReplStateChange instead, also after it has written, and those
// prove nothing.
//
// A router sends one document to one shard, and without retryable writes sends
// it again only after that shard has refused it as wrongly routed (the server's
// src/mongo/s/write_ops/batch_write_exec.cpp, RetryPolicy::kNoRetry). So the
// shard's refusal is a refusal here too, and so is the router's own word that it
// has found no primary to send to. That the network between them failed, or was
// too slow, proves nothing.
func judgeInsert(err error, sent int) store.Reply {
	if err == nil {
		return store.Reply{Outcome: history.Committed}
	}
	r := unacknowledged("insert", err, sent)
	code, answered := serverCode(err)
	switch {
	case sent != 1 || !answered:
	case code == codeDuplicateKey:
		r.Outcome, r.Duplicate = history.Failed, !hasWriteConcernError(err)
		if r.Confirmed = r.Duplicate; !r.Duplicate {
			r.Class = classUnconfirmed
		}
	case code == codeNotValidated:
		r.Outcome = history.Failed
	case hasWriteConcernError(err):
	case refusesUnwritten(code) || code == codeNoPrimaryFound || hasLabel(err, labelNoWrites):
		r.Outcome = history.Failed
	}
	return r
}

// refusesUnwritten reports whether a server says so only before it writes.
func refusesUnwritten(code int) bool {
	switch code {
	case 10107, // NotWritablePrimary
		10058, // its predecessor
		13435, // NotPrimaryNoSecondaryOk
		codeUnauthorized:
		return true
	}
	return false
}

// judgeUpdate says how an updateMany ended that was not acknowledged. sent is
// how often the library has begun to send it. Only what proves that no document
// was changed is Failed: never sent, or refused by a server that is not the
// primary before it has changed any; one that steps down in between says
// PrimarySteppedDown or InterruptedDueToReplStateChange instead (the server's
// src/mongo/db/exec/update_stage.cpp, after a yield). Of several shards one may
// refuse what others have done.
//
// one is whether no more than one document has the key, so that the validator's refusal of it is
// a refusal of all.
func judgeUpdate(err error, sent int, sharded, one bool) store.Reply {
	r := unacknowledged("update", err, sent)
	code, answered := serverCode(err)
	if sent == 1 && answered && !sharded && !hasWriteConcernError(err) && (refusesUnwritten(code) || hasLabel(err, labelNoWrites)) ||
		sent == 1 && one && code == codeNotValidated {
		r.Outcome = history.Failed
	}
	return r
}
