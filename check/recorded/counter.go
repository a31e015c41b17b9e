package recorded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"assay/check"
	"assay/history/exchange"
)

const (
	kindBounds = "out-of-bounds"
	kindSum    = "impossible-sum"
	kindBack   = "went-back"
)

// counter judges a counter that begins at 0. One order of the additions and reads must explain
// all reads and keep real time.
//
// Three rules in time n log n convict without a search:
//   - A read is at least the sum acknowledged before it began, and at most the sum begun before
//     it ended (jepsen.checker/counter). Decrements of unknown effect lower only the least value.
//   - A read is the sum of everything acknowledged before it, and of some of the others.
//   - A read that follows another differs from it by at most what was in flight between.
//
// If they find nothing, a search looks for an order. If the search gives up, the verdict is unknown.
type counter struct {
	tally // of the additions
	adds  []increment
	reads []counterRead
	sum   int64 // of the absolute amounts
}

type increment struct {
	invoke, complete int64
	amount           int64
}

type counterRead struct {
	by    Operation
	value int64
	// acknowledged was acknowledged before the read began, begun was begun before it ended.
	acknowledged, begun amounts
	wrong               bool
}

type amounts struct{ up, down int64 }

func (a *amounts) add(v int64) {
	if v > 0 {
		a.up += v
	} else {
		a.down += v
	}
}

// newCounter judges an :add of a whole number, and a :read answered with one.
func newCounter() *judge {
	c := &counter{}
	return &judge{functions: []function{{word: "add", take: putting(c.increment)}, {word: "read", take: answered(c.read)}}, result: c.result}
}

func (c *counter) increment(o *exchange.Operation, by Operation, a exchange.Atom) error {
	amount, err := number(&o.Request, "a whole number of 64 bits")
	if err != nil {
		return err
	}
	if amount == math.MinInt64 || max(amount, -amount) > math.MaxInt64-c.sum {
		return errors.New("the amounts that were added are beyond 64 bits")
	}
	c.sum += max(amount, -amount)
	if c.tally.add(by.Outcome); by.Possible() {
		c.adds = append(c.adds, increment{invoke: by.Invoke, complete: by.Complete, amount: amount})
	}
	return nil
}

func (c *counter) read(by Operation, answer *exchange.Value) error {
	v, err := number(answer, "a whole number of 64 bits")
	c.reads = append(c.reads, counterRead{by: by, value: v})
	return err
}

func (c *counter) result(ctx context.Context) check.Result {
	slices.SortFunc(c.adds, func(a, b increment) int { return cmp.Compare(a.invoke, b.invoke) })
	slices.SortFunc(c.reads, func(a, b counterRead) int { return byInvoke(&a.by, &b.by) })
	f, order := newFindings(kindBounds, kindSum, kindBack, kindNoOrder), c.moments()
	c.judgeBounds(order, f)
	c.judgeSums(f)
	c.judgePairs(order, f)
	undecided := ""
	if f.Count() == 0 && !c.judgeOrder(ctx, order, f) {
		undecided = "whether one order explains the reads was not decided: too much was in flight at once; record fewer clients, or a shorter history"
		if ctx.Err() != nil {
			undecided = "whether one order explains the reads was not decided: the time limit ended before the search; allow more time, or judge a shorter history"
		}
	}
	detail, missing := fmt.Sprintf("%s, %s", c.describe("addition"), plural(len(c.reads), "read")), ""
	switch found := f.Count(); {
	case found > 0:
		detail += fmt.Sprintf("; %s saw what the counter cannot have held", check.Count(found))
	case len(c.reads) == 0:
		missing = "the counter was never read, so nothing can be said"
	case len(c.adds) == 0:
		missing = "nothing was added, so nothing was put to the test"
	case undecided != "":
		detail += "; each saw what was acknowledged before it, and no more than was begun"
		missing = undecided
	default:
		detail += "; each saw what was acknowledged before it, and no more than was begun; one order explains them all"
	}
	detail += f.beyond("checker/counter", "compares each read with what was acknowledged before it and begun by its end", kindSum, kindBack, kindNoOrder)
	return f.resultAs("counter", detail, missing, false, "")
}

func (c *counter) moments() []moment {
	return moments(len(c.adds)+len(c.reads), func(op int) (invoke, complete int64) {
		a, r := c.at(moment{op: int32(op)})
		if a != nil {
			return a.invoke, a.complete
		}
		return r.by.Invoke, r.by.Complete
	})
}

func (c *counter) at(m moment) (*increment, *counterRead) {
	if i := int(m.op); i < len(c.adds) {
		return &c.adds[i], nil
	}
	return nil, &c.reads[int(m.op)-len(c.adds)]
}

