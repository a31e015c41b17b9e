package compare

import (
	"testing"

	"assay/measure"
	"assay/report"
)

func TestTheBestSecond(t *testing.T) {
	for _, test := range []struct {
		name   string
		series measure.Series
		want   float64
	}{
		{"seconds", measure.Series{IntervalSeconds: 1, MeasureStart: 1, MeasureEnd: 4, Start: []float64{0, 1, 2, 3, 4}, Committed: []int64{90, 10, 30, 20, 80}}, 30},
		{"halves of a second", measure.Series{IntervalSeconds: 0.5, MeasureStart: 0.5, MeasureEnd: 2.5, Start: []float64{0, 0.5, 1, 1.5, 2}, Committed: []int64{90, 10, 30, 20, 5}}, 50},
		{"ten seconds", measure.Series{IntervalSeconds: 10, MeasureEnd: 20, Start: []float64{0, 10}, Committed: []int64{90, 200}}, 20},
		{"nothing", measure.Series{}, 0},
	} {
		if best, known := bestSecond(&report.Result{Series: test.series}); best != test.want || known != (test.want > 0) {
			t.Errorf("%s: %v, %v; want %v", test.name, best, known, test.want)
		}
	}
}
