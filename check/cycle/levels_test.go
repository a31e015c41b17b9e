package cycle_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check"
	. "assay/check/cycle"
	"assay/history"
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

func collect(t *testing.T, seed uint64, txns int) []Txn {
	t.Helper()
	var all []Txn
	err := simulate(simulation{Seed: seed, Txns: txns, Clients: 4, Keys: 3, Writes: 12}, func(x Txn) error {
		x.Ops = slices.Clone(x.Ops)
		all = append(all, x)
		return nil
	})
	expect.NoError(t, err)
	return all
}

// TestChangedReads changes one read at a time of valid histories.
//
// Two kinds of wrong reads can be found. One is no prefix of the longest read of its list, if
// another read is as long. (Otherwise the changed read is the longest itself, and it is right if
// its elements could have been appended in that order.) The other lacks an append acknowledged
// before it began.
//
// There remains a prefix of the true list that is too short or too long by concurrent appends. The
// transaction might have run a little earlier or later, so it is wrong only if the rest of it says
// so. TestAgreesWithSchedules shows that such a read is always found.
func TestChangedReads(t *testing.T) {
	found, stale := 0, 0
	for seed := range uint64(8) {
		txns := collect(t, seed, 120)
		longest := map[int64][]int{} // the two longest reads of each key
		acknowledged := map[[2]int64]int64{}
		for _, x := range txns {
			for _, op := range x.Ops {
				if x.Outcome != history.Committed {
					continue
				}
				if op.Kind == Append {
					acknowledged[[2]int64{op.Key, op.Value}] = x.Complete
				}
				longest[op.Key] = append(longest[op.Key], len(op.List))
			}
		}
		for _, reads := range longest {
			slices.SortFunc(reads, func(a, b int) int { return b - a })
		}
		r := rand.New(rand.NewPCG(seed, 12))
		for i := range txns {
			for j := range txns[i].Ops {
				op := &txns[i].Ops[j]
				if op.Kind != ReadList || txns[i].Outcome != history.Committed {
					continue
				}
				true0 := op.List
				others := longest[op.Key][0]
				if others == len(true0) {
					others = longest[op.Key][1]
				}
				for _, list := range changes(r, true0) {
					op.List = list
					rep := Check(context.Background(), build(t, txns), StrictSerializable, Options{})
					if len(list) <= others && rep.Verdict != check.Violated {
						t.Fatalf("seed %d: %v instead of %v in %d was not found", seed, list, true0, txns[i].ID)
					}
					found++
				}
				last := true0[len(true0)-1]
				if acknowledged[[2]int64{op.Key, last}] < txns[i].Invoke {
					op.List = true0[:len(true0)-1]
					op.Kind = ReadList
					rep := Check(context.Background(), build(t, txns), StrictSerializable, Options{})
					if rep.Verdict != check.Violated || len(rep.Findings) == 0 {
						t.Fatalf("seed %d: that %d was not read in %d was not found", seed, last, txns[i].ID)
					}
					stale++
				}
				op.List = true0
			}
		}
	}
	if found < 500 || stale < 100 {
		t.Errorf("only %d and %d changes were tried", found, stale)
	}
}

// changes returns lists that differ from this one within its length, or by an element that was
// never written.
func changes(r *rand.Rand, list []int64) [][]int64 {
	n := len(list)
	garbage := append(slices.Clone(list[:n-1]), 1000)
	all := [][]int64{garbage}
	if n > 1 {
		i := r.IntN(n - 1)
		swapped := slices.Clone(list)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		repeated := slices.Clone(list)
		repeated[i+1] = repeated[i]
		all = append(all, swapped, repeated, slices.Delete(slices.Clone(list), i, i+1))
	}
	return all
}
