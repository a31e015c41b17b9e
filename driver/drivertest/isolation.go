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
	operations(t, func(t *testing.T) *isolationFixture { return newIsolation(t, h) }, []operation[*isolationFixture]{
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
	})
	t.Run("Judged", func(t *testing.T) { testJudged(t, h) })
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
