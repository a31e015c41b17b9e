package bank

import (
	"math"

	"assay/workload"
)

// chooser draws from 0 to n-1, uniformly or by a Zipf law whose favourites are
// spread over the whole range. It is a value without state, so that a draw is
// a pure function of the random stream.
type chooser struct {
	n     int64
	theta float64
	// For the Zipf law, after Hörmann and Derflinger (below).
	hIntegralX1, hIntegralN, s float64
	// stride is coprime to n: rank r becomes key r*stride mod n, a bijection.
	stride int64
}

func newChooser(n int64, theta float64) chooser {
	c := chooser{n: n, theta: theta}
	if theta == 0 {
		return c
	}
	c.hIntegralX1 = c.hIntegral(1.5) - 1
	c.hIntegralN = c.hIntegral(float64(n) + 0.5)
	c.s = 2 - c.hIntegralInverse(c.hIntegral(2.5)-c.h(2))
	c.stride = coprime(n)
	return c
}

func (c *chooser) choose(r *workload.Random) int64 {
	if c.theta == 0 {
		return int64(r.Below(uint64(c.n)))
	}
	return (c.rank(r) - 1) % c.n * c.stride % c.n
}

// rank draws from 1 to n with P(k) proportional to k^-theta, by
// rejection-inversion: W. Hörmann, G. Derflinger, "Rejection-inversion to
// generate variates from monotone discrete distributions", ACM TOMACS 6(3),
// 1996. It needs no table, so that a hundred million keys cost nothing.
func (c *chooser) rank(r *workload.Random) int64 {
	for {
		u := c.hIntegralN + r.Float()*(c.hIntegralX1-c.hIntegralN)
		x := c.hIntegralInverse(u)
		k := min(max(math.Floor(x+0.5), 1), float64(c.n))
		if k-x <= c.s || u >= c.hIntegral(k+0.5)-c.h(k) {
			return int64(k)
		}
	}
}

// h is x^-theta, hIntegral one of its integrals.
func (c *chooser) h(x float64) float64 { return math.Exp(-c.theta * math.Log(x)) }

func (c *chooser) hIntegral(x float64) float64 {
	logX := math.Log(x)
	return expm1Over((1-c.theta)*logX) * logX
}

func (c *chooser) hIntegralInverse(x float64) float64 {
	t := max(x*(1-c.theta), -1)
	return math.Exp(log1pOver(t) * x)
}

// expm1Over is (e^x-1)/x, log1pOver is log(1+x)/x; both by their series near 0.
func expm1Over(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}

func log1pOver(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(0.5-x/3)
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
