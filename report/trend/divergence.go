package trend

import "math"

// distances has in sums[i][j] the sum over pairs of a value before i and one before j.
type distances struct{ sums [][]float64 }

func newDistances(series []float64) distances {
	n := len(series)
	d := distances{sums: make([][]float64, n+1)}
	d.sums[0] = make([]float64, n+1)
	for i := range n {
		d.sums[i+1] = make([]float64, n+1)
		row := 0.0
		for j := range n {
			row += math.Abs(series[i] - series[j])
			d.sums[i+1][j+1] = d.sums[i][j+1] + row
		}
	}
	return d
}

// between is the sum over pairs of a value in [a, b) and one in [c, to).
func (d distances) between(a, b, c, to int) float64 {
	return d.sums[b][to] - d.sums[a][to] - d.sums[b][c] + d.sums[a][c]
}

// split divides the values from start to end where the first part and the values after it, up to
// any value before the end, differ most (Matteson and James, equation 7, with the distance to the
// power of 1). It returns 0 for fewer than two values.
func (d distances) split(start, end int) (at int, divergence float64) {
	divergence = math.Inf(-1)
	for t := start + 1; t < end; t++ {
		before := d.between(start, t, start, t) / 2
		for k := t + 1; k <= end; k++ {
			n, m := float64(t-start), float64(k-t)
			q := d.between(start, t, t, k)
			if n > 1 {
				q -= m / (n - 1) * before
			}
			if m > 1 {
				q -= n / (m - 1) * d.between(t, k, t, k) / 2
			}
			if q *= 2 / (n + m); q > divergence {
				at, divergence = t, q
			}
		}
	}
	return at, divergence
}
