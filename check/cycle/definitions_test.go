package cycle_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"assay/check"
	. "assay/check/cycle"
	"assay/history"
)

// wild returns a history of two to five transactions, which most databases would never produce.
func wild(seed uint64, registers bool) []Txn {
	r := rand.New(rand.NewPCG(seed, 99))
	n, keys := 2+r.IntN(4), 2+r.IntN(2)
	txns := make([]Txn, n)
	written := map[int64][]int64{}
	var free [3]int64
	for t := range txns {
		client := r.IntN(3)
		from := free[client] + int64(r.IntN(4))
		free[client] = from + 1 + int64(r.IntN(4))
		txns[t] = Txn{ID: int64(t), Process: int32(client), Invoke: from, Complete: free[client], Outcome: history.Committed}
		if r.IntN(6) == 0 {
			txns[t].Outcome = history.Unknown
		}
		for range 1 + r.IntN(3) {
			op := Op{Kind: ReadNothing, Key: int64(r.IntN(keys))}
			if r.IntN(2) == 0 {
				op.Kind, op.Value = Append, int64(len(written[op.Key])+1)
				if registers {
					op.Kind = Write
				}
				written[op.Key] = append(written[op.Key], op.Value)
			}
			txns[t].Ops = append(txns[t].Ops, op)
		}
	}
	for k := range written {
		r.Shuffle(len(written[k]), func(i, j int) { written[k][i], written[k][j] = written[k][j], written[k][i] })
		slices.Sort(written[k][:len(written[k])/2])
	}
	for t := range txns {
		for i := range txns[t].Ops {
			op := &txns[t].Ops[i]
			if op.Kind != ReadNothing {
				continue
			}
			if at := r.IntN(len(written[op.Key]) + 1); at > 0 {
				if op.Kind, op.Value = ReadValue, written[op.Key][at-1]; !registers {
					op.Kind, op.Value, op.List = ReadList, 0, written[op.Key][:at]
				}
			}
		}
	}
	return txns
}

// consistent reports whether the reads of each list fit one order. Otherwise read uncommitted is
// judged as if the longest read were right.
func (o *oracle) consistent() bool {
	for _, x := range o.txns {
		for _, op := range x.Ops {
			if x.Outcome == history.Committed && len(op.List) > 0 && o.writers[op.Key] == nil {
				return false
			}
		}
	}
	for key, writers := range o.writers {
		if !permute(writers, func(order []int) bool { return o.fits(key, order) }) {
			return false
		}
	}
	return true
}

var definitionHistories = flag.Int("cycle.histories", 150, "how many histories of each kind are compared with exhaustive search")

// The verdict on every model agrees with an exhaustive search by its definition.
func TestAgreesWithDefinitions(t *testing.T) {
	histories := *definitionHistories
	counts := map[string]int{}
	for seed := range uint64(histories) {
		for _, registers := range []bool{false, true} {
			for _, txns := range [][]Txn{wild(seed, registers), small(t, seed+100000, registers)} {
				compareDefinitions(t, seed, txns, counts)
			}
		}
	}
	for _, m := range Models() {
		for _, verdict := range []string{"valid", "violated"} {
			if n := counts[fmt.Sprintf("%s %s", m, verdict)]; n < histories/400 {
				t.Errorf("%s: only %d %s", m, n, verdict)
			}
		}
	}
	t.Log(counts)
}

func compareDefinitions(t *testing.T, seed uint64, txns []Txn, counts map[string]int) {
	t.Helper()
	o := newOracle(txns)
	var want map[Model]bool
	moments := false // for all reads and writes
	committed := false
	if o.consistent() {
		want = map[Model]bool{}
		newOracle(plainReads(txns)).each(func(f *facts) bool {
			want[SnapshotReads] = want[SnapshotReads] || f.allowed(Prefix)
			return false
		})
		o.each(func(f *facts) bool {
			for _, m := range without(Models(), SnapshotReads) {
				want[m] = want[m] || f.allowed(m)
			}
			committed = committed || f.allowed(ReadCommitted)
			moments = moments || f.allowed(MonotonicSnapshotRead) && f.statements(true)
			return false
		})
		want[SnapshotReads] = want[SnapshotReads] && committed
	}
	h := build(t, txns)
	for _, m := range Models() {
		weak := m == ReadUncommitted || m == SessionReadUncommitted || m == StrongReadUncommitted
		if want == nil && weak {
			continue
		}
		r := Check(context.Background(), h, m, Options{})
		checkReport(t, fmt.Sprint(seed, m), r)
		if r.Verdict == check.Unknown && !readsAnything(txns) {
			counts["unknown"]++
			continue
		}
		if r.Verdict == check.Unknown && m == MonotonicSnapshotRead && want[m] && !moments {
			counts["open"]++
			continue
		}
		if r.Verdict == check.Unknown {
			t.Fatalf("seed %d, %s: %s%s", seed, m, r.Reason, show(txns))
		}
		if (r.Verdict == check.Valid) != (want[m] && (m != MonotonicSnapshotRead || moments)) {
			t.Fatalf("seed %d, %s: %v %v, by definition %v%s", seed, m, r.Verdict, r.Anomalies, want[m], show(txns))
		}
		counts[fmt.Sprintf("%s %v", m, r.Verdict)]++
	}
}

// plainReads are the transactions without reads of keys that they have written themselves.
func plainReads(txns []Txn) (plain []Txn) {
	for _, x := range txns {
		wrote := map[int64]bool{}
		x.Ops = slices.DeleteFunc(slices.Clone(x.Ops), func(op Op) bool {
			writes := op.Kind == Append || op.Kind == Write
			out := !writes && wrote[op.Key]
			wrote[op.Key] = wrote[op.Key] || writes
			return out
		})
		plain = append(plain, x)
	}
	return plain
}

// readsAnything reports whether a committed transaction read anything, so that something was
// tested.
func readsAnything(txns []Txn) bool {
	for _, x := range txns {
		for _, op := range x.Ops {
			if x.Outcome == history.Committed && op.Kind != Append && op.Kind != Write {
				return true
			}
		}
	}
	return false
}
