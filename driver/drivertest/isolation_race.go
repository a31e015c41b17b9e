package drivertest

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"assay/history"
	"assay/workload/isolation"
)

// testAppendRace has clients append to one list, beside others: at no level of
// isolation may an atomic append be lost or be there twice.
func testAppendRace(t *testing.T, h Isolation, n int) {
	f := newIsolation(t, h)
	const each = 25
	var committed atomic.Int64
	together(connected(f.fixture, n, f.client), func(a *isolationClient) {
		for i := range int64(each) {
			_, reply := a.insist(f.ctx, appendTo(2), appendTo(4+2*(i%4)), readList(2))
			if reply.Outcome == history.Committed {
				committed.Add(1)
			} else {
				t.Errorf("%v (%s: %v) though nothing was disturbed", reply.Outcome, reply.Class, reply.Err)
			}
		}
	})
	f.check()
	c, err := ReadContents(f.ctx, f.store)
	if err != nil || int64(len(c.Lists[2])) != committed.Load() {
		t.Errorf("%d elements after %d committed appends (%v)", len(c.Lists[2]), committed.Load(), err)
	}
}

// testRewriteRace has clients write one list as a whole. What is lost must be
// allowed by the promise.
func testRewriteRace(t *testing.T, h Isolation) {
	f := newIsolation(t, h)
	var err error
	if f.transactions.MayLose, err = isolation.AllowsLostUpdates(f.store.Promise()); err != nil {
		t.Fatal(err)
	}
	together(connected(f.fixture, 4, f.client), func(a *isolationClient) {
		for range 20 {
			if _, reply := a.insist(f.ctx, rewrite(2)); reply.Outcome != history.Committed {
				t.Errorf("%v (%s: %v) though nothing was disturbed", reply.Outcome, reply.Class, reply.Err)
			}
		}
	})
	f.check()
}

// testIsolationOppositeDirections takes two lists in both orders at once,
// which deadlocks whoever locks in the order of asking and does not look for
// it.
func testIsolationOppositeDirections(t *testing.T, h Isolation) {
	f := newIsolation(t, h)
	together(connected(f.fixture, 8, f.client), func(a *isolationClient) {
		first := int64(2 + 2*(a.number%2))
		for range 10 {
			if _, reply := a.insist(f.ctx, appendTo(first), appendTo(6-first)); reply.Outcome != history.Committed {
				t.Errorf("%v (%s: %v) though nothing was disturbed", reply.Outcome, reply.Class, reply.Err)
			}
		}
	})
	f.check()
}

// testJudged does a short run of each test and has it judged by the promise.
func testJudged(t *testing.T, h Isolation) {
	for _, test := range []string{"append", "register", "predicate", "pairs", "all", "rewrite"} {
		f := newIsolation(t, h)
		c := isolation.Defaults()
		c.Test, c.Keys = test, 4
		if c.Rewrite = test == "rewrite"; c.Rewrite {
			c.Test = "append"
		}
		judged := IsolationRun{Config: c, Seed: rand.Uint64(), Clients: 4, Each: 60, Attempts: 5}.Judge(f.ctx, t, f.store)
		for _, result := range judged.Results {
			if result.Verdict.String() != "valid" {
				t.Errorf("%s, by %s: %s is %v: %s %+v", test, judged.Model, result.Name, result.Verdict, result.Detail, result.Evidence)
			}
		}
		if judged.Tally.Committed == 0 {
			t.Errorf("%s: nothing was committed: %+v", test, judged.Tally)
		}
	}
}
