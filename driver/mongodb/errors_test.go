package mongodb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"assay/history"
	"assay/store"
)

// answer is an error that the server answered with.
func answer(code int32, labels ...string) error {
	return mongo.CommandError{Code: code, Labels: labels, Raw: raw(bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: code}})}
}

func raw(d bson.D) bson.Raw {
	document, err := bson.Marshal(d)
	if err != nil {
		panic(err)
	}
	return document
}

// network is what the library makes of a lost connection; it adds the labels
// itself.
func network(cause error, labels ...string) error {
	return mongo.CommandError{Labels: append(labels, "NetworkError"), Wrapped: cause}
}

// unmet is an acknowledged commit whose write concern was not met.
func unmet(code int) error {
	return mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: code}}
}

func TestJudgeCommit(t *testing.T) {
	noSuch := mongo.CommandError{Code: codeNoSuchTransaction, Labels: []string{labelTransient}, Raw: raw(bson.D{
		{Key: "ok", Value: 0}, {Key: "writeConcernError", Value: bson.D{{Key: "code", Value: 64}}}})}
	for _, c := range []struct {
		name     string
		err      error
		sent     int
		majority bool
		want     history.Outcome
		class    string
		broken   bool
	}{
		{"acknowledged", nil, 1, true, history.Committed, "", false},
		{"acknowledged to a second sending", nil, 2, true, history.Committed, "", false},
		{"no server", topology.ServerSelectionError{Wrapped: context.DeadlineExceeded}, 0, true, history.Failed, store.ClassConnect, true},
		{"no connection", network(io.EOF), 0, true, history.Failed, store.ClassConnect, true},
		{"pool cleared", mongo.CommandError{Labels: []string{labelTransient}}, 0, true, history.Failed, store.ClassConnect, true},
		{"time over before sending", context.DeadlineExceeded, 0, true, history.Failed, store.ClassTimeout, true},
		{"cancelled before sending", context.Canceled, 0, true, history.Failed, classCancelled, true},
		{"not sent, without majority", network(io.EOF), 0, false, history.Failed, store.ClassConnect, true},
		{"connection lost", network(io.EOF), 1, true, history.Unknown, store.ClassLost, true},
		{"connection lost, the library's own label", network(io.EOF, labelTransient), 1, true, history.Unknown, store.ClassLost, true},
		{"time over", network(context.DeadlineExceeded, labelTransient), 1, true, history.Unknown, store.ClassTimeout, true},
		{"cancelled", network(context.Canceled), 1, true, history.Unknown, classCancelled, true},
		{"aborted", answer(codeNoSuchTransaction, labelTransient), 1, true, history.Failed, classAborted, false},
		{"write conflict", answer(112, labelTransient), 1, true, history.Failed, store.ClassSerialization, false},
		{"aborted, without majority", answer(codeNoSuchTransaction, labelTransient), 1, false, history.Unknown, classAborted, false},
		{"aborted, sent twice", answer(codeNoSuchTransaction, labelTransient), 2, true, history.Unknown, classResent, false},
		{"aborted, majority not asked", noSuch, 1, true, history.Unknown, classAborted, false},
		{"no such transaction, no label", answer(codeNoSuchTransaction), 1, true, history.Unknown, classAborted, false},
		{"both labels", answer(codeNoSuchTransaction, labelTransient, labelUnknown), 1, true, history.Unknown, classAborted, false},
		{"not primary", answer(10107, "RetryableWriteError"), 1, true, history.Unknown, store.ClassNotPrimary, true},
		{"stepped down", answer(11602, "RetryableWriteError"), 1, true, history.Unknown, store.ClassNotPrimary, true},
		{"shutdown", answer(11600), 1, true, history.Unknown, store.ClassShutdown, true},
		{"server's time limit", answer(codeMaxTimeMSExpired), 1, true, history.Unknown, store.ClassTimeout, false},
		{"no majority in time", unmet(64), 1, true, history.Unknown, classWriteConcern, false},
		{"no such write concern", unmet(79), 1, true, history.Unknown, classWriteConcern, false},
		{"never heard of", answer(424242), 1, true, history.Unknown, store.ClassOther, false},
		{"no server's error at all", errors.New("?"), 1, true, history.Unknown, store.ClassOther, true},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("commit: %w", err)
		}
		r := judgeCommit(err, c.sent, c.majority)
		if r.Outcome != c.want || r.Class != c.class || r.Broken != c.broken || r.Duplicate || !errors.Is(r.Err, err) {
			t.Errorf("%s: %+v; want %v, %q, broken %v", c.name, r, c.want, c.class, c.broken)
		}
	}
}

func TestJudgeStatement(t *testing.T) {
	duplicate := mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: codeDuplicateKey}}}
	for _, c := range []struct {
		name   string
		err    error
		sent   bool
		class  string
		broken bool
	}{
		{"write conflict", answer(112, labelTransient), true, store.ClassSerialization, false},
		{"lock timeout", answer(24, labelTransient), true, store.ClassLockTimeout, false},
		{"duplicate", duplicate, true, store.ClassDuplicate, false},
		{"aborted", answer(codeNoSuchTransaction, labelTransient), true, classAborted, false},
		{"too long", answer(290), true, classTooLong, false},
		{"snapshot", answer(codeSnapshotUnavailable, labelTransient), true, classSnapshot, false},
		{"not primary", answer(10107), true, store.ClassNotPrimary, true},
		{"stepped down", answer(189), true, store.ClassNotPrimary, true},
		{"router finds no primary", answer(133), true, store.ClassNotPrimary, true},
		{"shutdown", answer(91), true, store.ClassShutdown, true},
		{"router loses the server", answer(6), true, store.ClassLost, true},
		{"server's time limit", answer(codeMaxTimeMSExpired), true, store.ClassTimeout, false},
		{"killed", answer(11601), true, classInterrupted, false},
		{"not authorized", answer(codeUnauthorized), true, classUnauthorized, false},
		{"connection lost", network(io.ErrUnexpectedEOF, labelTransient), true, store.ClassLost, true},
		{"time over", network(context.DeadlineExceeded), true, store.ClassTimeout, true},
		{"no server", mongo.CommandError{Wrapped: topology.ServerSelectionError{Wrapped: context.DeadlineExceeded}}, false, store.ClassConnect, true},
		{"no server in a healthy transaction", mongo.CommandError{Wrapped: topology.ServerSelectionError{}}, false, store.ClassConnect, true},
		{"waited for a connection", topology.WaitQueueTimeoutError{Wrapped: context.DeadlineExceeded}, false, store.ClassTimeout, true},
		{"unheard of", answer(424242), true, store.ClassOther, false},
	} {
		r := judgeStatement(c.err, c.sent)
		if r.Outcome != history.Failed || r.Class != c.class || r.Broken != c.broken || r.Err == nil {
			t.Errorf("%s: %+v; want failed, %q, broken %v", c.name, r, c.class, c.broken)
		}
	}
}
