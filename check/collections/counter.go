package collections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// Counter judges a counter that begins at 0: whether one order of the additions and
// the reads explains all reads, in which what ended comes before what began later.
//
// Four rules say that there is none, the first three in time n log n. A read is at
// least the sum of what was acknowledged before it began, and at most that of all that
// was begun before it ended (jepsen.checker/counter; where there are decrements, those
// that may or may not have taken effect lower the least and not the most). It is the
// sum of all that was acknowledged before it and of some of the others. Of two reads,
// one after the other, the second differs from the first by no more than was in flight
// between. And if none of these finds anything, an order is looked for.
type Counter struct {
	adds  []increment
	reads []counterRead
	sum   int64 // of the absolute amounts

	acknowledged, failed, unknown int64
}

type increment struct {
	invoke, complete int64
	amount           int64
}

type counterRead struct {
	by    operation.Operation
	value int64
	// acknowledged are the amounts acknowledged before the read began, begun
	// those begun before it ended.
	acknowledged, begun amounts
	wrong               bool
}

// amounts are sums of the positive and of the negative ones.
type amounts struct{ up, down int64 }

func (a *amounts) add(v int64) {
	if v > 0 {
		a.up += v
	} else {
		a.down += v
	}
}

// NewCounter returns a judge.
func NewCounter() *Counter { return &Counter{} }

// Add takes one operation: an :add of a whole number, or a :read that is answered
// with one. Any other is an error.
func (c *Counter) Add(o *exchange.Operation) error {
	switch o.Word {
	case "add":
		a, err := operation.Element(o)
		if err != nil {
			return err
		}
		return c.increment(o, a)
	case "read":
		return c.read(o)
	}
	return operation.UnknownFunction(o, "add and read")
}

func (c *Counter) increment(o *exchange.Operation, a exchange.Atom) error {
	if a.Kind != exchange.Number {
		return operation.Unfit(o, "a whole number of 64 bits")
	}
	amount := a.Int
	if amount == math.MinInt64 || max(amount, -amount) > math.MaxInt64-c.sum {
		return errors.New("the amounts that were added are beyond 64 bits")
	}
	c.sum += max(amount, -amount)
	switch o.Outcome {
	case history.Committed:
		c.acknowledged++
	case history.Unknown:
		c.unknown++
	default:
		c.failed++
		return nil
	}
	kept := operation.Of(o)
	c.adds = append(c.adds, increment{invoke: kept.Invoke, complete: kept.Complete, amount: amount})
	return nil
}

func (c *Counter) read(o *exchange.Operation) error {
	if err := operation.Nothing(o); err != nil {
		return err
	}
	if o.Outcome != history.Committed {
		return nil
	}
	if o.Answer.Form != exchange.Scalar || o.Answer.Atom.Kind != exchange.Number {
		return operation.Unfit(o, "a whole number of 64 bits")
	}
	c.reads = append(c.reads, counterRead{by: operation.Of(o), value: o.Answer.Atom.Int})
	return nil
}

// Result returns the answer over all operations.
func (c *Counter) Result(ctx context.Context) check.Result {
	r, f := check.Result{Name: "counter"}, operation.NewFindings(kindBounds, kindSum, kindBack, kindNoOrder)
	c.sums()
	for i := range c.reads {
		c.reads[i].judge(f)
	}
	c.judgeSums(f)
	c.judgePairs(f)
	order := "; one order explains them all"
	if wrong := f.Summary(); wrong == "" {
		if whole := c.judgeOrder(ctx, f); !whole {
			order = "; whether one order explains them all was not decided: too much was in flight at once"
		}
	}
	f.Into(&r)
	r.Detail = fmt.Sprintf("%s (%s acknowledged, %s failed, %s of unknown outcome), %s", operation.Plural(c.acknowledged+c.failed+c.unknown, "addition"),
		check.CountOrNone(c.acknowledged), check.CountOrNone(c.failed), check.CountOrNone(c.unknown), operation.Plural(len(c.reads), "read"))
	missing := ""
	switch {
	case r.Found > 0:
		r.Detail += fmt.Sprintf("; %s saw what the counter cannot have held", check.Count(r.Found))
	case len(c.reads) == 0:
		missing = "the counter was never read, so nothing can be said"
	case len(c.adds) == 0:
		missing = "nothing was added, so nothing was put to the test"
	default:
		r.Detail += "; each saw what was acknowledged before it, and no more than was begun" + order
	}
	r.Finish(missing, false, "")
	return r
}

// sums goes through time twice: in the order of acknowledgements, and in that of
// invocations.
func (c *Counter) sums() {
	var sum amounts
	at := 0
	slices.SortFunc(c.adds, func(a, b increment) int { return cmp.Compare(a.complete, b.complete) })
	slices.SortFunc(c.reads, func(a, b counterRead) int { return cmp.Compare(a.by.Invoke, b.by.Invoke) })
	for i := range c.reads {
		for ; at < len(c.adds) && c.adds[at].complete < c.reads[i].by.Invoke; at++ {
			sum.add(c.adds[at].amount)
		}
		c.reads[i].acknowledged = sum
	}
	sum, at = amounts{}, 0
	slices.SortFunc(c.adds, func(a, b increment) int { return cmp.Compare(a.invoke, b.invoke) })
	slices.SortFunc(c.reads, func(a, b counterRead) int { return cmp.Compare(a.by.Complete, b.by.Complete) })
	for i := range c.reads {
		for ; at < len(c.adds) && c.adds[at].invoke < c.reads[i].by.Complete; at++ {
			sum.add(c.adds[at].amount)
		}
		c.reads[i].begun = sum
	}
}

func (r *counterRead) judge(f *operation.Findings) {
	least := r.acknowledged.up + r.begun.down
	most := r.begun.up + r.acknowledged.down
	if r.value >= least && r.value <= most {
		return
	}
	r.wrong = true
	f.AddEvidence(kindBounds, func() check.Evidence {
		side := fmt.Sprintf("more than the %d that had been added at most when it ended", most)
		if r.value < least {
			side = fmt.Sprintf("less than the %d that had been acknowledged at least when it began", least)
		}
		e := r.by.Evidence(kindBounds, "read %d, %s", r.value, side)
		e.Fields["value"], e.Fields["least"], e.Fields["most"] = r.value, least, most
		return e
	})
}
