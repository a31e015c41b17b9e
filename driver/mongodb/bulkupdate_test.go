package mongodb

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/store"
	"assay/workload/bulkupdate"
)

func TestBulkUpdateOptions(t *testing.T) {
	for _, target := range []store.Target{
		{Address: "mongodb://127.0.0.1:1/", Isolation: "snapshot"}, {Address: "mongodb://127.0.0.1:1/?w=0"},
		{Address: "mongodb://127.0.0.1:1/?timeoutMS=5"},
	} {
		var refused *store.OptionError
		if _, err := Open(t.Context(), target, bulkupdate.Schema()); !errors.As(err, &refused) {
			t.Errorf("%+v: %v", target, err)
		}
	}
}

func TestJudgeUpdate(t *testing.T) {
	command := func(code int32, labels ...string) error {
		raw, _ := bson.Marshal(bson.D{{Key: "code", Value: code}})
		return mongo.CommandError{Code: code, Labels: labels, Raw: raw}
	}
	tests := map[string]struct {
		err     error
		sent    int
		sharded bool
		outcome history.Outcome
		class   string
	}{
		"no server":                      {errors.New("no server"), 0, false, history.Failed, store.ClassConnect},
		"cancelled before":               {context.Canceled, 0, true, history.Failed, classCancelled},
		"cancelled":                      {context.Canceled, 1, false, history.Unknown, classCancelled},
		"lost":                           {mongo.CommandError{Labels: []string{"NetworkError"}}, 1, false, history.Unknown, store.ClassLost},
		"not confirmed":                  {mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, 1, false, history.Unknown, classWriteConcern},
		"not the primary":                {command(10107), 1, false, history.Failed, store.ClassNotPrimary},
		"not the primary, of one shard":  {command(10107), 1, true, history.Unknown, store.ClassNotPrimary},
		"not the primary, sent twice":    {command(10107), 2, false, history.Unknown, store.ClassNotPrimary},
		"stepped down":                   {command(189), 1, false, history.Unknown, store.ClassNotPrimary},
		"interrupted":                    {command(11601), 1, false, history.Unknown, classInterrupted},
		"interrupted, nothing done":      {command(11602, labelNoWrites), 1, false, history.Failed, store.ClassNotPrimary},
		"a document in the middle of it": {mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 112}}}, 1, false, history.Unknown, store.ClassSerialization},
	}
	for name, test := range tests {
		r := judgeUpdate(test.err, test.sent, test.sharded)
		if r.Outcome != test.outcome || r.Class != test.class || r.Err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
