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

// order is the search for an order of transactions that explains what all of
// them read. Those that are committed must be in it, those of unknown outcome
// may be, those that failed must not.
type order struct {
	txns []Txn
	// realtime demands that who was acknowledged before another was begun
	// comes before it.
	realtime bool
	// snapshots lets each transaction see any state between the first and the
	// one before its own, provided that nobody has since written what it
	// writes: generalized snapshot isolation.
	snapshots bool
	states    []map[int64][]int64 // after each transaction
	writes    []map[int64]bool
	placed    []bool
}

func (o *order) exists() bool {
	o.states = []map[int64][]int64{{}}
	o.writes = []map[int64]bool{nil}
	o.placed = make([]bool, len(o.txns))
	return o.extend()
}

func (o *order) extend() bool {
	complete := true
	for i := range o.txns {
		complete = complete && (o.placed[i] || o.txns[i].Outcome != history.Committed)
	}
	if complete {
		return true
	}
	for i := range o.txns {
		if o.placed[i] || !o.mayBeNext(i) {
			continue
		}
		for _, after := range o.outcomes(&o.txns[i]) {
			o.placed[i] = true
			o.states, o.writes = append(o.states, after.state), append(o.writes, after.writes)
			if o.extend() {
				return true
			}
			o.states, o.writes = o.states[:len(o.states)-1], o.writes[:len(o.writes)-1]
			o.placed[i] = false
		}
	}
	return false
}

func (o *order) mayBeNext(i int) bool {
	t := &o.txns[i]
	if t.Outcome == history.Failed || t.Outcome == history.Rejected {
		return false
	}
	for j := range o.txns {
		other := &o.txns[j]
		if o.realtime && !o.placed[j] && other.Outcome == history.Committed && other.Complete < t.Invoke {
			return false
		}
	}
	return true
}

type after struct {
	state  map[int64][]int64
	writes map[int64]bool
}

// outcomes returns the state after t, at most once, if t can come next.
func (o *order) outcomes(t *Txn) []after {
	last := len(o.states) - 1
	first := last
	if o.snapshots {
		first = 0
	}
	for s := last; s >= first; s-- {
		own := map[int64][]int64{}
		if !replay(t, o.states[s], own) {
			continue
		}
		state, writes := map[int64][]int64{}, map[int64]bool{}
		for k, v := range o.states[last] {
			state[k] = v
		}
		conflict := false
		for k, v := range own {
			state[k], writes[k] = v, true
			for _, w := range o.writes[s+1:] {
				conflict = conflict || w[k]
			}
		}
		if !conflict {
			return []after{{state, writes}}
		}
	}
	return nil
}

// replay runs t on a state, entering what it writes into own, and reports whether
// it reads what it read.
func replay(t *Txn, state, own map[int64][]int64) bool {
	for i := range t.Ops {
		op := &t.Ops[i]
		now, mine := own[op.Key]
		if !mine {
			now = state[op.Key]
		}
		switch op.Kind {
		case Append:
			own[op.Key] = append(now[:len(now):len(now)], op.Value)
		case Write:
			own[op.Key] = []int64{op.Value}
		default:
			if t.Outcome == history.Committed && !slices.Equal(now, seen(op)) {
				return false
			}
		}
	}
	return true
}

// seen returns what an operation read, a register as a list of one.
func seen(op *Op) []int64 {
	switch op.Kind {
	case ReadList:
		return op.List
	case ReadValue:
		return []int64{op.Value}
	default:
		return nil
	}
}

// small returns a random history of two to six transactions on two keys. Most
// have one read that is not what the database said.
func small(t testing.TB, seed uint64, registers bool) []Txn {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	c := simulation{
		Level: isolationLevel(r.IntN(4)), Seed: seed, Txns: 2 + r.IntN(5), Clients: 2 + r.IntN(3),
		Keys: 2, MaxOps: 3, Registers: registers, Crash: float64(r.IntN(2)) * 0.3,
	}
	var txns []Txn
	var reads []*Op
	err := simulate(c, func(x Txn) error {
		x.Ops = slices.Clone(x.Ops)
		txns = append(txns, x)
		return nil
	})
	expect.NoError(t, err)
	for i := range txns {
		for j := range txns[i].Ops {
			if op := &txns[i].Ops[j]; op.Kind != Append && op.Kind != Write && txns[i].Outcome == history.Committed {
				reads = append(reads, op)
			}
		}
	}
	if len(reads) > 0 && r.IntN(3) > 0 {
		mutate(r, reads[r.IntN(len(reads))], registers)
	}
	return txns
}

