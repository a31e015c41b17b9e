package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"assay/driver/ordered"
	"assay/history"
	"assay/store"
)

// Error classes beyond those of package store.
const (
	classNoLeader    = "no leader"
	classLeader      = "leader changed"
	classTooMany     = "too many requests"
	classNoSpace     = "no space"
	classCompacted   = "revision compacted"
	classFuture      = "future revision"
	classAuth        = "not authorized"
	classCorrupt     = "corrupt cluster"
	classMalformed   = "malformed request"
	classNotCapable  = "not capable"
	classUnavailable = "member unavailable"
)

var (
	// errConflict: something read has changed before the commit.
	errConflict = errors.New("what was read has changed since")
	// errFenced: Settle or Create has written the mark since the session was opened.
	errFenced = errors.New("the schema was settled or made anew since the session was opened")
)

// meaning is an error's meaning. nothing: it proves that the request had no effect. passes: a retry
// may succeed.
type meaning struct {
	class           string
	nothing, passes bool
}

// meanings are the meanings of etcd's error texts (api/v3rpc/rpctypes/error.go), by the source of
// release 3.4. A writing request is checked (v3rpc/key.go, checkTxnRequest), counted, authorized,
// measured, and only then proposed to the raft log (etcdserver/v3_server.go,
// processInternalRaftRequestOnce). A proposal may still be committed after its time limit. Errors
// of later releases are not here, and so leave the outcome unknown.
//
// ErrNoSpace proves nothing. It comes before a proposal (v3rpc/quota.go) and from a member that
// knows of the alarm (etcdserver/apply.go, applierV3Capped). But quotaApplierV3.Txn also returns it
// after it has applied the request that raises the alarm (manual, "Maintenance", "Space quota").
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
	// Before the request is looked at, if the client asks for a leader (v3rpc/interceptor.go);
	// ours do not.
	case is(rpctypes.ErrGRPCNoLeader):
		return &meaning{classNoLeader, true, true}
	// Not proposed: more than 5,000 committed entries are not applied yet.
	case is(rpctypes.ErrGRPCRequestTooManyRequests):
		return &meaning{classTooMany, true, true}
	case is(rpctypes.ErrGRPCRequestTooLarge, rpctypes.ErrGRPCTooManyOps):
		return &meaning{ordered.ClassTooLarge, true, false}
	case is(rpctypes.ErrGRPCEmptyKey, rpctypes.ErrGRPCDuplicateKey, rpctypes.ErrGRPCKeyNotFound, rpctypes.ErrGRPCValueProvided,
		rpctypes.ErrGRPCLeaseProvided, rpctypes.ErrGRPCInvalidSortOption):
		return &meaning{classMalformed, true, false}
	// Checked before any part of a transaction is applied, alike on each member
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
	// Only for reads, which wait for the leader (linearizableReadLoop).
	case is(rpctypes.ErrGRPCLeaderChanged):
		return &meaning{classLeader, false, true}
	case is(rpctypes.ErrGRPCTimeout, rpctypes.ErrGRPCTimeoutDueToLeaderFail, rpctypes.ErrGRPCTimeoutDueToConnectionLost,
		rpctypes.ErrGRPCTimeoutWaitAppliedIndex, rpctypes.ErrGRPCDeadlineExceeded, rpctypes.ErrGRPCCanceled):
		return &meaning{store.ClassTimeout, false, true}
	// Also from raft itself, which may have taken the proposal (raft.ErrStopped).
	case is(rpctypes.ErrGRPCStopped), text == "raft: stopped":
		return &meaning{store.ClassShutdown, false, true}
	case is(rpctypes.ErrGRPCUnhealthy, rpctypes.ErrGRPCNotLeader):
		return &meaning{classUnavailable, false, true}
	case is(rpctypes.ErrGRPCNoSpace):
		return &meaning{classNoSpace, false, false}
	case is(rpctypes.ErrGRPCCorrupt):
		return &meaning{classCorrupt, false, false}
	// raft ignored the proposal (raft.ErrProposalDropped).
	case text == "raft proposal dropped":
		return &meaning{classNoLeader, true, true}
	}
	return nil
}

func meaningOf(err error) *meaning {
	if s := statusOf(err); s != nil {
		return meanings(s.Message())
	}
	return nil
}

func statusOf(err error) *status.Status {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus()
	}
	return nil
}

// outOfTime reports whether a time limit ended or the caller gave up. The member learns of both by
// gRPC and may say so first, in the words of Go's contexts.
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

// judge decides the outcome of a writing request.
//
// A request that was not sent has no effect. Errors without a meaning prove nothing: an expired
// time limit (codes.DeadlineExceeded, codes.Canceled), a lost connection (codes.Unavailable) and
// others.
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

// passes reports whether idempotent preparing and settling may be repeated after this error.
func passes(err error) bool {
	m, code := meaningOf(err), status.Code(err)
	return errors.Is(err, errConflict) || m != nil && m.passes ||
		m == nil && (code == codes.Unavailable || outOfTime(err))
}

func refusesUser(err error) bool {
	m := meaningOf(err)
	return m != nil && m.class == classAuth && !m.passes
}

// expired reports whether the user must log in again.
func expired(err error) bool {
	m := meaningOf(err)
	return m != nil && m.class == classAuth && m.passes
}

// broken reports whether a session must be replaced: its member may not answer any more, or the
// user must log in again.
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
