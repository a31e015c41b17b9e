package report

import (
	"fmt"
	"io"
	"strings"
)

// Line writes the result as one line: the verdict, the throughput, the 99th
// percentile ("-" if nothing was committed), and whether the figures may be
// believed.
func Line(w io.Writer, r *Result) error {
	r = clean(r)
	p99, measurement := none, "invalid"
	if r.Latency.Count > 0 {
		p99 = millis(r.Latency.P99)
	}
	if r.Measurement.Verdict == "valid" {
		measurement = "valid"
	}
	line := plain(fmt.Sprintf("%s: %s, %s transactions/s, p99 %s, measurement %s",
		r.Workload, r.Verdict, figure(r.Throughput.PerSecond), p99, measurement))
	if _, err := io.WriteString(w, strings.ReplaceAll(line, nbsp, " ")+"\n"); err != nil {
		return fmt.Errorf("report: write line: %w", err)
	}
	return nil
}
