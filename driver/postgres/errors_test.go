package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/sqldb"
	"assay/history"
	"assay/store"
	"assay/workload/bank"
)

type notSent struct{ error }

func (notSent) SafeToRetry() bool { return true }

func answer(severity, code string) error {
	return &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code, Message: "as told"}
}

func TestRule(t *testing.T) {
	const failed, unknown = history.Failed, history.Unknown
	cases := []struct {
		err            error
		work, atCommit history.Outcome
		class          string
	}{
		{answer("ERROR", "40001"), failed, failed, store.ClassSerialization},
		{answer("ERROR", "40P01"), failed, failed, store.ClassDeadlock},
		{answer("ERROR", "23505"), failed, failed, store.ClassConstraint},
		{answer("ERROR", "23503"), failed, failed, store.ClassConstraint},
		{answer("ERROR", "40003"), unknown, unknown, store.ClassOther},
		{answer("ERROR", "40000"), failed, unknown, store.ClassOther},
		{answer("ERROR", "40002"), failed, unknown, store.ClassOther},
		{answer("ERROR", "55P03"), failed, unknown, store.ClassLockTimeout},
		{answer("ERROR", "57014"), failed, unknown, store.ClassTimeout},
		{answer("ERROR", "25006"), failed, unknown, store.ClassReadOnly},
		{answer("ERROR", "53100"), failed, unknown, store.ClassOther},
		{answer("ERROR", "58030"), failed, unknown, store.ClassOther},
		{answer("ERROR", "XX000"), failed, unknown, store.ClassOther},
		{answer("ERROR", "P0001"), failed, unknown, store.ClassOther},
		{answer("ERROR", "08006"), unknown, unknown, store.ClassLost},
		{answer("ERROR", "08P01"), unknown, unknown, store.ClassLost},
		{answer("ERROR", "08007"), unknown, unknown, store.ClassLost},
		{answer("FATAL", "57P01"), unknown, unknown, store.ClassShutdown},
		{answer("FATAL", "57P02"), unknown, unknown, store.ClassShutdown},
		{answer("FATAL", "57P03"), unknown, unknown, store.ClassShutdown},
		{answer("FATAL", "57P05"), unknown, unknown, store.ClassTimeout},
		{answer("FATAL", "25P03"), unknown, unknown, store.ClassTimeout},
		{answer("FATAL", "25P04"), unknown, unknown, store.ClassTimeout},
		{answer("FATAL", "40001"), unknown, unknown, store.ClassSerialization},
		{answer("FATAL", "23505"), unknown, unknown, store.ClassConstraint},
		{answer("PANIC", "53100"), unknown, unknown, store.ClassOther},
		{answer("", "40001"), unknown, unknown, store.ClassSerialization},
		// A French server, and one too old for the unlocalized word.
		{&pgconn.PgError{Severity: "ERREUR", SeverityUnlocalized: "ERROR", Code: "40001"}, failed, failed, store.ClassSerialization},
		{&pgconn.PgError{Severity: "ERROR", Code: "40P01"}, failed, failed, store.ClassDeadlock},
		{fmt.Errorf("wrapped: %w", answer("ERROR", "40P01")), failed, failed, store.ClassDeadlock},

		{notSent{errors.New("nothing went out")}, failed, failed, store.ClassLost},
		{fmt.Errorf("wrapped: %w", notSent{context.DeadlineExceeded}), failed, failed, store.ClassLost},
		{io.ErrUnexpectedEOF, unknown, unknown, store.ClassLost},
		{&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, unknown, unknown, store.ClassLost},
		{context.DeadlineExceeded, unknown, unknown, store.ClassTimeout},
		{fmt.Errorf("wrapped: %w", context.Canceled), unknown, unknown, store.ClassTimeout},
		{errors.New("something that nobody has thought of"), unknown, unknown, store.ClassLost},
	}
	for _, c := range cases {
		for at, want := range map[sqldb.Stage]history.Outcome{sqldb.Working: c.work, sqldb.Alone: c.work, sqldb.Committing: c.atCommit} {
			if got := classify(c.err, at); got.Outcome != want || got.Class != c.class {
				t.Errorf("%v at stage %d: %v (%s), want %v (%s)", c.err, at, got.Outcome, got.Class, want, c.class)
			}
		}
	}
}

// TestRowPolicy: what a policy forbids no GRANT allows.
func TestRowPolicy(t *testing.T) {
	for routine, kind := range map[string]sqldb.ErrorKind{"aclcheck_error": sqldb.NotAllowed, "ExecWithCheckOptions": sqldb.OtherError} {
		err := &pgconn.PgError{Severity: "ERROR", Code: codeInsufficientPrivilege, Routine: routine}
		if got := errorTable().Kind(err); got != kind {
			t.Errorf("%s: kind %d, want %d", routine, got, kind)
		}
	}
}

func TestViolated(t *testing.T) {
	tables := bank.Schema().Tables
	for want, errs := range map[store.Violation][]error{
		store.Unique: {&pgconn.PgError{Code: "23505", ConstraintName: "transfer_pkey"}},
		store.Floor:  {&pgconn.PgError{Code: "23514", ConstraintName: "account_not_overdrawn"}},
		store.Absent: {
			&pgconn.PgError{Code: "23502", TableName: "transfer", ColumnName: "destination_version"},
			&pgconn.PgError{Code: "23514", ConstraintName: "known_source_version"},
		},
		store.NoViolation: {
			errors.New("23505 transfer_pkey"),
			&pgconn.PgError{Code: "23505", ConstraintName: "account_pkey"},
			&pgconn.PgError{Code: "23514", ConstraintName: "made_by_somebody"},
			&pgconn.PgError{Code: "23502", TableName: "transfer", ColumnName: "amount"},
			&pgconn.PgError{Code: "23502", TableName: "account", ColumnName: "source_version"},
			&pgconn.PgError{Code: "40001", ConstraintName: "transfer_pkey"},
		},
	} {
		for _, err := range errs {
			if got := violated(fmt.Errorf("wrapped: %w", err), tables); got != want {
				t.Errorf("%v: %d, want %d", err, got, want)
			}
		}
	}
}
