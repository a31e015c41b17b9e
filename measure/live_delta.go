package measure

import (
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"assay/history"
)

// Delta is what was counted in one process since the Delta before, on its way to where
// all of a run is counted.
type Delta struct {
	Outcomes history.Counts `json:"outcomes"`
	Attempts int64          `json:"attempts"`
	// Latency is the histogram of response times in HdrHistogram's own form (V2,
	// compressed, in base 64); empty of none. Sum (nanoseconds), Max and Outside are
	// what it does not hold exactly.
	Latency string  `json:"latency,omitempty"`
	Sum     float64 `json:"latency_sum_ns"`
	Max     int64   `json:"latency_max_ns"`
	Outside int64   `json:"latency_outside"`
}

// Take returns what was counted since the last Take or Snapshot, which from then on is
// not in this Live any more.
func (l *Live) Take() Delta {
	l.mu.Lock()
	defer l.mu.Unlock()
	outcomes, attempts := l.drain()
	d := Delta{Outcomes: outcomes, Attempts: attempts, Sum: l.recent.sum, Max: l.recent.max, Outside: l.recent.outside}
	if l.recent.count() > 0 {
		text, _ := l.recent.histogram.Encode(hdr.V2CompressedEncodingCookieBase) // fails for other forms only
		d.Latency = string(text)
	}
	return d
}

// Merge adds what another process, or an earlier Take, has counted. Histograms are added
// bucket by bucket, so that percentiles are of all times together.
func (l *Live) Merge(d Delta) error {
	latency := newDistribution(fine)
	if d.Latency != "" {
		h, err := hdr.Decode([]byte(d.Latency))
		if err != nil {
			return fmt.Errorf("measure: a histogram of another process cannot be read: %w", err)
		}
		latency.histogram.Merge(h)
	}
	latency.sum, latency.max, latency.outside = d.Sum, d.Max, d.Outside
	s := l.stripes[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = s.outcomes.Plus(d.Outcomes)
	s.attempts += d.Attempts
	s.latency.merge(latency)
	return nil
}
