package measure

// Corrected is the response time of a closed loop as operations would have felt
// it that came at the clients' usual pace all the time. It is an estimate beside
// what was measured, and never in its place.
//
// A client of a closed loop waits with the database: while one answer takes 11 s
// it asks for nothing else, and the stall counts once, where operations that came
// by themselves would all have met it (coordinated omission; G. Tene, "How NOT to
// measure latency", 2013; YCSB measures its "intended" latency for it). The
// correction is HdrHistogram's recordValueWithExpectedInterval: for a response
// time v and a usual interval i, the operations that were not asked for are
// counted with what they would still have had to wait, v-i, v-2i and so on down
// to i. The usual interval is the median response time of all operations,
// committed or not; one that did not commit has stalled its client as well.
type Corrected struct {
	Latency
	// IntervalMillis is the usual interval between two operations of a client.
	IntervalMillis float64
	// Added is how many operations of Count were not asked for.
	Added int64
}

// maxSteps is how many different waits one response time is spread over at
// most. There are more only where v is beyond that many intervals, and then the
// histogram does not tell them apart.
const maxSteps = 2000

// corrected returns the estimate for these committed and other operations of a
// closed loop; of no committed operation it is the zero value.
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

// recordOmitted counts the operations that were not asked for during so many
// response times of v nanoseconds.
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
