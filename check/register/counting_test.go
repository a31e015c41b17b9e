package register

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"assay/check"
	"assay/history"
)

// changing is a register from which one client reads changes alternating values, while writes of
// each are in flight all the time.
func changing(values, writes, changes int, outcome history.Outcome) []Op {
	var ops []Op
	for i := range values * writes {
		w := write(int64(i), 1, 1_000_000, fmt.Sprint("v", i%values))
		w.Outcome = outcome
		ops = append(ops, w)
	}
	for i := range values * changes {
		n := int64(2 + 4*i)
		ops = append(ops, read(int64(values*writes), n, n+1, fmt.Sprint("v", i%values)))
	}
	return ops
}

// More changes to a value than writes of it convict alone: a search through all orders of so many
// writes would not end.
func TestCountingDecides(t *testing.T) {
	for _, c := range []struct{ values, writes, changes int }{
		{2, 30, 35}, {3, 30, 35}, {2, 67, 100}, {3, 67, 100}, {5, 40, 42}, {2, 500, 501},
	} {
		for _, outcome := range []history.Outcome{history.Committed, history.Unknown} {
			h := build(t, changing(c.values, c.writes, c.changes, outcome))
			r := Check(context.Background(), h, Options{Memory: 1 << 16}) // no room for a search
			if r.Verdict != check.Violated || r.Evidence[0].Kind != kindFew || r.Evidence[0].Fields["changes"] != int64(c.writes+1) ||
				r.Evidence[0].Fields["writes"] != int64(c.writes) {
				t.Errorf("%+v, %v: %v %s %+v", c, outcome, r.Verdict, r.Detail, r.Evidence)
			}
		}
	}
}

func TestCountingKeepsTime(t *testing.T) {
	ops := changing(2, 60, 50, history.Committed)
	for i := range ops {
		if ops[i].Kind == Write && i >= 60 { // a half of them is over before the reads are half done
			ops[i].Complete = 150
		}
	}
	r := Check(context.Background(), build(t, ops), Options{Memory: 1 << 16})
	if r.Verdict != check.Violated || r.Evidence[0].Kind != kindFew {
		t.Errorf("%v %s %+v", r.Verdict, r.Detail, r.Evidence)
	}
}

func TestCountingConvictsNobodyWithoutGuilt(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 21))
	convicted := 0
	for range 60_000 {
		ops := anything(r)
		h := build(t, ops)
		h.numberOf(Nil)
		var f findings
		prepare(&h.keys[0], h.number[Nil]).countChanges(&f)
		if f.found == 0 {
			continue
		}
		convicted++
		if brute(ops, Nil) {
			t.Fatalf("an order explains it: %+v\n%s", f.list, show(ops))
		}
	}
	if convicted < 300 {
		t.Errorf("only %d histories were convicted by counting", convicted)
	}
}

func TestCountingOfAnAtomicRegister(t *testing.T) {
	r := rand.New(rand.NewPCG(22, 22))
	for range 200 {
		ops := (atomicRegister{clients: 12, ops: 400, keys: 1, values: 1 + r.IntN(4), sets: r.IntN(2) == 0, unknown: r.IntN(2) == 0}).run(r)
		h := build(t, ops)
		h.numberOf(Nil)
		var f findings
		prepare(&h.keys[0], h.number[Nil]).countChanges(&f)
		if f.found > 0 {
			t.Fatalf("convicted: %+v\n%s", f.list, show(ops))
		}
	}
}

// Enough writes explain everything, because equal ones stand for each other.
func TestManyWritesOfFewValues(t *testing.T) {
	for _, c := range []struct{ values, writes, changes int }{
		{2, 35, 30}, {2, 100, 67}, {3, 100, 67}, {5, 40, 38}, {3, 67, 67},
	} {
		for _, outcome := range []history.Outcome{history.Committed, history.Unknown} {
			r := Check(context.Background(), build(t, changing(c.values, c.writes, c.changes, outcome)), Options{Memory: 64 << 20})
			if r.Verdict != check.Valid {
				t.Errorf("%+v, %v: %v %s %+v", c, outcome, r.Verdict, r.Detail, r.Evidence)
			}
		}
	}
}

// The search by states agrees with porcupine on histories of an atomic register with one change.
func TestStatesAgreeWithASearchForAnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 23))
	convicted := 0
	for range 1500 {
		ops := (atomicRegister{clients: 2 + r.IntN(4), ops: 40, keys: 1, values: 1 + r.IntN(3), sets: r.IntN(2) == 0, unknown: r.IntN(2) == 0}).run(r)
		ops[r.IntN(len(ops))].Value = ops[r.IntN(len(ops))].Value
		want := direct(ops)
		h := build(t, ops)
		h.numberOf(Nil)
		seq := prepare(&h.keys[0], h.number[Nil])
		c, decided := newSearcher(context.Background(), len(h.values), 1<<30).searchStates(seq.ops, seq.initial)
		if !decided || (c.hopeless == nil) != want {
			t.Fatalf("by states %v (decided: %v), by order %v\n%s", c.hopeless == nil, decided, want, show(ops))
		}
		if !want {
			convicted++
		}
	}
	if convicted < 200 {
		t.Errorf("only %d were wrong", convicted)
	}
}
