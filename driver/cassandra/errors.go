package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/history"
	"assay/store"
)

// Error classes that are this driver's own, beside those of package store.
const (
	classCancelled    = "cancelled"
	classUnavailable  = "not enough replicas alive"
	classWriteTimeout = "write timeout"
	classReadTimeout  = "read timeout"
	classFailure      = "replicas failed"
	classOverloaded   = "overloaded"
	classBootstrap    = "bootstrapping"
	classRefused      = "statement refused"
	classUnauthorized = "not authorized"
	classBusy         = "no stream free"
)

// isUnknownTable reports whether a node does not know the table of a statement.
// The code is that of all invalid statements; the texts are those of Cassandra
// from 4.0 on, and before.
func isUnknownTable(err error) bool {
	var answer gocql.RequestError
	return errors.As(err, &answer) && answer.Code() == gocql.ErrCodeInvalid &&
		(strings.HasSuffix(answer.Message(), "does not exist") || strings.HasPrefix(answer.Message(), "unconfigured table"))
}

// classOf gives the class of an error.
func classOf(err error) string {
	var answer gocql.RequestError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &answer):
		return classOfCode(answer.Code())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, gocql.ErrTimeoutNoResponse):
		return store.ClassTimeout
	case errors.Is(err, context.Canceled):
		return classCancelled
	case errors.Is(err, gocql.ErrNoConnections), errors.Is(err, gocql.ErrSessionClosed):
		return store.ClassConnect
	case errors.Is(err, gocql.ErrNoStreams):
		return classBusy
	default:
		// All that is left are failures of the connection, or of gocql's
		// understanding of what came over it.
		return store.ClassLost
	}
}

func classOfCode(code int) string {
	switch code {
	case gocql.ErrCodeUnavailable:
		return classUnavailable
	case gocql.ErrCodeWriteTimeout, gocql.ErrCodeCASWriteUnknown:
		return classWriteTimeout
	case gocql.ErrCodeReadTimeout:
		return classReadTimeout
	case gocql.ErrCodeWriteFailure, gocql.ErrCodeReadFailure, gocql.ErrCodeCDCWriteFailure, gocql.ErrCodeFunctionFailure:
		return classFailure
	case gocql.ErrCodeOverloaded:
		return classOverloaded
	case gocql.ErrCodeBootstrapping:
		return classBootstrap
	case gocql.ErrCodeSyntax, gocql.ErrCodeInvalid, gocql.ErrCodeConfig, gocql.ErrCodeUnprepared:
		return classRefused
	case gocql.ErrCodeUnauthorized, gocql.ErrCodeCredentials:
		return classUnauthorized
	default:
		return store.ClassOther
	}
}

// outcomeOf is what a write of one row has ended as. sent is false if it was
// certainly not sent.
//
// An answer proves that there is no effect if it is one of these
// (native_protocol_v5.spec, section 9):
//   - Unavailable: the coordinator knew of fewer live replicas "when the
//     request had been processed" than the consistency needs. It counts them
//     before it gives the write to any of them, itself included
//     (StorageProxy.mutate: ReplicaPlans.forWrite checks the plan that the
//     write is then sent by), and it leaves no hint. That is so for one row;
//     of a batch others may have been written.
//   - Syntax_error, Unauthorized, Invalid, Config_error, Unprepared: the
//     statement was not run.
//
// All others leave it open: after Write_timeout and Write_failure some replicas
// have it, and the rest may get it by a hint. Overloaded as well, since the
// coordinator can find its queue of hints full while it hands out the write.
func outcomeOf(err error, sent bool) history.Outcome {
	if err == nil {
		return history.Committed
	}
	if !sent {
		return history.Failed
	}
	var answer gocql.RequestError
	if !errors.As(err, &answer) {
		return history.Unknown
	}
	switch answer.Code() {
	case gocql.ErrCodeUnavailable, gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized, gocql.ErrCodeInvalid,
		gocql.ErrCodeConfig, gocql.ErrCodeUnprepared:
		return history.Failed
	}
	return history.Unknown
}

// written is the reply to a write of one row that ended with err, which may be
// nil; sent is false if it was certainly not sent.
func written(err error, sent bool) store.Reply {
	r := store.Reply{Outcome: outcomeOf(err, sent), Class: classOf(err), Err: err}
	r.Broken = broken(r.Class)
	return r
}

// unread is the reply to a read without an answer. It has no effect, so that it
// has failed.
func unread(err error) store.Reply {
	class := classOf(err)
	return store.Reply{Outcome: history.Failed, Class: class, Err: err, Broken: broken(class)}
}

// broken reports whether the client would say that it has lost its server.
func broken(class string) bool { return class == store.ClassLost || class == store.ClassConnect }

// failed wraps an error with what was being done.
func failed(doing string, err error) error { return fmt.Errorf("cassandra: %s: %w", doing, err) }
