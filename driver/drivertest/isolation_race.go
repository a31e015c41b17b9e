package drivertest

import (
	"math/rand/v2"
	"testing"

	"assay/workload/isolation"
)

// testAppendRace has clients append to one list, beside others: at no level of
// isolation may an atomic append be lost or be there twice.
func (f *isolationFixture) testAppendRace(n int) {
	const each = 25
	together(connected(f.fixture, n, f.client), func(a *isolationClient) {
		for i := range int64(each) {
			a.wantCommitted(f.ctx, appendTo(2), appendTo(4+2*(i%4)), readList(2))
		}
	})
	if c := f.contents(); len(c.Lists[2]) != n*each {
		f.t.Errorf("%d elements after %d appends", len(c.Lists[2]), n*each)
	}
}

// testRewriteRace has clients write one list as a whole. What is lost must be
// allowed by the promise.
func (f *isolationFixture) testRewriteRace() {
	var err error
	if f.transactions.MayLose, err = isolation.AllowsLostUpdates(f.store.Promise()); err != nil {
		f.t.Fatal(err)
	}
	together(connected(f.fixture, 4, f.client), func(a *isolationClient) {
		for range 20 {
			a.wantCommitted(f.ctx, rewrite(2))
		}
	})
}

// testOppositeDirections takes two lists in both orders at once, which deadlocks
// whoever locks in the order of asking and does not look for it.
func (f *isolationFixture) testOppositeDirections() {
	together(connected(f.fixture, 8, f.client), func(a *isolationClient) {
		first := int64(2 + 2*(a.number%2))
		for range 10 {
			a.wantCommitted(f.ctx, appendTo(first), appendTo(6-first))
		}
	})
}

// testJudged does a short run of each test and has it judged by the promise.
func testJudged(t *testing.T, h Isolation) {
	f := newFixture(t, h)
	for _, test := range []string{"append", "register", "predicate", "pairs", "all", "rewrite"} {
		c := isolation.Defaults()
		c.Test, c.Keys = test, 4
		if c.Rewrite = test == "rewrite"; c.Rewrite {
			c.Test = "append"
		}
		judged := IsolationRun{Config: c, Seed: rand.Uint64(), Clients: 4, Each: 60, Attempts: 5}.Judge(f.ctx, t, f.store)
		mustBeValid(t, judged.Results)
		if judged.Tally.Committed == 0 {
			t.Errorf("%s: nothing was committed: %+v", test, judged.Tally)
		}
	}
}
