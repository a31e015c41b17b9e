package quantity

import "slices"

// Median is the middle value, or the mean of the two middle ones; 0 of none.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(n-1)/2]/2 + sorted[n/2]/2
}
