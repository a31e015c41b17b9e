package report

import (
	"fmt"
	"math"
	"strconv"

	"assay/internal/quantity"
	"assay/measure"
)

// plusMinusName is what a line of a table is called that has how far off the figures
// above it may be.
const plusMinusName = "  ± (95 %)"

// plusMinus is the interval of the throughput as it stands behind it, empty if there is
// none: how far off the figure may be, with a confidence of 95 %.
func plusMinus(t *Throughput) string {
	i := t.Interval()
	if i == nil || t.PerSecond <= 0 {
		return ""
	}
	return " ±" + nbsp + upToShare(i.Share(t.PerSecond))
}

// upToShare is a share in percent, rounded up: whole ones, and tenths below 1 %.
func upToShare(share float64) string {
	if share < 0.01 {
		return fmt.Sprintf("%.1f"+nbsp+"%%", math.Ceil(1000*share)/10)
	}
	return quantity.Grouped(strconv.FormatFloat(math.Ceil(100*share), 'f', 0, 64)) + nbsp + "%"
}

// figureInterval is a figure of a latency with its interval, nil if there is none.
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

// intervalsOf are the intervals of the mean, p50, p95, p99 and p99.9.
func intervalsOf(l *Latency) [5]figureInterval {
	i := l.Intervals
	if i == nil {
		i = &measure.Intervals{}
	}
	return [5]figureInterval{{l.Mean, i.Mean}, {l.P50, i.P50}, {l.P95, i.P95}, {l.P99, i.P99}, {l.P999, i.P999}}
}

// plusMinusAt is the interval of one of them as it stands behind the figure.
func plusMinusAt(l *Latency, at int) string {
	text := intervalsOf(l)[at].share()
	return when(text != "", " ±"+nbsp+text)
}
