package drivertest

import (
	"context"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/isolation"
)

// isolationClient does transactions the way the workload's clients do; every
// answer is recorded. It is used by one goroutine and, but for commit, never ends
// the test by itself.
type isolationClient struct {
	connection[isolation.Session]
	transactions *Transactions
	number       int
	made         int64
}

func (f *isolationFixture) client(store isolation.Store, number int) *isolationClient {
	return opened(f.fixture, &isolationClient{connection: newConnection(f.fixture, store.Session), transactions: f.transactions, number: number})
}

// element returns a number that nothing else in the test has.
func (c *isolationClient) element() int64 {
	c.made++
	return int64(c.number+1)<<32 | c.made
}

// do makes one attempt, with elements of its own for what adds or writes and
// has none, and records it. It returns the operations as they came back.
func (c *isolationClient) do(ctx context.Context, template ...isolation.Op) ([]isolation.Op, isolation.Reply) {
	ops := slices.Clone(template)
	for i := range ops {
		switch ops[i].Kind {
		case isolation.Append, isolation.AppendByRewrite, isolation.Write, isolation.Insert:
			if ops[i].Value == 0 {
				ops[i].Value = c.element()
			}
		}
	}
	what := "transaction " + describeOps(ops)
	reply := c.attempt(ctx, what, func(session isolation.Session) workload.Reply { return session.Do(ctx, ops) })
	if reply.Outcome == history.Rejected {
		c.t.Errorf("%s: rejected, for which there is no rule", what)
	}
	c.transactions.Record(ops, reply.Outcome)
	return ops, reply
}

// insist repeats a transaction while it is Failed, with other elements each
// time, and returns the last attempt.
func (c *isolationClient) insist(ctx context.Context, template ...isolation.Op) (ops []isolation.Op, r isolation.Reply) {
	retry(ctx, func() workload.Reply { ops, r = c.do(ctx, template...); return r })
	return ops, r
}

// commit insists and ends the test unless the transaction is committed. It is
// for the test's own goroutine.
func (c *isolationClient) commit(ctx context.Context, template ...isolation.Op) []isolation.Op {
	c.t.Helper()
	ops, r := c.insist(ctx, template...)
	if r.Outcome != history.Committed {
		c.t.Fatalf("transaction %s: %v (%s: %v), want committed", describeOps(ops), r.Outcome, r.Class, r.Err)
	}
	return ops
}

// wantCommitted insists, and fails the test unless the transaction is committed.
func (c *isolationClient) wantCommitted(ctx context.Context, template ...isolation.Op) {
	c.t.Helper()
	if ops, r := c.insist(ctx, template...); r.Outcome != history.Committed {
		c.t.Errorf("transaction %s: %v (%s: %v), want committed", describeOps(ops), r.Outcome, r.Class, r.Err)
	}
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
func (c *isolationClient) wantList(o isolation.Op, elements ...int64) {
	c.t.Helper()
	if !slices.Equal(o.List, elements) {
		c.t.Errorf("list %d was read as %v, want %v", o.Key, o.List, elements)
	}
}

// wantValue fails the test unless the operation read this value.
func (c *isolationClient) wantValue(o isolation.Op, value int64) {
	c.t.Helper()
	if !o.Found || o.Value != value {
		c.t.Errorf("register %d was read as %d (found %v), want %d", o.Key, o.Value, o.Found, value)
	}
}
