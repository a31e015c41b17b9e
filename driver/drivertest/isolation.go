package drivertest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/history"
	"assay/workload"
	"assay/workload/interleaving"
	"assay/workload/isolation"
)

// RunIsolation tests everything that isolation.Store promises and that needs
// no network, and then judges short runs by the store's own promise. Its
// subtests run one after the other on one schema.
func RunIsolation(t *testing.T, h Isolation) {
	on := func(t *testing.T) *isolationFixture {
		return &isolationFixture{fixture: newFixture(t, h, contents{workload: isolation.Name, found: anyRows})}
	}
	operations(t, ready(on), checked([]operation[*isolationFixture]{
		{"Promise", (*isolationFixture).testPromise},
		{"Read", (*isolationFixture).testRead},
		{"Append", func(f *isolationFixture) { f.testAppend(isolation.Append) }},
		{"AppendByRewrite", func(f *isolationFixture) { f.testAppend(isolation.AppendByRewrite) }},
		{"Register", (*isolationFixture).testRegister},
		{"Group", (*isolationFixture).testGroup},
		{"Pair", (*isolationFixture).testPair},
		{"Absent", (*isolationFixture).testAbsent},
		{"AllTogether", (*isolationFixture).testAllTogether},
		{"OwnWrites", (*isolationFixture).testOwnWrites},
		{"LargeNumbers", (*isolationFixture).testLargeNumbers},
		{"LongList", (*isolationFixture).testLongList},
		{"ContextOver", (*isolationFixture).testContextOver},
		{"SessionAfterErrors", (*isolationFixture).testSessionAfterErrors},
		{"RaceOfTwo", func(f *isolationFixture) { f.testAppendRace(2) }},
		{"RaceOfEight", func(f *isolationFixture) { f.testAppendRace(8) }},
		{"RaceOfRewrites", (*isolationFixture).testRewriteRace},
		{"OppositeDirections", (*isolationFixture).testOppositeDirections},
	}))
	t.Run("Judged", func(t *testing.T) { testJudged(t, h) })
}

// isolationFixture is a fixture with what was answered to transactions.
type isolationFixture struct {
	*fixture[isolation.Store]
	transactions *Transactions
}

func (f *isolationFixture) create(store isolation.Store, marker workload.Marker) error {
	f.transactions = &Transactions{}
	return store.Create(f.ctx, marker)
}

// write has keys of its own, which must not have been used.
func (f *isolationFixture) write(store isolation.Store, number int) {
	c := f.client(store, number)
	defer c.close()
	list, register, pair := 2*int64(number), 2*int64(number)+1, int64(number)
	ops := c.commit(f.ctx, readList(list), readValue(register), count(pair), withdraw(pair, 0), appendTo(list), write(register), insert(pair))
	if len(ops[0].List) != 0 || ops[1].Found || ops[2].Value != 0 || ops[3].Result != 3 {
		f.t.Errorf("the schema is not empty: %+v", ops)
	}
	c.commit(f.ctx, appendTo(list), write(register), insert(pair))
	c.commit(f.ctx, appendTo(list+1000), write(register+1000))
}

// read is of lists and registers alike.
func (f *isolationFixture) read(store isolation.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(int64, []int64) error { return each() }, func(int64, int64) error { return each() })
	}
}

func (f *isolationFixture) check() { f.t.Helper(); f.contents() }

// contents ends the clients' sessions, and is check that returns what is there.
func (f *isolationFixture) contents() Contents {
	f.t.Helper()
	f.closeClients()
	return f.transactions.Check(f.ctx, f.t, f.store)
}

// two are clients over two Stores.
func (f *isolationFixture) two() (a, b *isolationClient) {
	return f.client(f.store, 0), f.client(f.open(), 1)
}

// testPromise wants the name of a model, the same at all times.
func (f *isolationFixture) testPromise() {
	promise := f.store.Promise()
	if _, err := isolation.AllowsLostUpdates(promise); err != nil {
		f.t.Error(err)
	}
	if again := f.open().Promise(); again != promise || f.store.Promise() != promise {
		f.t.Errorf("the promise is %s, then %s", promise, again)
	}
}

// testRead wants all lists and registers, and nothing of groups and pairs, whatever
// the order in which they were made.
func (f *isolationFixture) testRead() {
	c := f.client(f.store, 0)
	for _, n := range []int64{700, 3, 1 << 40, 50, 0, 9} {
		c.commit(f.ctx, appendTo(2*n), write(2*n+1), insert(n), withdraw(n, 0), appendTo(2*n))
	}
	if read := f.contents(); len(read.Lists) != 6 || len(read.Registers) != 6 {
		f.t.Errorf("%d lists and %d registers were read, want 6 each", len(read.Lists), len(read.Registers))
	}
}

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
	f := newFixture(t, h, contents{})
	for _, test := range []string{"append", "register", "predicate", "pairs", "all", "rewrite"} {
		c := isolation.Defaults()
		c.Test, c.Keys = test, 4
		if c.Rewrite = test == "rewrite"; c.Rewrite {
			c.Test = "append"
		}
		run := ShortRun{Workload: isolation.Definition(), Config: &c, Seed: rand.Uint64(), Clients: 4, Each: 60, Attempts: 5}
		if j := run.Valid(f.ctx, t, f.store); j.Counts.Committed == 0 {
			t.Errorf("%s: nothing was committed: %+v", test, j.Counts)
		}
	}
}

// Shown is one isolation level, and the anomalies that it shows, separated by
// blanks; all others are prevented.
type Shown struct{ Level, Anomalies string }

// RunInterleaving plays all scripts of package interleaving at these levels, each on
// a Store that open gives, and compares what is shown. The expectations of the
// callers are those of Hermitage's table (github.com/ept/hermitage).
func RunInterleaving(t *testing.T, open func(t *testing.T, level interleaving.Level) isolation.Store, want []Shown) {
	first, can := open(t, interleaving.Level{}).(interleaving.Store)
	if !can {
		t.Fatal("its sessions cannot be played step by step")
	}
	levels := first.Levels()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		i := slices.IndexFunc(levels, func(l interleaving.Level) bool { return l.Name == w.Level })
		if i < 0 {
			t.Errorf("there is no level %q among %v", w.Level, levels)
			continue
		}
		t.Run(w.Level, func(t *testing.T) { playLevel(t, open(t, levels[i]).(interleaving.Store), w) })
	}
}

func playLevel(t *testing.T, store interleaving.Store, want Shown) {
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	mark := workload.Marker{Run: "matrix", Workload: isolation.Name, Created: time.Now()}
	if err := store.Create(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	var shown []string
	err := interleaving.Play(t.Context(), store, "tested", want.Level, func(c interleaving.Cell) {
		switch {
		case c.Result == interleaving.NotReached:
			t.Errorf("%s was not reached: %s\n%s", c.Anomaly, c.How, strings.Join(c.Trace, "\n"))
		case c.Broken:
			t.Errorf("%s is shown against the promise of %s\n%s", c.Anomaly, c.Promise, strings.Join(c.Trace, "\n"))
		case c.Result == interleaving.Shown:
			shown = append(shown, c.Anomaly)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(shown, " "); got != want.Anomalies {
		t.Errorf("shown: %s\nwant:  %s", got, want.Anomalies)
	}
	if err := store.Settle(t.Context()); err != nil {
		t.Error(err)
	}
	if err := store.Drop(t.Context()); err != nil {
		t.Error(err)
	}
}
