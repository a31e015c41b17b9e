package mongodb

import (
	"context"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/store"
)

func TestJudgeUpdate(t *testing.T) {
	tests := map[string]struct {
		err     error
		sent    int
		sharded bool
		outcome history.Outcome
		class   string
		one     bool
	}{
		"no server":                      {errors.New("no server"), 0, false, history.Failed, store.ClassConnect, false},
		"cancelled before":               {context.Canceled, 0, true, history.Failed, classCancelled, false},
		"cancelled":                      {context.Canceled, 1, false, history.Unknown, classCancelled, false},
		"lost":                           {mongo.CommandError{Labels: []string{"NetworkError"}}, 1, false, history.Unknown, store.ClassLost, false},
		"not confirmed":                  {mongo.WriteException{WriteConcernError: &mongo.WriteConcernError{Code: 64}}, 1, false, history.Unknown, classWriteConcern, false},
		"not valid":                      {answer(codeNotValidated), 1, false, history.Failed, store.ClassConstraint, true},
		"one of several not valid":       {answer(codeNotValidated), 1, false, history.Unknown, store.ClassConstraint, false},
		"not the primary":                {answer(10107), 1, false, history.Failed, store.ClassNotPrimary, false},
		"not the primary, of one shard":  {answer(10107), 1, true, history.Unknown, store.ClassNotPrimary, false},
		"not the primary, sent twice":    {answer(10107), 2, false, history.Unknown, store.ClassNotPrimary, false},
		"stepped down":                   {answer(189), 1, false, history.Unknown, store.ClassNotPrimary, false},
		"interrupted":                    {answer(11601), 1, false, history.Unknown, classInterrupted, false},
		"interrupted, nothing done":      {answer(11602, labelNoWrites), 1, false, history.Failed, store.ClassNotPrimary, false},
		"a document in the middle of it": {mongo.WriteException{WriteErrors: mongo.WriteErrors{{Code: 112}}}, 1, false, history.Unknown, store.ClassSerialization, false},
	}
	for name, test := range tests {
		r := judgeUpdate(test.err, test.sent, test.sharded, test.one)
		if r.Outcome != test.outcome || r.Class != test.class || r.Err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
