package cycle_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"assay/check"
	. "assay/check/cycle"
	"assay/internal/expect"
)

var (
	honestHistories = flag.Int("cycle.honest", 20, "how many honest histories are judged by each model")
	honestTxns      = flag.Int("cycle.txns", 60, "how long these are")
)

// TestHonest judges what databases did that keep a level, by all models that it
// implies: nothing may be found.
func TestHonest(t *testing.T) {
	levels := map[isolationLevel][]Model{
		simulateStrict:   Models(),
		simulateSnapshot: without(Models(), RepeatableRead, UpdateSerializable, Serializable, SessionSerializable, StrictSerializable),
		simulatePrefix: {ReadUncommitted, ReadCommitted, SessionReadUncommitted, SessionReadCommitted, StrongReadUncommitted, StrongReadCommitted,
			MonotonicAtomicView, ReadAtomic, Causal, Prefix, SnapshotReads},
		simulateSnapshotReads: {ReadUncommitted, ReadCommitted, SessionReadUncommitted, SessionReadCommitted, StrongReadUncommitted, StrongReadCommitted, SnapshotReads},
		simulateNothing:       {ReadUncommitted, SessionReadUncommitted, StrongReadUncommitted},
	}
	judged, unknown := 0, 0
	spent := map[string]time.Duration{}
	for level, models := range levels {
		for _, registers := range []bool{false, true} {
			if !registers && (level == simulatePrefix || level == simulateNothing) {
				continue // lists lose elements there, and their reads contradict each other
			}
			for seed := range uint64(*honestHistories) {
				h, err := simulatedHistory(simulation{
					Level: level, Seed: seed, Txns: *honestTxns, Clients: 2 + int(seed%7), Keys: 2 + int(seed%9),
					Registers: registers, Crash: float64(seed%3) * 0.1,
				})
				expect.NoError(t, err)
				for _, m := range models {
					begin := time.Now()
					ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
					r := Check(ctx, h, m, Options{})
					cancel()
					spent[fmt.Sprint(level, registers, m)] += time.Since(begin)
					judged++
					if r.Verdict == check.Violated {
						t.Fatalf("level %d, registers %v, seed %d, %s: %v: %s", level, registers, seed, m, r.Anomalies, r.Evidence[0].Text)
					}
					if r.Verdict == check.Unknown {
						unknown++
						t.Logf("level %d, registers %v, seed %d, %s: %s", level, registers, seed, m, r.Reason)
					}
				}
			}
		}
	}
	if unknown*100 > judged {
		t.Errorf("%d of %d are unknown", unknown, judged)
	}
	for name, d := range spent {
		if d > time.Second {
			t.Logf("%s: %v", name, d)
		}
	}
}

func without(all []Model, some ...Model) []Model {
	var left []Model
	for _, m := range all {
		out := false
		for _, s := range some {
			out = out || s == m
		}
		if !out {
			left = append(left, m)
		}
	}
	return left
}
