package cycle_test

import (
	"testing"

	"assay/check"
	. "assay/check/cycle"
	"assay/internal/expect"
)

// A history that a replay explains has an order that keeps real time, as a search through all
// schedules shows, and no model finds anything in it.
func TestReplaysHaveAnOrder(t *testing.T) {
	found, missed, none := 0, 0, 0
	for seed := range uint64(4000) {
		txns := small(t, seed, true)
		h := build(t, txns)
		strict := schedule{txns: txns, first: realtime}
		exists := strict.exists()
		switch replayed := h.Replays(t.Context()); {
		case replayed && !exists:
			t.Fatalf("seed %d was done again, but has no order:%s", seed, show(txns))
		case replayed:
			found++
			if r := Check(t.Context(), h, StrictSerializable, Options{LinearizableKeys: true}); r.Verdict == check.Violated {
				t.Fatalf("seed %d was done again, and is violated: %v%s", seed, r.Anomalies, show(txns))
			}
		case exists:
			missed++
		default:
			none++
		}
	}
	if found < 500 || none < 500 || found < missed {
		t.Errorf("%d were done again, %d others have an order, %d have none", found, missed, none)
	}
	t.Logf("%d were done again, %d others have an order, %d have none", found, missed, none)
}

// A replay explains long histories of a strictly serializable database, with and without lost
// answers. It explains none of a database without isolation, which are violated as before.
func TestLongReplays(t *testing.T) {
	for seed := range uint64(6) {
		for _, crash := range []float64{0, 0.02} {
			c := simulation{Seed: seed, Txns: 4000, Clients: 8, Registers: true, Crash: crash}
			h, err := simulatedHistory(c)
			expect.NoError(t, err)
			if crash == 0 && !h.Replays(t.Context()) {
				t.Errorf("seed %d: not done again", seed)
			}
			if r := Check(t.Context(), h, StrictSerializable, Options{}); r.Verdict != check.Valid {
				t.Errorf("seed %d, crash %v: %v %v", seed, crash, r.Verdict, r.Anomalies)
			}
			for _, level := range []isolationLevel{simulatePrefix, simulateNothing} {
				c.Level = level
				h, err := simulatedHistory(c)
				expect.NoError(t, err)
				if h.Replays(t.Context()) {
					t.Errorf("seed %d, level %d: done again", seed, level)
				}
				if r := Check(t.Context(), h, StrictSerializable, Options{}); r.Verdict != check.Violated {
					t.Errorf("seed %d, level %d: %v", seed, level, r.Verdict)
				}
			}
		}
	}
}
