package report

import (
	"fmt"
	"math"
	"strconv"

	"assay/internal/quantity"
	"assay/measure"
)

// plusMinusName names a table line with the intervals of the figures above it.
const plusMinusName = "  ± (95 %)"

// plusMinus is the throughput's 95 % interval as text, empty if there is none.
func plusMinus(t *Throughput) string {
	i := t.Interval()
	if i == nil || t.PerSecond <= 0 {
		return ""
	}
	return " ±" + nbsp + upToShare(i.Share(t.PerSecond))
}

// upToShare is a share in percent, rounded up: to whole ones, and to tenths below 1 %.
func upToShare(share float64) string {
	if share < 0.01 {
		return fmt.Sprintf("%.1f"+nbsp+"%%", math.Ceil(1000*share)/10)
	}
	return quantity.Grouped(strconv.FormatFloat(math.Ceil(100*share), 'f', 0, 64)) + nbsp + "%"
}

type figureInterval struct {
	figure   float64
	interval *measure.Interval
}

func (f figureInterval) share() string {
	if f.interval == nil || f.figure <= 0 {
		return ""
	}
	return upToShare(f.interval.Share(f.figure))
}

func intervalsOf(l *Latency) [5]figureInterval {
	i := l.Intervals
	if i == nil {
		i = &measure.Intervals{}
	}
	return [5]figureInterval{{l.Mean, i.Mean}, {l.P50, i.P50}, {l.P95, i.P95}, {l.P99, i.P99}, {l.P999, i.P999}}
}

func plusMinusAt(l *Latency, at int) string {
	text := intervalsOf(l)[at].share()
	return when(text != "", " ±"+nbsp+text)
}
