package drivertest

import (
	"context"
	"testing"

	"assay/workload"
	"assay/workload/isolation"
)

// RunIsolation tests everything that isolation.Store promises and that needs
// no network, and then judges short runs by the store's own promise. Its
// subtests run one after the other on one schema.
func RunIsolation(t *testing.T, h Isolation) {
	runLifecycle(t, h, func(t *testing.T) schema[isolation.Store] {
		return &isolationFixture{fixture: newFixture(t, h)}
	})
	for _, s := range []struct {
		name string
		run  func(*testing.T, Isolation)
	}{
		{"Promise", testPromise},
		{"Read", testIsolationRead},
		{"Append", func(t *testing.T, h Isolation) { testAppend(t, h, isolation.Append) }},
		{"AppendByRewrite", func(t *testing.T, h Isolation) { testAppend(t, h, isolation.AppendByRewrite) }},
		{"Register", testRegister},
		{"Group", testGroup},
		{"Pair", testPair},
		{"Absent", testAbsent},
		{"AllTogether", testAllTogether},
		{"OwnWrites", testOwnWrites},
		{"LargeNumbers", testLargeNumbers},
		{"LongList", testLongList},
		{"ContextOver", testIsolationContextOver},
		{"SessionAfterErrors", testIsolationSessionAfterErrors},
		{"RaceOfTwo", func(t *testing.T, h Isolation) { testAppendRace(t, h, 2) }},
		{"RaceOfEight", func(t *testing.T, h Isolation) { testAppendRace(t, h, 8) }},
		{"RaceOfRewrites", testRewriteRace},
		{"OppositeDirections", testIsolationOppositeDirections},
		{"Judged", testJudged},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(t, h) })
	}
}

// isolationFixture is a fixture with what was answered to transactions.
type isolationFixture struct {
	*fixture[isolation.Store]
	transactions *Transactions
}

// newIsolation has an empty schema.
func newIsolation(t *testing.T, h Isolation) *isolationFixture {
	t.Helper()
	f := &isolationFixture{fixture: newFixture(t, h)}
	if err := f.create(f.store, f.marker("run-1")); err != nil {
		t.Fatalf("Create: %v", err)
	}
	return f
}

func (f *isolationFixture) marker(run string) workload.Marker { return loadedMarker("isolation", run) }

func (f *isolationFixture) create(store isolation.Store, marker workload.Marker) error {
	f.transactions = &Transactions{}
	return store.Create(f.ctx, marker)
}

func (f *isolationFixture) load(isolation.Store) {}

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

func (f *isolationFixture) check() { f.t.Helper(); f.transactions.Check(f.ctx, f.t, f.store) }

func (f *isolationFixture) found() int64 { return anyRows }

func (f *isolationFixture) tables() []int64 { return nil }

// testPromise wants the name of a model, the same at all times.
func testPromise(t *testing.T, h Isolation) {
	f := newIsolation(t, h)
	promise := f.store.Promise()
	if _, err := isolation.AllowsLostUpdates(promise); err != nil {
		t.Error(err)
	}
	if again := f.open().Promise(); again != promise || f.store.Promise() != promise {
		t.Errorf("the promise is %s, then %s", promise, again)
	}
}

// testIsolationRead wants all lists and registers, and nothing of groups and
// pairs, whatever the order in which they were made.
func testIsolationRead(t *testing.T, h Isolation) {
	f := newIsolation(t, h)
	c := f.client(f.store, 0)
	for _, n := range []int64{700, 3, 1 << 40, 50, 0, 9} {
		c.commit(f.ctx, appendTo(2*n), write(2*n+1), insert(n), withdraw(n, 0), appendTo(2*n))
	}
	c.close()
	f.check()
	read, err := ReadContents(f.ctx, f.store)
	if err != nil || len(read.Lists) != 6 || len(read.Registers) != 6 {
		t.Errorf("%d lists and %d registers were read (%v), want 6 each", len(read.Lists), len(read.Registers), err)
	}
}
