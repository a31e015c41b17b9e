package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	library "github.com/go-sql-driver/mysql"

	"assay/driver/sqldb"
	"assay/history"
	"assay/store"
)

// TestWhatAnErrorProves covers all errors in errorTable's comment at every stage.
func TestWhatAnErrorProves(t *testing.T) {
	const u, f = history.Unknown, history.Failed
	notPrepared := "WSREP has not yet prepared node for application use"
	for _, c := range []struct {
		err   error
		want  [4]history.Outcome // working, beforeCommit, committing, alone
		class string
	}{
		{&library.MySQLError{Number: 1213}, [4]history.Outcome{f, f, f, f}, store.ClassDeadlock},
		{&library.MySQLError{Number: 3101}, [4]history.Outcome{f, f, f, f}, store.ClassSerialization},
		{&library.MySQLError{Number: 1205}, [4]history.Outcome{f, f, u, f}, store.ClassLockTimeout},
		{&library.MySQLError{Number: 1020}, [4]history.Outcome{f, f, u, u}, store.ClassSerialization},
		{&library.MySQLError{Number: 1062}, [4]history.Outcome{f, f, f, f}, store.ClassConstraint},
		{&library.MySQLError{Number: 9007}, [4]history.Outcome{f, f, f, f}, store.ClassSerialization},
		{&library.MySQLError{Number: 8028}, [4]history.Outcome{f, f, f, f}, store.ClassOther},
		{&library.MySQLError{Number: 9002}, [4]history.Outcome{f, f, u, u}, classStorage},
		{&library.MySQLError{Number: 1054}, [4]history.Outcome{f, f, u, f}, store.ClassOther},
		{&library.MySQLError{Number: 1064}, [4]history.Outcome{f, f, f, f}, store.ClassOther},
		{&library.MySQLError{Number: 1047, Message: notPrepared}, [4]history.Outcome{f, f, u, f}, classNotPrepared},
		{&library.MySQLError{Number: 1047, Message: "Unknown command"}, [4]history.Outcome{f, f, u, u}, classNotPrepared},
		{&library.MySQLError{Number: 1290, Message: "the --read-only option"}, [4]history.Outcome{f, f, u, f}, store.ClassReadOnly},
		{&library.MySQLError{Number: 1290, Message: "the NO_ENGINE_SUBSTITUTION option"}, [4]history.Outcome{f, f, u, f}, store.ClassOther},
		{&library.MySQLError{Number: 1792}, [4]history.Outcome{f, f, u, f}, store.ClassReadOnly},
		{&library.MySQLError{Number: 1836}, [4]history.Outcome{f, f, u, f}, store.ClassReadOnly},
		{&library.MySQLError{Number: 1317}, [4]history.Outcome{f, f, u, u}, store.ClassTimeout},
		{&library.MySQLError{Number: 1180}, [4]history.Outcome{u, f, u, u}, classDuringCommit},
		{&library.MySQLError{Number: 1053}, [4]history.Outcome{u, f, u, u}, store.ClassShutdown},
		{&library.MySQLError{Number: 3032}, [4]history.Outcome{u, f, u, u}, store.ClassShutdown},
		{&library.MySQLError{Number: 1927}, [4]history.Outcome{u, f, u, u}, store.ClassShutdown},
		{&library.MySQLError{Number: 1105}, [4]history.Outcome{u, f, u, u}, store.ClassOther},
		{&library.MySQLError{Number: 2013}, [4]history.Outcome{u, f, u, u}, store.ClassLost},
		{&library.MySQLError{Number: 2999}, [4]history.Outcome{u, f, u, u}, store.ClassLost},
		{library.ErrInvalidConn, [4]history.Outcome{u, f, u, u}, store.ClassLost},
		{context.DeadlineExceeded, [4]history.Outcome{u, f, u, u}, store.ClassTimeout},
		{context.Canceled, [4]history.Outcome{u, f, u, u}, store.ClassTimeout},
		{driver.ErrBadConn, [4]history.Outcome{f, f, f, f}, store.ClassLost},
		{errors.New("anything"), [4]history.Outcome{u, f, u, u}, store.ClassLost},
	} {
		for at, want := range c.want {
			got := errorTable().Classify(fmt.Errorf("doing: %w", c.err), sqldb.Stage(at))
			if got.Outcome != want || got.Class != c.class {
				t.Errorf("%v at stage %d: %+v, want %v (%s)", c.err, at, got, want, c.class)
			}
		}
	}
}
