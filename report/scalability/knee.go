package scalability

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// Knee is the number of clients beyond which more of them add little or nothing to the
// throughput, in a load whose clients grow.
//
// It is the bend of the two straight lines nearest to the points by squared distance. The first
// line goes through the origin. These are the asymptotic bounds of a closed system, X(N) <=
// min(N/R, Xmax) (P. J. Denning, J. P. Buzen, "The Operational Analysis of Queueing Network
// Models", ACM Computing Surveys 10, 1978), with a free slope after the bend. A fall at the bend
// is taken if it fits far better (see fallEvidence).
//
// The intervals come from a bootstrap over the residuals, whose signs change block by block. This
// allows for noise that grows with the throughput and for correlated neighbours (C. F. J. Wu,
// "Jackknife, Bootstrap and Other Resampling Methods in Regression Analysis", Annals of
// Statistics 14, 1986; X. Shao, "The Dependent Wild Bootstrap", JASA 105, 2010). TestKneeRates
// measures how often the answer is wrong.
type Knee struct {
	State KneeState
	// Clients is where the lines meet, PerSecond the throughput there; FromStart the fewest
	// clients.
	Clients, PerSecond Parameter
	// Gain is what a client adds after the bend, as a share of before; below 0 it costs
	// throughput.
	Gain Parameter
	Fall bool
}

// KneeState says whether there is a knee.
type KneeState string

const (
	// KneeReached means that a client is shown to add less than MostGain.
	KneeReached KneeState = "reached"
	// KneeFromStart means that this holds from the fewest clients on: the bend may be below.
	KneeFromStart KneeState = "from the start"
	// KneeNotReached means that a client is shown to add more than that up to the end.
	KneeNotReached KneeState = "not reached"
	KneeNotKnown   KneeState = "not known"
)

// MostGain is the most that a client adds after the knee, as a share of what one added before.
const MostGain = 0.25

const (
	// LeastKneePoints is how many points a knee needs, leastGrowth how many times the clients grow.
	LeastKneePoints = 15
	leastGrowth     = 2
	// leastAfter is the least share of the points after the bend.
	leastAfter = 0.1
	// fallEvidence is by how much the Bayesian information criterion must prefer a fall (R. E.
	// Kass, A. E. Raftery, "Bayes Factors", JASA 90, 1995: above 10 is very strong).
	fallEvidence = 10
	// bentParameters are those of two lines that meet.
	bentParameters = 3
	// mostCorrelation is the largest taken from residuals.
	mostCorrelation = 0.9
	// finer is how many bends are tried from one point to the next.
	finer         = 4
	kneeResamples = 500
)

// ErrNoGrowth means that the points are too few, or their clients too alike.
var ErrNoGrowth = errors.New("a knee needs 15 points, and twice as many clients at the end as at the start")

// FindKnee looks for the knee of points in ascending order of clients. Throughput may be 0. The
// seed is for the bootstrap. It returns ErrNoGrowth.
func FindKnee(points []Point, seed uint64) (Knee, error) {
	n := len(points)
	if n < LeastKneePoints || points[n-1].Clients < leastGrowth*points[0].Clients {
		return Knee{}, ErrNoGrowth
	}
	found := bentLines(points, false)
	if fall := bentLines(points, true); float64(n)*math.Log(found.squares/fall.squares)-math.Log(float64(n)) > fallEvidence && fall.falls() {
		found = fall
	}
	if !(found.before > 0) {
		return Knee{State: KneeNotKnown}, nil
	}
	random := rand.New(rand.NewPCG(seed, 0x6b6e6565))
	again, block, wider := slices.Clone(points), found.block(points), math.Sqrt(float64(n)/float64(n-bentParameters))
	var clients, speeds, gains []float64
	for range kneeResamples {
		sign, rest := 1.0, random.IntN(block)
		for i, p := range points {
			if rest == 0 {
				sign, rest = float64(2*random.IntN(2)-1), block
			}
			rest--
			fitted := found.at(p.Clients)
			again[i].PerSecond = fitted + wider*sign*(p.PerSecond-fitted)
		}
		if b := bentLines(again, found.fall); b.before > 0 {
			clients, speeds, gains = append(clients, b.bend), append(speeds, b.before*b.bend), append(gains, b.gain())
		}
	}
	if len(gains) < kneeResamples*9/10 {
		return Knee{State: KneeNotKnown}, nil
	}
	k := Knee{State: KneeNotKnown, Clients: interval(found.bend, clients), PerSecond: interval(found.before*found.bend, speeds),
		Gain: interval(found.gain(), gains), Fall: found.fall}
	switch {
	case k.Gain.Low > MostGain:
		k.State = KneeNotReached
	case k.Gain.High >= MostGain:
	case found.bend <= points[0].Clients:
		k.State = KneeFromStart
	default:
		k.State = KneeReached
	}
	return k, nil
}

