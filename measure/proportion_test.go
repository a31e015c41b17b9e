package measure

import (
	"math"
	"testing"
)

// TestOfTries has values of tables of the exact interval.
func TestOfTries(t *testing.T) {
	for _, c := range []struct {
		shown, tries int
		low, high    float64
	}{{0, 10, 0, 0.3085}, {1, 10, 0.0025, 0.4450}, {5, 10, 0.1871, 0.8129}, {10, 10, 0.6915, 1}, {3, 250, 0.0025, 0.0347}, {0, 0, 0, 1}} {
		i := OfTries(c.shown, c.tries)
		if math.Abs(i.Low-c.low) > 0.0001 || math.Abs(i.High-c.high) > 0.0001 {
			t.Errorf("%d of %d: %.4f to %.4f, and not %.4f to %.4f", c.shown, c.tries, i.Low, i.High, c.low, c.high)
		}
	}
}
