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
	rareHistories = flag.Int("cycle.rare", 8, "how many histories of each kind TestLevels judges by each model")
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
// has a definition. Fewer than one in a hundred verdicts may be unknown. No database is convicted by
// a model that it keeps, whatever else it keeps is assumed, and most are by stronger ones.
func TestLevels(t *testing.T) {
	judged, unknown := map[Model]int{}, map[Model]int{}
	all, open := 0, 0
	for level := simulateStrict; level <= simulateNothing; level++ {
		for _, registers := range []bool{false, true} {
			broken := 0
			for seed := range uint64(*rareHistories) {
				h, err := simulatedHistory(simulation{
					Level: level, Seed: seed, Txns: *rareTxns, Clients: 2 + int(seed%9), Keys: 2 + int(seed%11), Writes: 8 << (seed % 5),
					Registers: registers, Crash: float64(seed%3) * 0.05,
				})
				expect.NoError(t, err)
				// Lists lose elements at the other levels, and their reads contradict each other.
				honest := registers || level != simulatePrefix && level != simulateNothing
				strict := check.Unknown
				for _, m := range Models() {
					for _, o := range assumptions(level, honest && slices.Contains(kept()[level], m)) {
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						r := Check(ctx, h, m, o)
						cancel()
						if r.Verdict == check.Violated && honest && slices.Contains(kept()[level], m) {
							t.Fatalf("level %d, registers %v, seed %d, %s, %+v: %v: %s", level, registers, seed, m, o, r.Anomalies, r.Evidence[0].Text)
						}
						if level <= simulateSnapshot && len(r.Findings) > 0 {
							t.Fatalf("level %d, registers %v, seed %d: %s", level, registers, seed, r.Findings[0].Text)
						}
						judged[m]++
						all++
						if r.Verdict == check.Unknown {
							unknown[m]++
							open++
							t.Logf("level %d, registers %v, seed %d, %s: %s", level, registers, seed, m, r.Reason)
						}
						strict = r.Verdict
					}
				}
				if strict == check.Violated {
					broken++
				}
			}
			if (level != simulateStrict) != (2*broken >= *rareHistories) {
				t.Errorf("level %d, registers %v: %d of %d histories are not strictly serializable", level, registers, broken, *rareHistories)
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

// assumptions are those under which a model is judged. What is assumed holds at two levels.
func assumptions(level isolationLevel, keeps bool) []Options {
	if level > simulateSnapshot || !keeps {
		return []Options{{}}
	}
	return []Options{{}, {SequentialKeys: true}, {LinearizableKeys: true}, {SequentialKeys: true, LinearizableKeys: true}}
}

func without(all []Model, some ...Model) []Model {
	return slices.DeleteFunc(slices.Clone(all), func(m Model) bool { return slices.Contains(some, m) })
}