// mutate changes what an operation read.
func mutate(r *rand.Rand, op *Op, registers bool) {
	if registers {
		op.Kind, op.Value = ReadValue, int64(r.IntN(5))
		if op.Value == 0 {
			op.Kind = ReadNothing
		}
		return
	}
	list := slices.Clone(op.List)
	switch n := len(list); {
	case r.IntN(8) == 0: // anything, even what nobody wrote
		list = nil
		for range r.IntN(4) {
			list = append(list, 1+r.Int64N(6))
		}
	case n > 0 && r.IntN(2) == 0:
		list = slices.Delete(list, n-1, n)
	case n > 1 && r.IntN(2) == 0:
		i := r.IntN(n - 1)
		list[i], list[i+1] = list[i+1], list[i]
	default:
		list = append(list, 1+r.Int64N(int64(n)+2))
	}
	op.Kind, op.List = ReadList, list
}

// unseenAtMostOne reports whether at most one append of each key is in no read:
// only then are the versions of each key totally ordered.
func unseenAtMostOne(txns []Txn) bool {
	unseen := map[int64]int{}
	for _, t := range txns {
		for _, op := range t.Ops {
			if op.Kind == Append && t.Outcome != history.Failed && !shown(txns, op) {
				unseen[op.Key]++
			}
		}
	}
	for _, n := range unseen {
		if n > 1 {
			return false
		}
	}
	return true
}

func shown(txns []Txn, write Op) bool {
	for _, t := range txns {
		for _, op := range t.Ops {
			if t.Outcome == history.Committed && op.Key == write.Key && slices.Contains(op.List, write.Value) {
				return true
			}
		}
	}
	return false
}

// TestAgreesWithAllOrders holds the verdicts against a search through all
// orders. Of lists they must be the same for serializability and strict
// serializability: of two appends that nobody saw the order does not matter,
// so that any order that the dependencies allow explains all reads. For
// snapshot isolation it can matter, and a register's reads do not show the
// order of its versions, so there it must only never convict the innocent.
func TestAgreesWithAllOrders(t *testing.T) {
	histories := 8 * *definitionHistories
	counts := map[string]int{}
	for seed := range uint64(histories) {
		for _, registers := range []bool{false, true} {
			txns := small(t, seed, registers)
			h := build(t, txns)
			for _, c := range []struct {
				model Model
				order order
				exact bool
			}{
				{Serializable, order{txns: txns}, !registers},
				{StrictSerializable, order{txns: txns, realtime: true}, !registers},
				{SnapshotIsolation, order{txns: txns, snapshots: true}, !registers && unseenAtMostOne(txns)},
			} {
				r := Check(context.Background(), h, c.model, Options{})
				checkReport(t, fmt.Sprint(seed, c.model), r)
				exists := c.order.exists()
				violated := r.Verdict == check.Violated
				if violated && exists || c.exact && !violated && !exists {
					t.Fatalf("seed %d, registers %v, %s: %v %v, but an order exists: %v%s",
						seed, registers, c.model, r.Verdict, r.Anomalies, exists, show(txns))
				}
				counts[fmt.Sprintf("%s registers=%v exists=%v violated=%v", c.model, registers, exists, violated)]++
			}
		}
	}
	for _, model := range []Model{Serializable, StrictSerializable, SnapshotIsolation} {
		for _, registers := range []bool{false, true} {
			for _, exists := range []bool{false, true} {
				key := fmt.Sprintf("%s registers=%v exists=%v violated=%v", model, registers, exists, !exists)
				if counts[key] < histories/20 {
					t.Errorf("%s: only %d histories", key, counts[key])
				}
			}
		}
	}
	t.Log(counts)
}
