package measure

import (
	"fmt"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"assay/history"
)

// Delta is what one process counted since the previous Delta, on its way to the process that counts
// the whole run.
type Delta struct {
	Outcomes history.Counts `json:"outcomes"`
	Attempts int64          `json:"attempts"`
	// Latency is the histogram of response times in HdrHistogram's form (V2, compressed, in
	// base 64); empty for none. It does not hold Sum (nanoseconds), Max and Outside exactly.
	Latency string  `json:"latency,omitempty"`
	Sum     float64 `json:"latency_sum_ns"`
	Max     int64   `json:"latency_max_ns"`
	Outside int64   `json:"latency_outside"`
}

// Take removes from this Live what was counted since the last Take or Snapshot, and returns it.
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

// Merge adds a Delta. It adds histograms bucket by bucket, so that percentiles are over all times.
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
