package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"assay/history"
	"assay/store"
)

// Error classes beside those of package store.
const (
	classNoLeader    = "no leader"
	classLeader      = "leader changed"
	classTooMany     = "too many requests"
	classNoSpace     = "no space"
	classCompacted   = "revision compacted"
	classFuture      = "future revision"
	classTooLarge    = "too large"
	classTooLong     = "list too long"
	classAuth        = "not authorized"
	classCorrupt     = "corrupt cluster"
	classMalformed   = "malformed request"
	classNotCapable  = "not capable"
	classUnavailable = "member unavailable"
)

// Errors of this driver.
var (
	// errConflict: something that was read has changed before the commit.
	errConflict = errors.New("what was read has changed since")
	// errFenced: the mark was written since the session was opened, by Settle or by whoever
	// made the schema anew.
	errFenced = errors.New("the schema was settled or made anew since the session was opened")
)

// meaning is what an error of etcd's means. nothing is true if it is proof that the request
// had no effect, and passes if it will pass.
type meaning struct {
	class           string
	nothing, passes bool
}

// meanings are the meanings of the texts of etcd's errors (api/v3rpc/rpctypes/error.go), by what the
// server of release 3.4 does before it gives them. A request that writes is checked (v3rpc/
// key.go, checkTxnRequest), counted, given its user, measured, and only then proposed to the
// raft log (etcdserver/v3_server.go, processInternalRaftRequestOnce); a proposal that nobody
// has seen committed in time may be committed later. What a later release adds is not here,
// and so leaves the outcome unknown.
//
// That there is no space is said before a request is proposed (v3rpc/quota.go), by a member
// that knows of the alarm (etcdserver/apply.go, applierV3Capped), and, of the request that
// raises the alarm, after it was done: quotaApplierV3.Txn applies and then gives ErrNoSpace.
// The text is the same, so that it proves nothing (manual, "Maintenance", "Space quota").
func meanings(text string) *meaning {
	is := func(errs ...error) bool {
		for _, err := range errs {
			if rpctypes.ErrorDesc(err) == text {
				return true
			}
		}
		return false
	}
	switch {
	// Before the request is looked at, where the client asks for a leader
	// (v3rpc/interceptor.go); ours do not.
	case is(rpctypes.ErrGRPCNoLeader):
		return &meaning{classNoLeader, true, true}
	// The entries that are committed and not applied are more than 5,000: not proposed.
	case is(rpctypes.ErrGRPCRequestTooManyRequests):
		return &meaning{classTooMany, true, true}
	case is(rpctypes.ErrGRPCRequestTooLarge, rpctypes.ErrGRPCTooManyOps):
		return &meaning{classTooLarge, true, false}
	case is(rpctypes.ErrGRPCEmptyKey, rpctypes.ErrGRPCDuplicateKey, rpctypes.ErrGRPCKeyNotFound, rpctypes.ErrGRPCValueProvided,
		rpctypes.ErrGRPCLeaseProvided, rpctypes.ErrGRPCInvalidSortOption):
		return &meaning{classMalformed, true, false}
	// Looked at before any part of a transaction is applied, by each member alike
	// (etcdserver/apply.go, checkRequestRange; apply_auth.go).
	case is(rpctypes.ErrGRPCCompacted):
		return &meaning{classCompacted, true, false}
	case is(rpctypes.ErrGRPCFutureRev):
		return &meaning{classFuture, true, true}
	case is(rpctypes.ErrGRPCPermissionDenied, rpctypes.ErrGRPCUserEmpty, rpctypes.ErrGRPCAuthFailed, rpctypes.ErrGRPCUserNotFound,
		rpctypes.ErrGRPCPermissionNotGiven):
		return &meaning{classAuth, true, false}
	case is(rpctypes.ErrGRPCInvalidAuthToken, rpctypes.ErrGRPCAuthOldRevision):
		return &meaning{classAuth, true, true}
	case is(rpctypes.ErrGRPCNotCapable, rpctypes.ErrGRPCNotSupportedForLearner): // refused by its kind
		return &meaning{classNotCapable, true, false}
	// Of reads, which wait for the leader (linearizableReadLoop).
	case is(rpctypes.ErrGRPCLeaderChanged):
		return &meaning{classLeader, false, true}
	case is(rpctypes.ErrGRPCTimeout, rpctypes.ErrGRPCTimeoutDueToLeaderFail, rpctypes.ErrGRPCTimeoutDueToConnectionLost,
		rpctypes.ErrGRPCTimeoutWaitAppliedIndex, rpctypes.ErrGRPCDeadlineExceeded, rpctypes.ErrGRPCCanceled):
		return &meaning{store.ClassTimeout, false, true}
	// Also of raft itself, which may have taken the proposal (raft.ErrStopped).
	case is(rpctypes.ErrGRPCStopped), text == "raft: stopped":
		return &meaning{store.ClassShutdown, false, true}
	case is(rpctypes.ErrGRPCUnhealthy, rpctypes.ErrGRPCNotLeader):
		return &meaning{classUnavailable, false, true}
	case is(rpctypes.ErrGRPCNoSpace):
		return &meaning{classNoSpace, false, false}
	case is(rpctypes.ErrGRPCCorrupt):
		return &meaning{classCorrupt, false, false}
	// What raft says before it takes a proposal: "returned when the proposal is ignored by
	// some cases, so that the proposer can be notified and fail fast" (raft.ErrProposalDropped).
	case text == "raft proposal dropped":
		return &meaning{classNoLeader, true, true}
	}
	return nil
}

