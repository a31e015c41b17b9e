package ordered

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"assay/driver/rows"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
)

// performed is a session on keys in memory, and what its transactions were said to do.
func performed(t *testing.T, statements ...store.Statement) (n *Session, uses *[]Use) {
	t.Helper()
	s := &Schema[Transaction]{Of: trialSchema(), Forms: NewForms(trialLayout(), new(trialSchema())), limits: trialLimits}
	n, err := s.NewSession(statements)
	expect.NoError(t, err)
	uses = &[]Use{}
	keys := &memory{values: map[string][]byte{}}
	n.Perform = func(_ context.Context, doing string, use Use, work func(*Execution) error) store.Reply {
		*uses = append(*uses, use)
		err := work(&Execution{Forms: s.Forms, Keys: keys, Limits: trialLimits})
		if err == nil {
			return store.Reply{Outcome: history.Committed}
		}
		reply, _ := Refusal(err)
		reply.Err = err
		return reply
	}
	return n, uses
}

const (
	addAccount = iota
	readAccount
	addCandle
)

func trialStatements() []store.Statement {
	return []store.Statement{
		addAccount:  {Name: "add", Verb: store.Insert, Table: "account", Columns: []string{"id", "balance", "version"}},
		readAccount: {Name: "read", Verb: store.Read, Table: "account", Columns: []string{"balance"}, Where: store.Where("id")},
		addCandle:   {Name: "candle", Verb: store.Insert, Table: "candle", Columns: []string{"id", "moment", "ticker", "flag", "mark"}},
	}
}

// TestSessionSaysWhatATransactionDoes: only an insertion that needs no index is blind, and only
// what writes nothing reads.
func TestSessionSaysWhatATransactionDoes(t *testing.T) {
	n, uses := performed(t, trialStatements()...)
	ctx := t.Context()
	if r := n.Run(ctx, store.Call{Statement: addAccount, Parameters: store.OfInts(1, 10, 0)}); r.Outcome != history.Committed || r.Affected != 1 {
		t.Errorf("an insertion: %+v", r)
	}
	var balance int64
	get := store.Call{Statement: readAccount, Parameters: store.OfInts(1), Row: func(r store.Row) error { return r.Scan(&balance) }}
	if r := n.Run(ctx, get); r.Outcome != history.Committed || balance != 10 {
		t.Errorf("a reading: %+v, balance %d", r, balance)
	}
	if r := n.Batch(ctx, &store.Batch{Calls: []store.Call{get}}); r.Outcome != history.Committed {
		t.Errorf("a batch: %+v", r)
	}
	for _, writes := range []bool{true, false} {
		r := n.Transaction(ctx, writes, func(ctx context.Context, tx store.Transaction) error {
			return store.DoAll(ctx, tx, []store.Call{get, get})
		})
		if r.Outcome != history.Committed {
			t.Errorf("a transaction: %+v", r)
		}
	}
	if want := []Use{{Blind: true}, {Reads: true}, {}, {}, {Reads: true}}; !slices.Equal(*uses, want) {
		t.Errorf("they were said to be %+v, want %+v", *uses, want)
	}
	if n.blind[addCandle] {
		t.Error("an insertion into a table with indexes was said to be blind")
	}
}

// TestSessionAsks: what only reads goes to Ask, if there is one, and nothing else does.
func TestSessionAsks(t *testing.T) {
	n, uses := performed(t, trialStatements()...)
	asked := 0
	n.Ask = func(context.Context, *Plan, *store.Call) store.Reply {
		asked++
		return store.Reply{Outcome: history.Committed}
	}
	n.Run(t.Context(), store.Call{Statement: readAccount, Parameters: store.OfInts(1)})
	n.Run(t.Context(), store.Call{Statement: addAccount, Parameters: store.OfInts(1, 10, 0)})
	if asked != 1 || len(*uses) != 1 {
		t.Errorf("%d were asked and %d performed, want one each", asked, len(*uses))
	}
	if r := n.Run(t.Context(), store.Call{Statement: addAccount, Parameters: store.OfInts(1, 10, 0)}); r.Violated != store.Unique || !r.Confirmed || r.Affected != 0 {
		t.Errorf("a second row of one key: %+v", r)
	}
}

func TestRefusal(t *testing.T) {
	failed := func(class string) store.Reply { return store.Reply{Outcome: history.Failed, Class: class} }
	unique, floor := failed(store.ClassDuplicate), failed(store.ClassOther)
	unique.Violated, unique.Confirmed, floor.Violated = store.Unique, true, store.Floor
	for _, test := range []struct {
		err   error
		want  store.Reply
		known bool
	}{
		{&rows.Violation{Kind: store.Unique}, unique, true},
		{&rows.Violation{Kind: store.Floor}, floor, true},
		{fmt.Errorf("add: %w", ErrLongList), failed(ClassTooLong), true},
		{fmt.Errorf("change: %w", ErrManyRows), failed(ClassTooLarge), true},
		{errors.New("the connection is gone"), store.Reply{}, false},
	} {
		if got, known := Refusal(test.err); got != test.want || known != test.known {
			t.Errorf("%v: %+v, %t; want %+v", test.err, got, known, test.want)
		}
	}
}
