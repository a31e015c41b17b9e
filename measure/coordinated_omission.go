package measure

// Corrected estimates the response time of a closed loop if operations had come at the clients'
// usual pace all the time. It never replaces the measured time.
//
// A client of a closed loop waits with the database: during an answer of 11 s it asks for nothing
// else. The stall counts once, though all operations arriving by themselves would have met it
// (coordinated omission; G. Tene, "How NOT to measure latency", 2013; YCSB's "intended" latency).
//
// The correction is HdrHistogram's recordValueWithExpectedInterval: for a response time v and a
// usual interval i, it adds the waits v-i, v-2i and so on down to i of operations that were not
// asked for. The usual interval is the median response time of all operations, committed or not,
// since an uncommitted operation stalls its client too.
type Corrected struct {
	Latency
	// IntervalMillis is the usual interval between two operations of a client.
	IntervalMillis float64
	// Added is the part of Count that was not asked for.
	Added int64
}

// maxSteps bounds the different waits for one response time. Beyond that number of intervals, the
// histogram cannot distinguish them.
const maxSteps = 2000

// corrected is the estimate for a closed loop; zero if nothing committed.
func corrected(committed, uncommitted *distribution) Corrected {
	if committed.count() == 0 {
		return Corrected{}
	}
	all, out := newDistribution(fine), newDistribution(fine)
	all.merge(committed)
	all.merge(uncommitted)
	out.merge(committed)
	usual := max(all.quantile(0.5), int64(leastTold))
	for _, bar := range all.histogram.Distribution() {
		if bar.Count > 0 {
			out.recordOmitted(min(bar.To, all.max), usual, bar.Count)
		}
	}
	added := out.count() - committed.count()
	return Corrected{Latency: out.withCurve(), IntervalMillis: millis(usual), Added: added}
}

// recordOmitted counts the operations omitted during times response times of v nanoseconds.
func (d *distribution) recordOmitted(v, usual, times int64) {
	omitted := v/usual - 1 // v-usual, v-2*usual ... down to usual
	if omitted <= 0 {
		return
	}
	d.max = max(d.max, v-usual)
	steps := min(omitted, maxSteps)
	for k := range steps {
		// This step stands for n omitted operations, from first on.
		first, next := k*omitted/steps, (k+1)*omitted/steps
		n := (next - first) * times
		wait := v - (first+next+1)/2*usual
		if d.histogram.RecordValues(wait, n) != nil {
			return // only a total beyond 2^63 is refused
		}
		d.sum += float64(wait) * float64(n)
	}
}
