package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/history"
	"assay/store"
)

// answer is a server's error with this code.
type answer int

func (a answer) Code() int       { return int(a) }
func (a answer) Message() string { return "tested" }
func (a answer) Error() string   { return a.Message() }

// TestOutcomes covers all codes of native_protocol_v5.spec, section 9.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		err     error
		outcome history.Outcome
		class   string
	}{
		{nil, history.Committed, ""},
		{answer(gocql.ErrCodeServer), history.Unknown, store.ClassOther},
		{answer(gocql.ErrCodeProtocol), history.Unknown, store.ClassOther},
		{answer(gocql.ErrCodeCredentials), history.Unknown, classUnauthorized},
		{answer(gocql.ErrCodeUnavailable), history.Failed, classUnavailable},
		{answer(gocql.ErrCodeOverloaded), history.Unknown, classOverloaded},
		{answer(gocql.ErrCodeBootstrapping), history.Unknown, classBootstrap},
		{answer(gocql.ErrCodeTruncate), history.Unknown, store.ClassOther},
		{answer(gocql.ErrCodeWriteTimeout), history.Unknown, classWriteTimeout},
		{answer(gocql.ErrCodeReadTimeout), history.Unknown, classReadTimeout},
		{answer(gocql.ErrCodeReadFailure), history.Unknown, classFailure},
		{answer(gocql.ErrCodeFunctionFailure), history.Unknown, classFailure},
		{answer(gocql.ErrCodeWriteFailure), history.Unknown, classFailure},
		{answer(gocql.ErrCodeCDCWriteFailure), history.Unknown, classFailure},
		{answer(gocql.ErrCodeCASWriteUnknown), history.Unknown, classWriteTimeout},
		{answer(gocql.ErrCodeSyntax), history.Failed, classRefused},
		{answer(gocql.ErrCodeUnauthorized), history.Failed, classUnauthorized},
		{answer(gocql.ErrCodeInvalid), history.Failed, classRefused},
		{answer(gocql.ErrCodeConfig), history.Failed, classRefused},
		{answer(gocql.ErrCodeUnprepared), history.Failed, classRefused},
		{answer(0x7777), history.Unknown, store.ClassOther},
		{context.DeadlineExceeded, history.Unknown, store.ClassTimeout},
		{gocql.ErrTimeoutNoResponse, history.Unknown, store.ClassTimeout},
		{context.Canceled, history.Unknown, classCancelled},
		{gocql.ErrConnectionClosed, history.Unknown, store.ClassLost},
		{io.EOF, history.Unknown, store.ClassLost},
		{errSilent, history.Unknown, store.ClassLost},
		{errors.New("whatever else"), history.Unknown, store.ClassLost},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			if c.err == nil {
				err = nil
			}
			if outcome, class := outcomeOf(err, true), classOf(err); outcome != c.outcome || class != c.class {
				t.Errorf("%v (%T): %v, %q; want %v, %q", err, c.err, outcome, class, c.outcome, c.class)
			}
		}
		if c.err != nil && outcomeOf(c.err, false) != history.Failed {
			t.Errorf("%v, and nothing was sent: %v", c.err, outcomeOf(c.err, false))
		}
	}
	for err, class := range map[error]string{
		gocql.ErrNoConnections: store.ClassConnect, gocql.ErrNoStreams: classBusy, gocql.ErrSessionClosed: store.ClassConnect,
	} {
		if classOf(err) != class {
			t.Errorf("%v: %q, want %q", err, classOf(err), class)
		}
	}
}
