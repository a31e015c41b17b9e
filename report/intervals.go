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

// shareOf is a figure's 95 % interval as a share of it; empty if there is none.
func shareOf(figure float64, i *measure.Interval) string {
	if i == nil || figure <= 0 {
		return ""
	}
	return upToShare(i.Share(figure))
}

func plusMinusOf(figure float64, i *measure.Interval) string {
	text := shareOf(figure, i)
	return when(text != "", " ±"+nbsp+text)
}

func plusMinus(t *Throughput) string { return plusMinusOf(t.PerSecond, t.Interval()) }

func intervalsOf(l *Latency) measure.Intervals {
	if l.Intervals == nil {
		return measure.Intervals{}
	}
	return *l.Intervals
}

// upToShare is a share in percent, rounded up: to whole ones, and to tenths below 1 %.
func upToShare(share float64) string {
	if share < 0.01 {
		return fmt.Sprintf("%.1f"+nbsp+"%%", math.Ceil(1000*share)/10)
	}
	return quantity.Grouped(strconv.FormatFloat(math.Ceil(100*share), 'f', 0, 64)) + nbsp + "%"
}
