package compare

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// pair is two groups that differ only in the compared property.
type pair struct{ a, b Group }

// effect is how a figure differs between the sides of pairs. It is the median of the ratios of
// every run to every run of its pair, with its 95 % interval. This is the Hodges-Lehmann estimate
// of the U test, or of van Elteren's for several pairs (P. van Elteren, "On the combination of
// independent two-sample tests of Wilcoxon", 1960). The interval holds 1 if the test shows no
// difference.
type effect struct {
	metric metric
	pairs  []pair
	// differences replace ratios if a figure is 0.
	differences bool
	// middleLow and middleHigh are equal, or bounds if the run's end cut figures.
	middleLow, middleHigh float64
	// low and high are infinite if the run's end cut what would tell.
	low, high float64
	// enough is false if this few runs can show nothing. The interval is then of all ratios.
	enough bool
	p      float64
}

// effectOf expects pairs whose groups all have the figure.
func effectOf(m metric, pairs []pair) effect {
	e := effect{metric: m, pairs: pairs, differences: slices.ContainsFunc(pairs, func(p pair) bool {
		return slices.ContainsFunc(slices.Concat(valuesOf(m, p.a), valuesOf(m, p.b)), func(v float64) bool { return v <= 0 })
	})}
	var lows, highs []float64
	chances := []float64{1} // of each number of runs that are above one of the other side
	var sides [][2][]observation
	for _, p := range pairs {
		x, y := observed(m, p.a), observed(m, p.b)
		for _, a := range x {
			for _, b := range y {
				low, high := e.between(a, b)
				lows, highs = append(lows, low), append(highs, high)
			}
		}
		chances = joinedChances(chances, rankChances(len(x), len(y)))
		sides = append(sides, [2][]observation{x, y})
	}
	slices.Sort(lows)
	slices.Sort(highs)
	n := len(lows)
	out, tail := 0, 0.0 // so many ratios lie outside of the interval at either end
	for ; out < n/2 && tail+chances[out] <= alpha/2; out++ {
		tail += chances[out]
	}
	e.enough = out > 0
	at := max(out, 1)
	e.low, e.high = lows[at-1], highs[n-at]
	e.middleLow, e.middleHigh = lows[(n-1)/2]/2+lows[n/2]/2, highs[(n-1)/2]/2+highs[n/2]/2
	e.p = probability(sides...)
	return e
}

// between bounds the ratio, or difference, of figures that may be cut.
func (e effect) between(a, b observation) (low, high float64) {
	v := a.value - b.value
	if !e.differences {
		v = a.value / b.value
	}
	low, high = v, v
	if b.cut {
		low = math.Inf(-1)
	}
	if a.cut {
		high = math.Inf(1)
	}
	return low, high
}

func (e effect) none() float64 {
	if e.differences {
		return 0
	}
	return 1
}

// rankChances are the chances of each U of two equal groups.
func rankChances(n, m int) []float64 {
	ranks := make([]int, n+m)
	for i := range ranks {
		ranks[i] = i
	}
	return divisions(ranks, n)[n*(n-1)/2:]
}

// shown is 1 if the first side's figure is shown to be higher, -1 if lower, otherwise 0.
func (e effect) shown() int {
	switch {
	case !e.enough:
	case e.low > e.none():
		return 1
	case e.high < e.none():
		return -1
	}
	return 0
}

// change says by how much the first side is higher or lower. A bound turns round where it is lower: at
// most a fifth of the other is at least 80 % lower.
func (e effect) change() string {
	prefix, ifLower, v := "", "", e.middleLow
	switch {
	case math.IsInf(e.middleLow, 0) && math.IsInf(e.middleHigh, 0):
		return "of an unknown size, since the runs' end cut it"
	case math.IsInf(e.middleHigh, 0):
		prefix, ifLower = "at least ", "at most "
	case math.IsInf(e.middleLow, 0):
		prefix, ifLower, v = "at most ", "at least ", e.middleHigh
	}
	word := " higher"
	if v < e.none() {
		word, prefix = " lower", ifLower
	}
	switch {
	case v == e.none():
		return prefix + "the same"
	case e.differences:
		return prefix + e.metric.format(math.Abs(v)) + word
	case v >= 2:
		return prefix + timesText(v) + " times as high"
	}
	return prefix + percentText(v-1) + " %" + word
}

func (e effect) interval() string {
	write, unit := func(v float64) string { return percentText(v - 1) }, " %"
	down := e.middleLow < e.none() && e.high <= e.none()
	switch {
	case e.differences:
		write, unit = e.metric.format, ""
	case e.middleLow >= 2 && !math.IsInf(e.middleLow, 0):
		write, unit = timesText, " times"
	case !down && e.low < e.none():
		write = func(v float64) string { return strconv.FormatFloat(math.Round((v-1)*100), 'f', -1, 64) }
	}
	low, high := e.low, e.high
	switch {
	case math.IsInf(low, 0) && math.IsInf(high, 0):
		return "not known"
	case math.IsInf(high, 0):
		return "at least " + write(low) + unit
	case math.IsInf(low, 0) && down && !e.differences: // written as how much lower
		return "at least " + write(high) + unit
	case math.IsInf(low, 0):
		return "at most " + write(high) + unit
	case !e.differences && high <= 1: // lower by the smaller share to the larger
		low, high = high, low
	}
	if write(low) == write(high) {
		return write(low) + unit
	}
	return write(low) + " to " + write(high) + unit
}

func (e effect) chance() string {
	return strings.Replace("p="+probabilityText(e.p), "=<", "<", 1)
}

func (e effect) most() string {
	far := max(math.Abs(e.low-e.none()), math.Abs(e.high-e.none()))
	switch {
	case math.IsInf(far, 0):
		return "not known how large a one"
	case e.differences:
		return "at most " + e.metric.format(far)
	case far >= 1:
		return "at most " + timesText(1+far) + " times"
	}
	return "at most " + percentText(far) + " %"
}

// timesText and percentText write two digits, or all digits before the point.
func timesText(v float64) string {
	if v >= 9.95 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func percentText(share float64) string { return timesText(math.Abs(share) * 100) }
