package report

// ClientProcessor is the processor time that assay used per operation of the measured
// part, in microseconds, and whether it is known. An embedded database's own work is in it.
func (r *Result) ClientProcessor() (float64, bool) {
	all := r.Measured.Total()
	if all == 0 || r.Client.CPUShare < 0 || r.Throughput.Seconds <= 0 {
		return 0, false
	}
	return r.Client.CPUShare * float64(r.Client.CPUs) * r.Throughput.Seconds / float64(all) * 1e6, true
}

// Overhead is what the same clients took at the run's pace, in an open loop, on a store
// that answers at once: assay's own part in the run's figures.
type Overhead struct {
	// Rate is the pace in operations a second, Seconds how long it was kept.
	Rate    float64 `json:"operations_per_second"`
	Seconds float64 `json:"seconds"`
	// P50 and P99 are the response time, in milliseconds.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	// CPU is the processor time per operation in microseconds, RunCPU the run's
	// own, which has an embedded database's work in it.
	CPU    float64 `json:"cpu_us"`
	RunCPU float64 `json:"run_cpu_us"`
}
