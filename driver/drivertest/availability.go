package drivertest

import (
	"context"
	"testing"

	"assay/workload"
	"assay/workload/availability"
)

// Availability is what a driver's test gives to have its availability.Store
// tried. The fields that it shares with Bank mean the same.
type Availability struct {
	Open func(t *testing.T) availability.Store

	MakeForeign   func(t *testing.T)
	ForeignIntact func(t *testing.T)

	Secret string

	// Replaces is true for a database in which an insert replaces the row of
	// the same key and is acknowledged, as in Cassandra.
	Replaces bool

	// OpenVia opens a Store on the place under test through this address, as
	// "host:port": Server, or a proxy before it. The driver is to stay with
	// this address (no discovery of other members). The suite closes the
	// Store. Nil leaves out the subtests in which the network breaks.
	OpenVia func(t *testing.T, addr string) (availability.Store, error)
	// Server is the server's own address, as "host:port".
	Server string
}

// RunAvailability tries everything that availability.Store promises. Its
// subtests run one after the other on one place.
func RunAvailability(t *testing.T, h Availability) {
	for _, s := range []struct {
		name string
		run  func(*shelf)
	}{
		{"Describe", (*shelf).describe},
		{"FindNothing", (*shelf).findNothing},
		{"CreateFind", (*shelf).testCreateFind},
		{"CreateAgain", (*shelf).testCreateAgain},
		{"Drop", (*shelf).testDrop},
		{"ReadNothing", (*shelf).testReadNothing},
		{"InsertGet", (*shelf).testInsertGet},
		{"Duplicate", (*shelf).testDuplicate},
		{"Read", (*shelf).testRead},
		{"ReadCallbackErrors", (*shelf).testReadCallbackErrors},
		{"Size", (*shelf).testSize},
		{"Settle", (*shelf).testSettle},
		{"ContextOverBefore", (*shelf).testContextOverBefore},
		{"ContextOverDuring", (*shelf).testContextOverDuring},
		{"Race", (*shelf).testRace},
		{"RaceForOneKey", (*shelf).testRaceForOneKey},
	} {
		t.Run(s.name, func(t *testing.T) { s.run(emptyShelf(t, h)) })
	}
	runLease(t, func(t *testing.T) *hold[availability.Store] { return emptyShelf(t, h).hold },
		func(ctx context.Context, s availability.Store, run string) error {
			return s.Create(ctx, availabilityMark(run))
		})
	if h.MakeForeign != nil {
		t.Run("Foreign", func(t *testing.T) { emptyShelf(t, h).testForeign() })
	}
	if h.OpenVia == nil {
		return
	}
	runKeyedNetwork(t, h.network)
	t.Run("CutAtAnyTime", h.testCutAtAnyTime)
}

// shelf is one subtest's hold on the place under test.
type shelf struct {
	*hold[availability.Store]
	h    Availability
	book *Rows
}

func emptyShelf(t *testing.T, h Availability) *shelf {
	t.Helper()
	return &shelf{h: h, book: NewRows(), hold: empty(t, harness[availability.Store]{h.Open, h.MakeForeign, h.ForeignIntact, h.Secret})}
}

// create makes an empty table.
func (s *shelf) create(store availability.Store, run string) {
	s.t.Helper()
	if err := store.Create(s.ctx, availabilityMark(run)); err != nil {
		s.t.Fatalf("Create: %v", err)
	}
	s.book = NewRows()
}

// check settles and compares what was answered with what is there.
func (s *shelf) check() { s.t.Helper(); s.book.Check(s.ctx, s.t, s.store) }

func availabilityMark(run string) workload.Marker { return loadedMark("availability", run) }

// readRows is a Store's Read.
func readRows(store availability.Store) reading {
	return func(ctx context.Context, each func() error) error {
		return store.Read(ctx, func(availability.Row) error { return each() })
	}
}
