package measure

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"assay/history"
	"assay/internal/quantity"
)

// MaxPoints bounds the points of a series.
const MaxPoints = 600

// Series is the run over time. All slices have the same length. It has the keys of result.json.
type Series struct {
	// IntervalSeconds is the width of each point: 1, 2 or 5 times a power of ten, at least 0.1,
	// such that the run has at most MaxPoints.
	IntervalSeconds float64 `json:"interval_seconds"`
	// MeasureStart and MeasureEnd bound the measured part, in seconds since the start.
	MeasureStart float64 `json:"measure_start_s"`
	MeasureEnd   float64 `json:"measure_end_s"`
	// Degradation is when the throughput fell for good, in seconds since the start; nil if it
	// did not or was not examined.
	Degradation *float64 `json:"degradation_s,omitempty"`
	// Start is each point's start in seconds since the start of the run.
	Start     []float64 `json:"start_s"`
	Committed []int64   `json:"committed"`
	Rejected  []int64   `json:"rejected"`
	Failed    []int64   `json:"failed"`
	Unknown   []int64   `json:"unknown"`
	// Response times in milliseconds of the committed operations that ended in the interval;
	// -1 for none. Percentiles are true within 1 % or a microsecond.
	P50 []float64 `json:"p50_ms"`
	P95 []float64 `json:"p95_ms"`
	P99 []float64 `json:"p99_ms"`
	Max []float64 `json:"max_ms"`
	// Not kept. Whole is true for points wholly in the measured part.
	Mean  []float64 `json:"-"`
	P999  []float64 `json:"-"`
	Whole []bool    `json:"-"`
}

func (s *Series) outcomes(i int) history.Counts {
	return history.Counts{Committed: s.Committed[i], Rejected: s.Rejected[i], Failed: s.Failed[i], Unknown: s.Unknown[i]}
}

// niceInterval returns the smallest of 1, 2, 5, 10, 20, 50 ... times unit such that length has at
// most MaxPoints intervals, including a partial one.
func niceInterval(length int64, unit time.Duration) int64 {
	width := int64(unit)
	for step := 0; ; step++ {
		if (length-1)/width < MaxPoints {
			return width
		}
		width = nextNice(width, step)
	}
}

// nextNice is the next width after the step-th of 1, 2 or 5 times a power of ten.
func nextNice(width int64, step int) int64 {
	if step%3 == 1 {
		return width / 2 * 5
	}
	return width * 2
}

type timeline struct {
	width  int64
	points []point
	last   interval // that an operation ended in
}

// interval is an interval's number, begin and end. It caches them, since most operations end in the
// same interval as the one before, and a division is slow.
type interval struct {
	number, from, to int64
}

func (i *interval) of(at, start, width int64) int64 {
	if at < i.from || at >= i.to {
		n := (at - start) / width
		*i = interval{n, start + n*width, start + (n+1)*width}
	}
	return i.number
}

type point struct {
	outcomes history.Counts
	latency  *distribution // nil until the first committed operation
}

func newTimeline(length int64) *timeline {
	length = max(length, 1)
	width := niceInterval(length, 100*time.Millisecond)
	return &timeline{width: width, points: make([]point, (length-1)/width+1)}
}

// add counts an operation in the interval of its end, or in the nearest if it ended outside the
// scope. It counts the response time if timed.
func (t *timeline) add(op *history.Op, timed bool) {
	t.points[min(max(t.last.of(op.End, 0, t.width), 0), int64(len(t.points)-1))].add(op, timed)
}

func (p *point) add(op *history.Op, timed bool) {
	p.outcomes.Add(op.Final, 1)
	if op.Final != history.Committed || !timed {
		return
	}
	if p.latency == nil {
		p.latency = newDistribution(coarse)
	}
	p.latency.record(op.Latency())
}

// series joins this number of intervals into each point.
func (t *timeline) series(scope Scope, joined int) Series {
	width := t.width * int64(joined)
	s := Series{IntervalSeconds: float64(width) / 1e9,
		MeasureStart: float64(scope.MeasureStart) / 1e9, MeasureEnd: float64(scope.MeasureEnd) / 1e9}
	together := newDistribution(coarse)
	for i := 0; i < len(t.points); i += joined {
		start := int64(i) * t.width
		s.Start = append(s.Start, float64(start)/1e9)
		s.Whole = append(s.Whole, start >= scope.MeasureStart && start+width <= scope.MeasureEnd)
		s.addPoint(t.points[i:min(i+joined, len(t.points))], together)
	}
	return s
}

