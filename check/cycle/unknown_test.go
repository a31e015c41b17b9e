package cycle_test

import (
	"context"
	"flag"
	"slices"
	"testing"
	"time"

	"assay/check"
	. "assay/check/cycle"
	"assay/internal/expect"
)

var (
	rareHistories = flag.Int("cycle.rare", 8, "how many histories of each kind TestUnknownIsRare judges by each model")
	rareTxns      = flag.Int("cycle.raretxns", 60, "how long these are")
)

func kept() map[isolationLevel][]Model {
	uncommitted := []Model{ReadUncommitted, SessionReadUncommitted, StrongReadUncommitted}
	committed := append([]Model{ReadCommitted, SessionReadCommitted, StrongReadCommitted}, uncommitted...)
	return map[isolationLevel][]Model{
		simulateStrict:        Models(),
		simulateSnapshot:      without(Models(), RepeatableRead, UpdateSerializable, Serializable, SessionSerializable, StrictSerializable),
		simulatePrefix:        append([]Model{MonotonicAtomicView, ReadAtomic, Causal, Prefix, SnapshotReads}, committed...),
		simulateSnapshotReads: append([]Model{SnapshotReads}, committed...),
		simulateNothing:       uncommitted,
	}
}

// Random histories of databases that keep much, little and nothing are judged by every model that
// has a definition. Fewer than one in a hundred verdicts may be unknown, and no database is
// convicted by a model that it keeps.
func TestUnknownIsRare(t *testing.T) {
	judged, unknown := map[Model]int{}, map[Model]int{}
	all, open := 0, 0
	for level := simulateStrict; level <= simulateNothing; level++ {
		for _, registers := range []bool{false, true} {
			for seed := range uint64(*rareHistories) {
				h, err := simulatedHistory(simulation{
					Level: level, Seed: seed, Txns: *rareTxns, Clients: 2 + int(seed%9), Keys: 2 + int(seed%11), Writes: 8 << (seed % 5),
					Registers: registers, Crash: float64(seed%3) * 0.05,
				})
				expect.NoError(t, err)
				for _, m := range Models() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					r := Check(ctx, h, m, Options{})
					cancel()
					judged[m]++
					all++
					// Lists lose elements at the other levels, and their reads contradict each
					// other.
					if r.Verdict == check.Violated && slices.Contains(kept()[level], m) && (registers || level != simulatePrefix && level != simulateNothing) {
						t.Fatalf("level %d, registers %v, seed %d, %s: %v: %s", level, registers, seed, m, r.Anomalies, r.Evidence[0].Text)
					}
					if r.Verdict == check.Unknown {
						unknown[m]++
						open++
						t.Logf("level %d, registers %v, seed %d, %s: %s", level, registers, seed, m, r.Reason)
					}
				}
			}
		}
	}
	for _, m := range Models() {
		if unknown[m] > 0 {
			t.Logf("%s: %d of %d unknown", m, unknown[m], judged[m])
		}
	}
	t.Logf("%d of %d unknown", open, all)
	if 100*open >= all {
		t.Errorf("%d of %d verdicts are unknown", open, all)
	}
}

func without(all []Model, some ...Model) []Model {
	return slices.DeleteFunc(slices.Clone(all), func(m Model) bool { return slices.Contains(some, m) })
}
