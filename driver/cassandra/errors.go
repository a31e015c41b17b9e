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

// Error classes beyond those of package store.
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

// isUnknownTable reports whether a node does not know a statement's table. The code is for all
// invalid statements; the texts are Cassandra's from 4.0 on and before.
func isUnknownTable(err error) bool {
	var answer gocql.RequestError
	return errors.As(err, &answer) && answer.Code() == gocql.ErrCodeInvalid &&
		(strings.HasSuffix(answer.Message(), "does not exist") || strings.HasPrefix(answer.Message(), "unconfigured table"))
}

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
		// The rest are failures of the connection, or of gocql's parsing.
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

// outcomeOf is the outcome of writing one row. sent is false if it was certainly not sent.
//
// These answers prove that there is no effect (native_protocol_v5.spec, section 9):
//   - Unavailable: too few replicas were alive. The coordinator counts them before it sends the
//     write to any of them, itself included (StorageProxy.mutate: ReplicaPlans.forWrite checks the
//     plan used for the write), and it leaves no hint. This holds for one row; others of a batch
//     may be written.
//   - Syntax_error, Unauthorized, Invalid, Config_error, Unprepared: the statement was not run.
//
// After Write_timeout and Write_failure some replicas have the row, and the others may get it by a
// hint. Overloaded proves nothing: the queue of hints may be full while the write is being handed
// out.
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

// written is the reply to writing one row, with an error or nil. sent is as in outcomeOf.
func written(err error, sent bool) store.Reply {
	r := store.Reply{Outcome: outcomeOf(err, sent), Class: classOf(err), Err: err}
	r.Broken = broken(r.Class)
	return r
}

// unread is the reply to a read without an answer, which has no effect and so failed.
func unread(err error) store.Reply {
	class := classOf(err)
	return store.Reply{Outcome: history.Failed, Class: class, Err: err, Broken: broken(class)}
}

// broken reports whether a client would say that it has lost its server.
func broken(class string) bool { return class == store.ClassLost || class == store.ClassConnect }

func failed(doing string, err error) error { return fmt.Errorf("cassandra: %s: %w", doing, err) }