// addPoint adds some intervals as one point. It overwrites together.
func (s *Series) addPoint(points []point, together *distribution) {
	var o history.Counts
	together.reset()
	for _, p := range points {
		o = o.Plus(p.outcomes)
		if p.latency != nil {
			together.merge(p.latency)
		}
	}
	l := Latency{Mean: -1, P50: -1, P95: -1, P99: -1, P999: -1, Max: -1}
	if together.count() > 0 {
		l = together.latency()
	}
	s.Committed = append(s.Committed, o.Committed)
	s.Rejected = append(s.Rejected, o.Rejected)
	s.Failed = append(s.Failed, o.Failed)
	s.Unknown = append(s.Unknown, o.Unknown)
	s.Mean = append(s.Mean, l.Mean)
	s.P50 = append(s.P50, l.P50)
	s.P95 = append(s.P95, l.P95)
	s.P99 = append(s.P99, l.P99)
	s.P999 = append(s.P999, l.P999)
	s.Max = append(s.Max, l.Max)
}

const (
	// enoughOperations is the number of committed operations that an interval should hold: with
	// fewer, the 99th percentile is the maximum by definition.
	enoughOperations = 100
	// fewestIntervals is the number of intervals that merging must leave.
	fewestIntervals = 10
)

// merged gives the series in longer intervals of 1, 2 or 5 times a power of ten: the shortest of
// which half of those with committed operations hold enoughOperations, or the longest that leaves
// fewestIntervals. It is nil if the intervals are long enough already.
func (t *timeline) merged(scope Scope) *Series {
	joined := 1
	for width, step := t.width, decade(t.width); t.typical(joined) < enoughOperations; step++ {
		width = nextNice(width, step)
		n := int(width / t.width)
		if (len(t.points)+n-1)/n < fewestIntervals {
			break
		}
		if width%t.width == 0 {
			joined = n
		}
	}
	if joined == 1 {
		return nil
	}
	s := t.series(scope, joined)
	return &s
}

// decade is 0, 1 or 2 for a width of 1, 2 or 5 times a power of ten.
func decade(width int64) int {
	for width >= 10 {
		width /= 10
	}
	return int(width) / 2
}

// typical is the median number of committed operations in the joined intervals that have some;
// math.MaxInt64 if none has.
func (t *timeline) typical(joined int) int64 {
	var counts []int64
	for points := range slices.Chunk(t.points, joined) {
		var n int64
		for _, p := range points {
			n += p.outcomes.Committed
		}
		if n > 0 {
			counts = append(counts, n)
		}
	}
	if len(counts) == 0 {
		return math.MaxInt64
	}
	slices.Sort(counts)
	return counts[len(counts)/2]
}

// Throughput counts only committed operations. It has the keys of result.json.
type Throughput struct {
	// PerSecond is the committed operations that ended in the measured part, over Seconds.
	PerSecond float64 `json:"committed_per_second"`
	Seconds   float64 `json:"seconds"`
	// Low and High bound PerSecond with a confidence of 95 %. They are nil if the measured part
	// is too short, and for rounds, which have no common throughput.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Min, Median, Max and Deviation (of the sample) are over the intervals of the series,
	// merged if necessary, wholly in the measured part. All are 0 for fewer than two.
	Min       float64 `json:"min_per_second"`
	Median    float64 `json:"median_per_second"`
	Max       float64 `json:"max_per_second"`
	Deviation float64 `json:"deviation_per_second"`
	// IntervalSeconds is the width of these intervals, Intervals their number.
	IntervalSeconds float64 `json:"interval_seconds"`
	Intervals       int     `json:"-"`
	// Offered is the arrival rate asked for; 0 in a closed loop. The caller enters it.
	Offered float64 `json:"offered_per_second,omitempty"`
}

func throughput(committed int64, scope Scope, s Series) Throughput {
	out := Throughput{Seconds: scope.Seconds(), IntervalSeconds: s.IntervalSeconds}
	if out.Seconds > 0 {
		out.PerSecond = float64(committed) / out.Seconds
	}
	var rates []float64
	for i, whole := range s.Whole {
		if whole {
			rates = append(rates, float64(s.Committed[i])/s.IntervalSeconds)
		}
	}
	out.Intervals = len(rates)
	if len(rates) < 2 {
		return out
	}
	out.Min, out.Max = slices.Min(rates), slices.Max(rates)
	out.Median = quantity.Median(rates)
	out.Deviation = stat.StdDev(rates, nil)
	return out
}
