package workload

import "math"

// Zipf is the Zipf distribution over the ranks 1 to N: P(k) is proportional to k^-Theta, with
// Theta above 0 and not 1. It needs no table, and a draw depends on the random stream alone.
//
// It draws by rejection-inversion: W. Hörmann, G. Derflinger, "Rejection-inversion to
// generate variates from monotone discrete distributions", ACM TOMACS 6(3), 1996.
type Zipf struct {
	n, theta                   float64
	hIntegralX1, hIntegralN, s float64
}

// NewZipf returns the distribution over n ranks, at least one.
func NewZipf(n int64, theta float64) Zipf {
	z := Zipf{n: float64(n), theta: theta}
	z.hIntegralX1 = z.hIntegral(1.5) - 1
	z.hIntegralN = z.hIntegral(z.n + 0.5)
	z.s = 2 - z.hIntegralInverse(z.hIntegral(2.5)-z.h(2))
	return z
}

// Rank draws a rank from 1 to N.
func (z *Zipf) Rank(r *Random) int64 {
	for {
		u := z.hIntegralN + r.Float()*(z.hIntegralX1-z.hIntegralN)
		x := z.hIntegralInverse(u)
		k := min(max(math.Floor(x+0.5), 1), z.n)
		if k-x <= z.s || u >= z.hIntegral(k+0.5)-z.h(k) {
			return int64(k)
		}
	}
}

// h is x^-theta; hIntegral is an antiderivative of h.
func (z *Zipf) h(x float64) float64 { return math.Exp(-z.theta * math.Log(x)) }

func (z *Zipf) hIntegral(x float64) float64 {
	logX := math.Log(x)
	return expm1Over((1-z.theta)*logX) * logX
}

func (z *Zipf) hIntegralInverse(x float64) float64 {
	t := max(x*(1-z.theta), -1)
	return math.Exp(log1pOver(t) * x)
}

// expm1Over is (e^x-1)/x, and log1pOver is log(1+x)/x. Near 0 both use their series.
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