func interval(value float64, drawn []float64) Parameter {
	p := parameter(value, drawn)
	return Parameter{value, min(p.Low, value), max(p.High, value)}
}

// bent are two lines that meet at bend clients. With a fall the second starts lower there.
type bent struct {
	bend, before float64
	// start is the second line's height at the bend, and after its slope.
	start, after float64
	fall         bool
	// last is the most clients, squares the sum of the squared distances.
	last, squares float64
}

func (b bent) at(clients float64) float64 {
	if clients <= b.bend {
		return b.before * clients
	}
	return b.start + b.after*(clients-b.bend)
}

// gain is what a client adds on average from the bend to the end.
func (b bent) gain() float64 {
	return (b.at(b.last) - b.before*b.bend) / (b.last - b.bend) / b.before
}

// falls reports whether the second line begins below the first by a tenth, and ends below it.
func (b bent) falls() bool {
	top := b.before * b.bend
	return b.start < 0.9*top && b.at(b.last) < top
}

// block is how many neighbours share a sign, by the correlation of the residuals (E. Carlstein,
// "The Use of Subseries Values for Estimating the Variance", Annals of Statistics 14, 1986).
func (b bent) block(points []Point) int {
	var products, squares, last float64
	for _, p := range points {
		away := p.PerSecond - b.at(p.Clients)
		products, squares, last = products+away*last, squares+away*away, away
	}
	if !(products > 0) {
		return 1
	}
	r := min(products/squares, mostCorrelation)
	return max(1, int(math.Round(math.Pow(2*r/(1-r*r), 2.0/3)*math.Cbrt(float64(len(points))))))
}

type sums struct{ n, x, xx, y, xy, yy float64 }

func (s sums) minus(o sums) sums {
	return sums{s.n - o.n, s.x - o.x, s.xx - o.xx, s.y - o.y, s.xy - o.xy, s.yy - o.yy}
}

// bentLines finds the nearest lines, with the bend at a point's clients or between two points.
func bentLines(points []Point, fall bool) bent {
	n := len(points)
	upTo := make([]sums, n+1)
	for i, p := range points {
		s := upTo[i]
		x, y := p.Clients, p.PerSecond
		upTo[i+1] = sums{s.n + 1, s.x + x, s.xx + x*x, s.y + y, s.xy + x*y, s.yy + y*y}
	}
	best := bent{squares: math.Inf(1)}
	least := max(3, int(math.Ceil(leastAfter*float64(n))))
	for i := 0; i+least < n; i++ {
		if points[i+1].Clients == points[i].Clients {
			continue
		}
		left, right := upTo[i+1], upTo[n].minus(upTo[i+1])
		if fall {
			if b := apart(left, right, points[i].Clients); b.squares < best.squares {
				best = b
			}
			continue
		}
		for j := range finer {
			between := points[i].Clients + float64(j)/finer*(points[i+1].Clients-points[i].Clients)
			if b := meeting(left, right, between); b.squares < best.squares {
				best = b
			}
		}
	}
	best.fall, best.last = fall, points[n-1].Clients
	return best
}

// meeting solves y = before min(x, bend) + after max(x-bend, 0).
func meeting(left, right sums, bend float64) bent {
	uu := left.xx + right.n*bend*bend
	uv := bend * (right.x - right.n*bend)
	vv := right.xx - 2*bend*right.x + right.n*bend*bend
	uy := left.xy + bend*right.y
	vy := right.xy - bend*right.y
	determinant := uu*vv - uv*uv
	if !(determinant > 0) {
		return bent{squares: math.Inf(1)}
	}
	before, after := (uy*vv-vy*uv)/determinant, (vy*uu-uy*uv)/determinant
	return bent{bend: bend, before: before, start: before * bend, after: after,
		squares: max(left.yy+right.yy-before*uy-after*vy, math.SmallestNonzeroFloat64)}
}

// apart solves y = before x up to the bend, and a line of its own after it.
func apart(left, right sums, bend float64) bent {
	before := left.xy / left.xx
	spread := right.xx - right.x*right.x/right.n
	if !(spread > 0) {
		return bent{squares: math.Inf(1)}
	}
	after := (right.xy - right.x*right.y/right.n) / spread
	middle := right.y/right.n - after*right.x/right.n
	squares := left.yy - before*left.xy + right.yy - middle*right.y - after*right.xy
	return bent{bend: bend, before: before, start: middle + after*bend, after: after, squares: max(squares, math.SmallestNonzeroFloat64)}
}
