package report

// Measurement reports whether the figures may be believed.
type Measurement struct {
	// Verdict is "valid" or "invalid".
	Verdict string `json:"verdict"`
	// Reasons describes why not; empty if valid.
	Reasons []string `json:"reasons"`
}

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
