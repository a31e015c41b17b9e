package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
)

// The order never convicts a valid run from which something is missing, if that part is incomplete.
func TestIncompleteRandomRunsAreNotConvicted(t *testing.T) {
	for seed := range uint64(300) {
		r := randomRun(seed, 3+int64(seed%20), 1+int(seed%6), 10+seed%80)
		rng := rand.New(rand.NewPCG(seed, 3))
		keep := rng.IntN(100)
		var parts []Part
		if seed%3 != 0 {
			parts = append(parts, Journal)
			r.rows = slices.DeleteFunc(r.rows, func(Row) bool { return rng.IntN(100) >= keep })
		}
		if seed%3 != 1 {
			parts = append(parts, History)
			r.ops = slices.DeleteFunc(r.ops, func(history.Op) bool { return rng.IntN(100) >= keep })
			r.reservations = nil
		}
		r = r.without(parts...)
		results := r.results(t)
		for _, name := range []string{"order", "snapshots"} {
			if got := results[name]; got.Verdict != check.Unknown || got.Found != 0 {
				t.Fatalf("seed %d without %v: %s is %v: %s %v", seed, parts, name, got.Verdict, got.Detail, got.Evidence)
			}
		}
	}
}
