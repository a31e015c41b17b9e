package cycle_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "assay/check/cycle"
	"assay/history"
	"assay/internal/expect"
)

// replay runs t on a state, entering its writes into own, and reports whether it reads what it
// read.
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

// small returns a random history of two to six transactions on two keys. Most have one changed
// read.
func small(t testing.TB, seed uint64, registers bool) []Txn {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	c := simulation{
		Level: isolationLevel(r.IntN(4)), Seed: seed, Txns: 2 + r.IntN(5), Clients: 2 + r.IntN(3),
		Keys: 2, MaxOps: 3, Registers: registers, Crash: float64(r.IntN(2)) * 0.3,
	}
	txns, reads := simulated(t, c)
	if len(reads) > 0 && r.IntN(3) > 0 {
		mutate(r, reads[r.IntN(len(reads))], registers)
	}
	return txns
}

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

// simulated returns a simulation's transactions, and the reads of the committed ones.
func simulated(t testing.TB, c simulation) (txns []Txn, reads []*Op) {
	t.Helper()
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
	return txns, reads
}
