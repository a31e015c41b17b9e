package bank

import "assay/workload"

// chooser draws from 0 to n-1, uniformly or by a Zipf law whose favourites are
// spread over the whole range. It is a value without state, so that a draw is
// a pure function of the random stream.
type chooser struct {
	n     int64
	theta float64
	law   workload.Zipf
	// stride is coprime to n: rank r becomes key r*stride mod n, a bijection.
	stride int64
}

func newChooser(n int64, theta float64) chooser {
	c := chooser{n: n, theta: theta}
	if theta != 0 {
		c.law, c.stride = workload.NewZipf(n, theta), coprime(n)
	}
	return c
}

func (c *chooser) choose(r *workload.Random) int64 {
	if c.theta == 0 {
		return int64(r.Below(uint64(c.n)))
	}
	return (c.law.Rank(r) - 1) % c.n * c.stride % c.n
}

// coprime returns a number near n/golden ratio that shares no factor with n,
// so that its multiples visit every key once and neighbours land far apart.
func coprime(n int64) int64 {
	for s := max(int64(float64(n)*0.6180339887498949), 1); ; s++ {
		if gcd(s, n) == 1 {
			return s
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
