package cycle_test

import (
	"context"
	"fmt"
	"testing"

	"assay/check"
	. "assay/check/cycle"
	"assay/internal/expect"
)

// Simulated databases keep a known level. Nothing that the level forbids may be found, whatever is
// assumed. At least half of the histories must show something that the level allows and the next
// stronger one forbids.
func TestLevels(t *testing.T) {
	for _, c := range []struct {
		level     isolationLevel
		registers bool
		keeps     []Model
		breaks    Model
	}{
		{simulateStrict, false, []Model{StrictSerializable, SessionSerializable, ReadUncommitted}, ""},
		{simulateStrict, true, []Model{StrictSerializable, SessionSerializable, ReadUncommitted}, ""},
		{simulateSnapshot, false, []Model{StrongSnapshotIsolation, SessionSnapshotIsolation, SnapshotIsolation}, Serializable},
		{simulateSnapshot, true, []Model{StrongSnapshotIsolation, SessionSnapshotIsolation, SnapshotIsolation}, Serializable},
		// Appends to lists are lost here, which already shows in reads of own appends; registers
		// are merely overwritten.
		{simulatePrefix, false, nil, ReadCommitted},
		{simulatePrefix, true, []Model{Prefix, Causal, ReadCommitted}, SnapshotIsolation},
		{simulateSnapshotReads, false, []Model{SnapshotReads}, Prefix},
		{simulateSnapshotReads, true, []Model{SnapshotReads}, SnapshotIsolation},
		{simulateNothing, false, nil, ReadUncommitted},
		{simulateNothing, true, []Model{ReadUncommitted}, ReadCommitted},
	} {
		const histories = 6
		broken := 0
		for seed := range uint64(histories) {
			h, err := simulatedHistory(simulation{
				Level: c.level, Seed: seed, Txns: 400, Clients: 3 + int(seed)%8, Registers: c.registers,
				Crash: float64(seed%3) * 0.05,
			})
			expect.NoError(t, err)
			for _, o := range []Options{{}, {SequentialKeys: true}, {LinearizableKeys: true}, {SequentialKeys: true, LinearizableKeys: true}} {
				for _, m := range c.keeps {
					if c.level >= simulatePrefix && o != (Options{}) && m != Prefix {
						continue // the assumptions do not hold there
					}
					r := Check(context.Background(), h, m, o)
					name := fmt.Sprintf("level %d, registers %v, seed %d, %s, %+v", c.level, c.registers, seed, m, o)
					checkReport(t, name, r)
					if r.Verdict != check.Valid {
						t.Fatalf("%s: %v %v %s", name, r.Verdict, r.Anomalies, r.Reason)
					}
					if len(r.Findings) > 0 && c.level <= simulateSnapshot {
						t.Fatalf("%s: %s", name, r.Findings[0].Text)
					}
				}
			}
			// Without the order of its versions, a register shows little skew.
			o := Options{LinearizableKeys: c.registers && c.level == simulateSnapshot}
			if c.breaks != "" && Check(context.Background(), h, c.breaks, o).Verdict == check.Violated {
				broken++
			}
		}
		if c.breaks != "" && broken < histories/2 {
			t.Errorf("level %d, registers %v: only %d of %d histories break %s", c.level, c.registers, broken, histories, c.breaks)
		}
	}
}
