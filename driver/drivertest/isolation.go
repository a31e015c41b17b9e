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
		{"Describe", func(t *testing.T, h Isolation) { emptyRoom(t, h).describe() }},
		{"Promise", testPromise},
		{"FindNothing", func(t *testing.T, h Isolation) { emptyRoom(t, h).findNothing() }},
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
	runLease(t, func(t *testing.T) *hold[isolation.Store] { return emptyRoom(t, h).hold },
		func(ctx context.Context, s isolation.Store, run string) error {
			return s.Create(ctx, isolationMark(run))
		})
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { testIsolationForeign(t, h) })
	}
}

// room is one subtest's hold on the place under test.
type room struct {
	*hold[isolation.Store]
	trace *Trace
	h     Isolation
}

func emptyRoom(t *testing.T, h Isolation) *room {
	t.Helper()
	return &room{h: h, trace: NewTrace(), hold: empty(t, harness[isolation.Store]{h.Open, h.MakeForeign, h.ForeignIntact, h.Secret})}
}

// newRoom is an emptyRoom with an empty schema.
func newRoom(t *testing.T, h Isolation) *room {
	t.Helper()
	r := emptyRoom(t, h)
	r.create(r.store, isolationMark("run-1"))
	return r
}

func (r *room) create(store isolation.Store, mark workload.Marker) {
	r.t.Helper()
	if err := store.Create(r.ctx, mark); err != nil {
		r.t.Fatalf("Create: %v", err)
	}
	r.trace = NewTrace()
}

// check settles and compares what was answered with what is there.
func (r *room) check() { r.t.Helper(); r.trace.Check(r.ctx, r.t, r.store) }

func isolationMark(run string) workload.Marker { return loadedMark("isolation", run) }

// readThings is a Store's Read, of lists and registers alike.
func readThings(store isolation.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(int64, []int64) error { return each() }, func(int64, int64) error { return each() })
	}
}