// judgeBounds finds reads below the acknowledged sum or above the begun sum.
func (c *counter) judgeBounds(order []moment, f *findings) {
	var acknowledged, begun amounts
	for _, m := range order {
		switch add, read := c.at(m); {
		case add != nil && m.ended:
			acknowledged.add(add.amount)
		case add != nil:
			begun.add(add.amount)
		case m.ended:
			read.begun = begun
			read.judge(f)
		default:
			read.acknowledged = acknowledged
		}
	}
}

func (r *counterRead) judge(f *findings) {
	least, most := r.acknowledged.up+r.begun.down, r.begun.up+r.acknowledged.down
	if r.value >= least && r.value <= most {
		return
	}
	r.wrong = true
	side := fmt.Sprintf("more than the %d that had been added at most when it ended", most)
	if r.value < least {
		side = fmt.Sprintf("less than the %d that had been acknowledged at least when it began", least)
	}
	f.Add(kindBounds, func() check.Evidence {
		e := r.by.evidence(kindBounds, "read %v, %s", r.valueField(), side)
		e.Fields["least"], e.Fields["most"] = least, most
		return e
	})
}

func (r *counterRead) valueField() field { return field{"value", r.value} }

// Bounds of the steps to find a sum: for one read, and for all.
const (
	mostSums = 1 << 12
	sumSteps = 1 << 26
)

// judgeSums finds reads that no set of additions explains. The set has all additions acknowledged
// before the read began, and some of those begun before it ended.
func (c *counter) judgeSums(f *findings) {
	var open []increment // not acknowledged before the read began
	next, left := 0, sumSteps
	for i := range c.reads {
		r := &c.reads[i]
		for ; next < len(c.adds) && c.adds[next].invoke < r.by.Complete; next++ {
			open = append(open, c.adds[next])
		}
		open = slices.DeleteFunc(open, func(a increment) bool { return a.complete < r.by.Invoke })
		if left -= len(open); r.wrong || left < 0 {
			continue
		}
		count := map[int64]int64{}
		for _, a := range open {
			if a.invoke < r.by.Complete && a.amount != 0 {
				count[a.amount]++
			}
		}
		known := r.acknowledged.up + r.acknowledged.down
		if r.wrong = !addsUp(r.value-known, count, &left); r.wrong {
			f.add(kindSum, &r.by, "read %v, which no additions add up to: %v had been acknowledged when it began, and none of the others that were begun before it ended make up the rest",
				r.valueField(), field{"acknowledged", known})
		}
	}
}

// addsUp reports whether some of the amounts add up to rest; count says how often each exists.
// Beyond mostSums or the steps left it returns true, unless the greatest common divisor of the
// amounts excludes it.
func addsUp(rest int64, count map[int64]int64, left *int) bool {
	divisor := int64(0)
	for amount := range count {
		for amount != 0 {
			divisor, amount = amount, divisor%amount
		}
	}
	switch {
	case rest == 0:
		return true
	case divisor == 0 || rest%divisor != 0:
		return false
	}
	sums := map[int64]bool{0: true}
	for amount, n := range count {
		for _, sum := range slices.Collect(maps.Keys(sums)) {
			for range n {
				sum += amount
				if *left--; *left < 0 || len(sums) > mostSums {
					return true
				}
				sums[sum] = true
			}
		}
	}
	return sums[rest]
}

// judgePairs finds reads that differ from an earlier one by more than was in flight between.
// Without decrements this means that a counter never goes back. On each side it keeps the
// earlier read that leaves the least room.
//
// Both reads contain the amounts acknowledged before the earlier one began. Only the later one
// may contain amounts begun before its end.
func (c *counter) judgePairs(order []moment, f *findings) {
	var low, high *counterRead
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	for _, m := range order {
		switch _, r := c.at(m); {
		case r == nil || r.wrong:
		case m.ended:
			if v := r.value - r.acknowledged.down; low == nil || v > least {
				low, least = r, v
			}
			if v := r.value - r.acknowledged.up; high == nil || v < most {
				high, most = r, v
			}
		case low != nil && r.value < least+r.begun.down:
			r.wentBack(f, low, "less")
		case high != nil && r.value > most+r.begun.up:
			r.wentBack(f, high, "more")
		}
	}
}

func (r *counterRead) wentBack(f *findings, earlier *counterRead, side string) {
	f.add(kindBack, &r.by, "read %v after %s had read %v: %s than the additions between them explain",
		r.valueField(), &earlier.by, field{"other_value", earlier.value}, side)
}
