package report

import (
	"math"
	"slices"
	"strconv"

	"assay/internal/quantity"
)

func (c LineChart) position(v float64) float64 {
	switch {
	case c.Percentiles && c.Operations > 0:
		return -math.Log10(max(1-v, 1/float64(c.Operations)))
	case c.Percentiles:
		return -math.Log10(max(1-v, 1e-9))
	}
	return v
}

func (c LineChart) height(v float64) float64 {
	switch {
	case c.Logarithmic:
		return math.Log10(max(v, smallestLogarithmic))
	case c.Rare:
		return math.Asinh(v)
	}
	return v
}

type scale struct{ low, high, from, to float64 }

func (s scale) place(v float64) float64 {
	if s.high <= s.low {
		return (s.from + s.to) / 2
	}
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

func (c LineChart) scales() (x, y scale) {
	x = scale{math.Inf(1), math.Inf(-1), chartLeft, chartLeft + innerWidth}
	y = scale{math.Inf(1), math.Inf(-1), float64(c.tall() - chartBottom), chartTop}
	for _, line := range c.Lines {
		for _, p := range line.places() {
			x.low, x.high = min(x.low, c.position(p[0])), max(x.high, c.position(p[0]))
			if c.draws(p[1]) {
				y.low, y.high = min(y.low, c.height(p[1])), max(y.high, c.height(p[1]))
			}
		}
	}
	if math.IsInf(x.low, 1) {
		x.low, x.high = 0, 1
	}
	switch {
	case math.IsInf(y.low, 1):
		y.low, y.high = 0, 1
	case c.Logarithmic:
		y.low, y.high = math.Floor(y.low), math.Ceil(y.high)
	default:
		y.low, y.high = min(0, y.low), max(y.high*roomAbove, y.low+smallestLogarithmic)
	}
	return x, y
}

func (c LineChart) across(s scale) []tick {
	var ticks []tick
	if c.Percentiles {
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999} {
			told := c.Operations == 0 || (1-q)*float64(c.Operations) > 1-1e-9 // else it is the slowest
			if at := c.position(q); told && at >= s.low-1e-9 && at <= s.high+1e-9 {
				ticks = append(ticks, tick{s.place(at), strconv.FormatFloat(q*100, 'f', -1, 64) + nbsp + "%"})
			}
		}
		return ticks
	}
	whole := c.whole()
	for _, v := range round(s.low, s.high) {
		if !whole || v == math.Trunc(v) {
			ticks = append(ticks, tick{s.place(v), quantity.Short(v)})
		}
	}
	return ticks
}

// whole reports whether Across has whole numbers only, such as clients.
func (c LineChart) whole() bool {
	for _, line := range c.Lines {
		if slices.ContainsFunc(line.Points, func(p [2]float64) bool { return p[0] != math.Trunc(p[0]) }) {
			return false
		}
	}
	return true
}

func (c LineChart) up(s scale) []tick {
	var values []float64
	switch {
	case c.Logarithmic:
		for power := s.low; power <= s.high; power++ {
			values = append(values, math.Pow(10, power))
		}
	case c.Rare && s.high > math.Asinh(10):
		values = []float64{0}
		for v := 1.0; c.height(v) <= s.high; v *= 10 {
			values = append(values, v)
		}
	case c.Rare:
		values = round(0, math.Sinh(s.high))
	default:
		values = round(s.low, s.high)
	}
	var ticks []tick
	for _, v := range values {
		ticks = append(ticks, tick{s.place(c.height(v)), c.text(v)})
	}
	return ticks
}

func (c LineChart) text(v float64) string {
	if c.Format == nil {
		return quantity.Short(v)
	}
	return unbroken(c.Format(v))
}

// round returns values between low and high in steps of 1, 2 or 5 times a power of ten.
func round(low, high float64) []float64 {
	if !(high > low) {
		return []float64{low}
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/mostTicks)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*factor) <= mostTicks {
			step *= factor
			break
		}
	}
	var values []float64
	for n := math.Ceil(low/step - 1e-9); n*step <= high+step*1e-9; n++ {
		values = append(values, n*step+0) // 0 instead of -0
	}
	return values
}
