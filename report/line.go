package report

import (
	"fmt"
	"io"
)

// Line writes the result as one line: the verdict, the throughput, the 99th
// percentile, and whether the figures may be believed.
func Line(w io.Writer, r *Result) error {
	r = clean(r)
	_, err := fmt.Fprintf(w, "%s: %s, %s transactions/s, p99 %s, measurement %s\n",
		r.Workload, r.Verdict, figure(r.Throughput.PerSecond), millis(r.Latency.P99), r.Measurement.Verdict)
	if err != nil {
		return fmt.Errorf("report: write line: %w", err)
	}
	return nil
}
