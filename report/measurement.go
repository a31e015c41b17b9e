package report

import "assay/measure"

// Measurement reports whether the figures may be believed.
type Measurement struct {
	// Verdict is "valid", "wide" or "invalid" (measure.Grade).
	Verdict string   `json:"verdict"`
	Reasons []string `json:"reasons"`
}

// Invalid reports whether figures are wrong. Wide figures are right within their interval.
func (m *Measurement) Invalid() bool { return m.Verdict != string(measure.Valid) && !m.Wide() }

// Wide reports whether the throughput's interval is wide.
func (m *Measurement) Wide() bool { return m.Verdict == string(measure.Wide) }

// Correction is how a closed loop's response times were corrected for coordinated omission.
type Correction struct {
	// Interval is the usual time between two operations of a client.
	Interval float64 `json:"expected_interval_ms"`
	// Added is how many operations were added that no client made.
	Added int64 `json:"operations_added"`
	// Material is true if the 99th percentile became more than twice the measured one, or faults
	// acted. Reports then show the correction.
	Material bool `json:"material"`
}
