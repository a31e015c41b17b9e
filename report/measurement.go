package report

import "assay/measure"

// Measurement reports whether the figures may be believed.
type Measurement struct {
	// Verdict is "valid", "wide" or "invalid" (measure.Grade).
	Verdict string `json:"verdict"`
	// Reasons describes why it is not valid; empty if it is.
	Reasons []string `json:"reasons"`
}

// Invalid reports whether something was shown to be wrong with the figures. Those of a
// wide interval are right, and lie in it.
func (m *Measurement) Invalid() bool { return m.Verdict != string(measure.Valid) && !m.Wide() }

// Wide reports whether the throughput's interval is wide.
func (m *Measurement) Wide() bool { return m.Verdict == string(measure.Wide) }

// Correction is how the response times of a closed loop were corrected for
// coordinated omission.
type Correction struct {
	// Interval is the usual one between two operations of a client.
	Interval float64 `json:"expected_interval_ms"`
	// Added is how many operations were not asked for and are counted all the
	// same.
	Added int64 `json:"operations_added"`
	// Material is true if the 99th percentile is more than twice what was
	// measured, or faults acted: reports then show it.
	Material bool `json:"material"`
}
