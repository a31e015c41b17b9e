// Package scalability fits the Universal Scalability Law to measured throughput: how much work is
// serial, how much clients obstruct each other, and which number of clients has the highest
// throughput.
//
// It must know numbers alone, not runs or databases.
package scalability

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Point is the measured throughput of a load.
type Point struct {
	// Both are above 0.
	Clients, PerSecond float64
}

// Law is the Universal Scalability Law,
//
//	X(N) = Lambda N / (1 + Sigma (N-1) + Kappa N (N-1))
//
// with the throughput Lambda of one client, the serial share Sigma of the work (contention), and
// the cost Kappa of each pair of clients (coherency). See N. J. Gunther, "Guerrilla Capacity
// Planning", Springer 2007, chapters 4 to 6.
type Law struct {
	Lambda, Sigma, Kappa Parameter
	// Smallest and Largest are the measured numbers of clients. Beyond them the law is a guess.
	Smallest, Largest float64
	// Deviation is the standard deviation of the points from the law, as a share.
	Deviation float64
}

// Parameter is a fitted value with its 95 % confidence interval.
type Parameter struct{ Value, Low, High float64 }

// ErrTooFew means that the points do not determine the law.
var ErrTooFew = errors.New("the law has three parameters, and needs points at four numbers of clients or more")

const leastLoads = 4

const resamples = 1000

// Fit finds the law nearest to the points by relative distance, with Sigma and Kappa of at least
// 0. The intervals come from a bootstrap over the residuals (B. Efron, R. Tibshirani, "An
// Introduction to the Bootstrap", 1993, chapter 9), seeded with seed. It returns ErrTooFew.
func Fit(points []Point, seed uint64) (Law, error) {
	loads := map[float64]bool{}
	for _, p := range points {
		if p.Clients > 0 && p.PerSecond > 0 {
			loads[p.Clients] = true
		}
	}
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return !loads[p.Clients] || p.PerSecond <= 0 })
	if len(loads) < leastLoads {
		return Law{}, ErrTooFew
	}
	best := nearest(points)
	residuals := make([]float64, len(points))
	law := Law{Smallest: math.Inf(1)}
	for i, p := range points {
		residuals[i] = p.PerSecond/best.at(p.Clients) - 1
		law.Deviation += residuals[i] * residuals[i]
		law.Smallest, law.Largest = min(law.Smallest, p.Clients), max(law.Largest, p.Clients)
	}
	law.Deviation = math.Sqrt(law.Deviation / float64(max(1, len(points)-3)))
	random := rand.New(rand.NewPCG(seed, 0x75736c))
	var lambdas, sigmas, kappas []float64
	again := make([]Point, len(points))
	for range resamples {
		for i, p := range points {
			drawn := best.at(p.Clients) * (1 + residuals[random.IntN(len(residuals))])
			again[i] = Point{p.Clients, max(drawn, math.SmallestNonzeroFloat32)}
		}
		c := nearest(again)
		lambdas, sigmas, kappas = append(lambdas, c.lambda), append(sigmas, c.sigma), append(kappas, c.kappa)
	}
	law.Lambda, law.Sigma, law.Kappa = parameter(best.lambda, lambdas), parameter(best.sigma, sigmas), parameter(best.kappa, kappas)
	return law, nil
}

func parameter(value float64, drawn []float64) Parameter {
	slices.Sort(drawn)
	return Parameter{value, drawn[len(drawn)*25/1000], drawn[len(drawn)*975/1000]}
}

type coefficients struct{ lambda, sigma, kappa float64 }

func (c coefficients) at(n float64) float64 {
	return c.lambda * n / (1 + c.sigma*(n-1) + c.kappa*n*(n-1))
}

// At is the law's throughput for a number of clients.
func (l Law) At(clients float64) float64 {
	return coefficients{l.Lambda.Value, l.Sigma.Value, l.Kappa.Value}.at(clients)
}

// Peak is the number of clients with the highest throughput, sqrt((1-Sigma)/Kappa), and whether
// it was measured. It is infinite if Kappa is 0.
func (l Law) Peak() (clients float64, measured bool) {
	if l.Kappa.Value <= 0 {
		return math.Inf(1), false
	}
	clients = math.Sqrt(max(0, 1-l.Sigma.Value) / l.Kappa.Value)
	return clients, clients >= l.Smallest && clients <= l.Largest
}

// nearest solves the linear form N/X = a + b (N-1) + c N (N-1) with a = 1/Lambda, b =
// Sigma/Lambda and c = Kappa/Lambda by weighted least squares: N/X has the relative error of X.
// It sets b, c or both to 0 where needed, and takes the nearest law without negative
// coefficients.
func nearest(points []Point) coefficients {
	best, distance := coefficients{lambda: points[0].PerSecond / points[0].Clients}, math.Inf(1)
	for _, used := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} {
		found, ok := solve(points, used)
		if !ok {
			continue
		}
		if d := found.distance(points); d < distance {
			best, distance = found, d
		}
	}
	return best
}

func solve(points []Point, used []int) (coefficients, bool) {
	left, right := mat.NewDense(len(points), len(used), nil), mat.NewVecDense(len(points), nil)
	for i, p := range points {
		y := p.Clients / p.PerSecond
		terms := [3]float64{1, p.Clients - 1, p.Clients * (p.Clients - 1)}
		for j, term := range used {
			left.Set(i, j, terms[term]/y)
		}
		right.SetVec(i, 1)
	}
	var x mat.VecDense
	if err := x.SolveVec(left, right); err != nil {
		return coefficients{}, false
	}
	var all [3]float64
	for j, term := range used {
		all[term] = x.AtVec(j)
	}
	if !(all[0] > 0) || all[1] < 0 || all[2] < 0 {
		return coefficients{}, false
	}
	return coefficients{1 / all[0], all[1] / all[0], all[2] / all[0]}, true
}

func (c coefficients) distance(points []Point) (sum float64) {
	for _, p := range points {
		e := p.PerSecond/c.at(p.Clients) - 1
		sum += e * e
	}
	return sum
}
