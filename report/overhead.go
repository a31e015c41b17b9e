package report

// ClientProcessor is assay's processor time per measured operation, in microseconds, and whether
// it is known. It includes an embedded database.
func (r *Result) ClientProcessor() (float64, bool) {
	all := r.Measured.Total()
	if all == 0 || r.Client.CPUShare < 0 || r.Throughput.Seconds <= 0 {
		return 0, false
	}
	return r.Client.CPUShare * float64(r.Client.CPUs) * r.Throughput.Seconds / float64(all) * 1e6, true
}

// ServerProcessor is the servers' processor time per committed measured operation, in
// microseconds, and whether it is known of all. For an embedded database it is assay's time
// beyond Overhead.
func (r *Result) ServerProcessor() (float64, bool) {
	if r.Database.Embedded {
		if r.Overhead == nil || r.Measured.Committed == 0 {
			return 0, false
		}
		return (r.Overhead.RunCPU - r.Overhead.CPU) * float64(r.Measured.Total()) / float64(r.Measured.Committed), true
	}
	if r.Servers == nil || r.Throughput.PerSecond <= 0 {
		return 0, false
	}
	inUse, seen := 0.0, false
	for _, n := range r.Servers.Nodes {
		switch {
		case n.Tester:
		case n.CPUMean == nil:
			return 0, false
		default:
			inUse, seen = inUse+*n.CPUMean*n.CPUs, true
		}
	}
	return inUse / r.Throughput.PerSecond * 1e6, seen
}

// Overhead is what the same clients cost in an open loop at the run's pace on a store that
// answers at once: assay's own part of the figures.
type Overhead struct {
	// Rate is in operations a second, kept for Seconds.
	Rate    float64 `json:"operations_per_second"`
	Seconds float64 `json:"seconds"`
	// P50 and P99 are the response time, in milliseconds.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	// CPU is processor time per operation in microseconds. RunCPU is the run's, including an
	// embedded database.
	CPU    float64 `json:"cpu_us"`
	RunCPU float64 `json:"run_cpu_us"`
}
