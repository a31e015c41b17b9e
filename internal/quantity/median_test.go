package quantity

import (
	"math"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{9, 1, 4}, 4}, {[]float64{8, 1, 4, 2}, 3}, {[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64}} {
		before := slices.Clone(c.values)
		if got := Median(c.values); got != c.want || !slices.Equal(c.values, before) {
			t.Errorf("%v: %v, want %v; after it %v", before, got, c.want, c.values)
		}
	}
}
