package report

// Measurement reports whether the figures may be believed.
type Measurement struct {
	// Verdict is "valid" or "invalid".
	Verdict string `json:"verdict"`
	// Reasons describes why not; empty if valid.
	Reasons []string `json:"reasons"`
}

// Steadiness reports whether the measured part had a steady state.
type Steadiness struct {
	// State is "steady", "not steady", "not shown" or "not judged".
	State string `json:"state"`
	// Text says it in one sentence.
	Text string `json:"text"`
	// Margin is the largest change that counts as steady, as a share of the
	// median.
	Margin     float64 `json:"margin_share"`
	Throughput Change  `json:"throughput"`
	// Latency is of the geometric mean of the response times, in milliseconds.
	Latency Change `json:"latency"`
	// Spread is that of the throughput between intervals: the median absolute
	// deviation times 1.4826, as a share of the median.
	Spread          float64 `json:"spread_share"`
	Intervals       int     `json:"intervals"`
	IntervalSeconds float64 `json:"interval_seconds"`
}

// Change is how a figure moved from the start of the measured part to its end,
// along a fitted line, as shares of its median; Low and High bound it with a
// confidence of 90 %.
type Change struct {
	Share  float64 `json:"change_share"`
	Low    float64 `json:"low_share"`
	High   float64 `json:"high_share"`
	Median float64 `json:"median"`
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
