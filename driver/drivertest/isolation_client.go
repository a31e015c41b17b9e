package drivertest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

// actor does transactions the way the workload's clients do: it replaces its
// session when it must, and every answer goes into the trace. It is used by
// one goroutine and never ends the test by itself.
type actor struct {
	line[isolation.Session]
	t      *testing.T
	trace  *Trace
	number int
	secret string
	made   int64
}

func (r *room) actor(store isolation.Store, number int) *actor {
	a := &actor{line: line[isolation.Session]{dial: store.Session}, t: r.t, trace: r.trace, number: number, secret: r.harness.secret}
	r.t.Cleanup(a.close)
	return a
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
	reply := isolation.Reply{Outcome: history.Failed, Class: workload.ClassConnect, Broken: true}
	if reply.Err = a.connect(ctx); reply.Err == nil {
		reply = a.session.Do(ctx, ops)
	}
	got := answer{outcome: reply.Outcome, class: reply.Class, err: reply.Err, broken: reply.Broken}
	got.inspect(a.t, a.secret, func() string { return "transaction " + describeOps(ops) })
	if reply.Outcome == history.Rejected {
		a.t.Errorf("transaction %s: rejected, for which there is no rule", describeOps(ops))
	}
	a.trace.Record(ops, reply.Outcome)
	a.replace(got)
	return ops, reply
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
