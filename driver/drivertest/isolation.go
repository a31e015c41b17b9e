package drivertest

import (
	"context"
	"testing"

	"assay/workload"
	"assay/workload/isolation"
)

// Isolation is what a driver's test gives to have its isolation.Store tried.
// The fields mean what those of Bank mean.
type Isolation struct {
	Open func(t *testing.T) isolation.Store

	MakeForeign   func(t *testing.T)
	ForeignIntact func(t *testing.T)

	Secret string
}

// RunIsolation tries everything that isolation.Store promises and that needs
// no network, and then judges short runs by the store's own promise. Its
// subtests run one after the other on one place.
func RunIsolation(t *testing.T, h Isolation) {
	subtests := []struct {
		name string
		run  func(*testing.T, Isolation)
	}{
		{"Describe", testIsolationDescribe},
		{"Promise", testPromise},
		{"FindNothing", testIsolationFindNothing},
		{"CreateFind", testIsolationCreateFind},
		{"CreateAgain", testIsolationCreateAgain},
		{"Drop", testIsolationDrop},
		{"Read", testIsolationRead},
		{"ReadCallbackErrors", testIsolationReadCallbackErrors},
		{"ReadNothing", testIsolationReadNothing},
		{"Size", testIsolationSize},
		{"Settle", testIsolationSettle},
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
		{"ContextOverBefore", testIsolationContextOverBefore},
		{"ContextOverDuring", testIsolationContextOverDuring},
		{"SessionAfterErrors", testIsolationSessionAfterErrors},
		{"RaceOfTwo", func(t *testing.T, h Isolation) { testAppendRace(t, h, 2) }},
		{"RaceOfEight", func(t *testing.T, h Isolation) { testAppendRace(t, h, 8) }},
		{"RaceOfRewrites", testRewriteRace},
		{"OppositeDirections", testIsolationOppositeDirections},
		{"Judged", testJudged},
	}
	for _, s := range subtests {
		t.Run(s.name, func(t *testing.T) { s.run(t, h) })
	}
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { testIsolationForeign(t, h) })
	}
}

// room is one subtest's hold on the place under test.
type room struct {
	t     *testing.T
	ctx   context.Context
	store isolation.Store
	trace *Trace
	h     Isolation
}

// emptyRoom opens the place and empties it, now and at the end of the test.
func emptyRoom(t *testing.T, h Isolation) *room {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	r := &room{t: t, ctx: ctx, trace: NewTrace(), h: h}
	r.store = r.open()
	if err := r.store.Drop(ctx); err != nil {
		t.Fatalf("Drop before the test: %v", err)
	}
	t.Cleanup(func() {
		if err := r.store.Drop(ctx); err != nil {
			t.Errorf("Drop after the test: %v", err)
		}
	})
	return r
}

// newRoom is an emptyRoom with an empty schema.
func newRoom(t *testing.T, h Isolation) *room {
	t.Helper()
	r := emptyRoom(t, h)
	r.create(r.store, isolationMark("run-1"))
	return r
}

func (r *room) create(store isolation.Store, mark workload.Mark) {
	r.t.Helper()
	if err := store.Create(r.ctx, mark); err != nil {
		r.t.Fatalf("Create: %v", err)
	}
	r.trace = NewTrace()
}

func (r *room) open() isolation.Store {
	r.t.Helper()
	store := r.h.Open(r.t)
	r.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			r.t.Errorf("Close: %v", err)
		}
	})
	return store
}

// check settles and compares what was answered with what is there.
func (r *room) check() { r.t.Helper(); r.trace.Check(r.ctx, r.t, r.store) }

// isolationMark is markOf for this workload, which has nothing to load.
func isolationMark(run string) workload.Mark {
	mark := markOf(run, 0)
	mark.Workload, mark.Loaded = "isolation", true
	return mark
}
