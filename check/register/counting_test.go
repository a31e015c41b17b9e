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

// Where readers overlap, there are too many orders to try and too many states to walk.
func TestCountingDecidesForManyReaders(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ops := changing(4, 100, 300, history.Committed)
	for i := range ops {
		if o := &ops[i]; o.Kind == Read {
			o.Process = int64(i)
			o.Invoke -= min(o.Invoke-1, r.Int64N(10))
			o.Complete += r.Int64N(10)
		}
	}
	if f := Check(context.Background(), build(t, ops), Options{}); f.Verdict != check.Violated || f.Evidence[0].Kind != kindFew {
		t.Errorf("%v %s %+v", f.Verdict, f.Detail, f.Evidence)
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