// meaningOf is the meaning of an error of etcd's; nil if it is none that is known.
func meaningOf(err error) *meaning {
	if s := statusOf(err); s != nil {
		return meanings(s.Message())
	}
	return nil
}

// statusOf is what gRPC says of an error, without the words around it; nil if it is none of gRPC's.
func statusOf(err error) *status.Status {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus()
	}
	return nil
}

// outOfTime reports whether a request's time limit ended, or its caller gave it up. The member knows
// of both by gRPC, and may be the first to say so, in the words of Go's contexts.
func outOfTime(err error) bool {
	switch s := statusOf(err); s.Code() {
	case codes.DeadlineExceeded, codes.Canceled:
		return true
	case codes.Unknown:
		if s.Message() == context.DeadlineExceeded.Error() || s.Message() == context.Canceled.Error() {
			return true
		}
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// judge says how a request that writes has ended, of which something was sent or not.
//
// What was not sent has no effect. Without a meaning of etcd's nothing is proven: a time
// limit that ends while a proposal is on its way (codes.DeadlineExceeded, codes.Canceled), a
// connection that ends before the answer (codes.Unavailable), and whatever else.
func judge(err error, sent bool) (history.Outcome, string) {
	code, m := status.Code(err), meaningOf(err)
	outcome := history.Unknown
	if !sent || m != nil && m.nothing {
		outcome = history.Failed
	}
	switch {
	case m != nil:
		return outcome, m.class
	case outOfTime(err):
		return outcome, store.ClassTimeout
	case code == codes.Unavailable && !sent:
		return outcome, store.ClassConnect
	case code == codes.Unavailable:
		return outcome, store.ClassLost
	}
	return outcome, store.ClassOther
}

// passes says that preparing and settling, which do the same however often they are done, may
// be tried again after this error.
func passes(err error) bool {
	m, code := meaningOf(err), status.Code(err)
	return errors.Is(err, errConflict) || m != nil && m.passes ||
		m == nil && (code == codes.Unavailable || outOfTime(err))
}

// refusesUser reports whether the user or what the user may do was refused.
func refusesUser(err error) bool {
	m := meaningOf(err)
	return m != nil && m.class == classAuth && !m.passes
}

// expired reports whether the user is to log in again.
func expired(err error) bool {
	m := meaningOf(err)
	return m != nil && m.class == classAuth && m.passes
}

// broken reports whether a session is to be replaced after this error: nothing says that
// whoever it went to still answers, or the user is to log in again.
func broken(err error) bool {
	if expired(err) || errors.Is(err, errFenced) || outOfTime(err) {
		return true
	}
	switch status.Code(err) {
	case codes.Unauthenticated:
		return true
	case codes.Unavailable:
		return meaningOf(err) == nil // the connection, and not what etcd says over it
	}
	return false
}
