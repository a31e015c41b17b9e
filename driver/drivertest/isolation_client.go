package drivertest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/history"
	"assay/workload/bank"
	"assay/workload/isolation"
)

// actor does transactions the way the workload's clients do: it replaces its
// session when it must, and every answer goes into the trace. It is used by
// one goroutine and never ends the test by itself.
type actor struct {
	t       *testing.T
	store   isolation.Store
	trace   *Trace
	number  int
	secret  string
	made    int64
	session isolation.Session
}

func (r *room) actor(store isolation.Store, number int) *actor {
	a := &actor{t: r.t, store: store, trace: r.trace, number: number, secret: r.h.Secret}
	r.t.Cleanup(a.close)
	return a
}

func (a *actor) close() {
	if a.session != nil {
		a.session.Close()
		a.session = nil
	}
}

func (a *actor) connect(ctx context.Context) error {
	if a.session != nil {
		return nil
	}
	session, err := a.store.Session(ctx)
	if err != nil {
		return err
	}
	a.session = session
	return nil
}

// element returns a number that nothing else in the test has.
func (a *actor) element() int64 {
	a.made++
	return int64(a.number+1)<<32 | a.made
}

// do makes one attempt, with elements of its own for what adds or writes and
// has none, and records it. It returns the operations as they came back.
func (a *actor) do(ctx context.Context, template ...isolation.Op) ([]isolation.Op, isolation.Reply) {
	ops := slices.Clone(template)
	for i := range ops {
		switch ops[i].Kind {
		case isolation.Append, isolation.AppendByRewrite, isolation.Write, isolation.Insert:
			if ops[i].Value == 0 {
				ops[i].Value = a.element()
			}
		}
	}
	reply := isolation.Reply{Outcome: history.Failed, Class: bank.ClassConnect, Broken: true}
	if reply.Err = a.connect(ctx); reply.Err == nil {
		reply = a.session.Do(ctx, ops)
	}
	a.inspect(ops, reply)
	a.trace.Record(ops, reply.Outcome)
	if reply.Broken || reply.Outcome == history.Unknown {
		a.close()
	}
	return ops, reply
}

// inspect fails the test for a reply that contradicts itself.
func (a *actor) inspect(ops []isolation.Op, r isolation.Reply) {
	a.t.Helper()
	switch {
	case !r.Outcome.Valid() || r.Outcome == history.Rejected:
		a.t.Errorf("transaction %s: %v", describeOps(ops), r.Outcome)
	case r.Outcome == history.Committed && (r.Class != "" || r.Err != nil):
		a.t.Errorf("transaction %s: committed with an error: %q %v", describeOps(ops), r.Class, r.Err)
	case r.Outcome != history.Committed && r.Class == "":
		a.t.Errorf("transaction %s: %v without a class: %v", describeOps(ops), r.Outcome, r.Err)
	}
	if a.secret != "" && (strings.Contains(r.Class, a.secret) || r.Err != nil && strings.Contains(r.Err.Error(), a.secret)) {
		a.t.Errorf("transaction %s: the reply tells the password", describeOps(ops))
	}
}

// insist repeats a transaction while it is Failed, with other elements each
// time, and returns the last attempt.
func (a *actor) insist(ctx context.Context, template ...isolation.Op) ([]isolation.Op, isolation.Reply) {
	var ops []isolation.Op
	var r isolation.Reply
	for try := range tries {
		ops, r = a.do(ctx, template...)
		if r.Outcome != history.Failed || ctx.Err() != nil {
			break
		}
		pause(ctx, time.Duration(rand.Int64N(int64(min(try+1, 20))*int64(time.Millisecond))))
	}
	return ops, r
}

// commit insists and ends the test unless the transaction is committed. It is
// for the test's own goroutine.
func (a *actor) commit(ctx context.Context, template ...isolation.Op) []isolation.Op {
	a.t.Helper()
	ops, r := a.insist(ctx, template...)
	if r.Outcome != history.Committed {
		a.t.Fatalf("transaction %s: %v (%s: %v), want committed", describeOps(ops), r.Outcome, r.Class, r.Err)
	}
	return ops
}

// The operations, without their elements.
func appendTo(key int64) isolation.Op  { return isolation.Op{Kind: isolation.Append, Key: key} }
func rewrite(key int64) isolation.Op   { return isolation.Op{Kind: isolation.AppendByRewrite, Key: key} }
func readList(key int64) isolation.Op  { return isolation.Op{Kind: isolation.ReadList, Key: key} }
func write(key int64) isolation.Op     { return isolation.Op{Kind: isolation.Write, Key: key} }
func readValue(key int64) isolation.Op { return isolation.Op{Kind: isolation.ReadValue, Key: key} }
func insert(key int64) isolation.Op    { return isolation.Op{Kind: isolation.Insert, Key: key} }
func count(key int64) isolation.Op     { return isolation.Op{Kind: isolation.Count, Key: key} }
func withdraw(key, side int64) isolation.Op {
	return isolation.Op{Kind: isolation.Withdraw, Key: key, Value: side}
}

// wantList fails the test unless the operation read just these elements.
func (a *actor) wantList(o isolation.Op, elements ...int64) {
	a.t.Helper()
	if !slices.Equal(o.List, elements) {
		a.t.Errorf("list %d was read as %v, want %v", o.Key, o.List, elements)
	}
}

// wantValue fails the test unless the operation read this value.
func (a *actor) wantValue(o isolation.Op, value int64) {
	a.t.Helper()
	if !o.Found || o.Value != value {
		a.t.Errorf("register %d was read as %d (found %v), want %d", o.Key, o.Value, o.Found, value)
	}
}
