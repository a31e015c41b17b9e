package collections

import (
	"cmp"
	"math"
	"slices"

	"assay/check"
	"assay/check/operation"
)

// Bounds of what is tried to find a sum: of one read, and of all.
const (
	mostSums = 1 << 12
	sumSteps = 1 << 26
)

// judgeSums finds reads that no set of additions adds up to: of those that were begun
// before the read ended, with all that were acknowledged before it began.
func (c *Counter) judgeSums(f *operation.Findings) {
	slices.SortFunc(c.adds, func(a, b increment) int { return cmp.Compare(a.invoke, b.invoke) })
	slices.SortFunc(c.reads, func(a, b counterRead) int { return cmp.Compare(a.by.Invoke, b.by.Invoke) })
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
		if r.wrong = !addsUp(r.value-known, count, &left); !r.wrong {
			continue
		}
		f.AddEvidence(kindSum, func() check.Evidence {
			e := r.by.Evidence(kindSum, "read %d, which no additions add up to: %d had been acknowledged when it began, and none of the others that were begun before it ended make up the rest",
				r.value, known)
			e.Fields["value"], e.Fields["acknowledged"] = r.value, known
			return e
		})
	}
}

// addsUp reports whether some of the amounts add up to rest, each taken at most as often
// as it is there. Beyond mostSums, or the steps that are left, it is true unless the
// greatest common divisor of the amounts says otherwise.
func addsUp(rest int64, count map[int64]int64, left *int) bool {
	divisor := int64(0)
	for amount := range count {
		for a, b := divisor, amount; ; a, b = b, a%b {
			if b == 0 {
				divisor = max(a, -a)
				break
			}
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
		reached := make([]int64, 0, len(sums))
		for sum := range sums {
			reached = append(reached, sum)
		}
		for _, sum := range reached {
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

// judgePairs finds reads that differ from one that ended before them by more than was
// in flight between: where nothing is taken away, a counter never goes back. Of all
// earlier reads the one is kept that leaves the least room on each side.
func (c *Counter) judgePairs(f *operation.Findings) {
	ended := make([]*counterRead, len(c.reads))
	for i := range c.reads {
		ended[i] = &c.reads[i]
	}
	slices.SortFunc(ended, func(a, b *counterRead) int { return cmp.Compare(a.by.Complete, b.by.Complete) })
	// What had been acknowledged before the earlier read began is in both; what was begun
	// before the later one ended may be in that alone.
	var low, high *counterRead
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	for i := range c.reads { // by when they began
		r := &c.reads[i]
		for ; len(ended) > 0 && ended[0].by.Complete < r.by.Invoke; ended = ended[1:] {
			e := ended[0]
			if e.wrong {
				continue
			}
			if v := e.value - e.acknowledged.down; low == nil || v > least {
				low, least = e, v
			}
			if v := e.value - e.acknowledged.up; high == nil || v < most {
				high, most = e, v
			}
		}
		switch {
		case r.wrong:
		case low != nil && r.value < least+r.begun.down:
			r.wentBack(f, low, "less")
		case high != nil && r.value > most+r.begun.up:
			r.wentBack(f, high, "more")
		}
	}
}

func (r *counterRead) wentBack(f *operation.Findings, earlier *counterRead, side string) {
	f.AddEvidence(kindBack, func() check.Evidence {
		e := r.by.Evidence(kindBack, "read %d after %s had read %d: %s than the additions between them explain", r.value, &earlier.by, earlier.value, side)
		e.Fields["value"], e.Fields["other_value"] = r.value, earlier.value
		return e
	})
}
