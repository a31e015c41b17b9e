package report

import (
	"fmt"
	"io"
	"strings"

	"assay/check"
)

// Line writes the verdict, the throughput and the 99th percentile ("-" if nothing committed), or
// the number and length of rounds. Then come the measurement's validity, the exit code and all
// that is against the run.
func Line(w io.Writer, r *Result) error {
	r = clean(r)
	p99, measurement := none, r.Measurement.Verdict
	if r.Latency.Count > 0 {
		p99 = millis(r.Latency.P99)
	}
	if r.Measurement.Invalid() {
		measurement = "invalid"
		if len(r.Exit.Reasons) == 0 {
			measurement = reason(measurement, strings.Join(r.Measurement.Reasons, "; "))
		}
	}
	figures := fmt.Sprintf("%s transactions/s%s, p99 %s", figure(r.Throughput.PerSecond), plusMinus(&r.Throughput), p99)
	if n := len(r.Rounds); n > 0 {
		figures = check.Counted(int64(n), "round", "rounds") + " in " + seconds(r.Throughput.Seconds)
	}
	verdict, against := r.Verdict.String(), ""
	if len(r.Exit.Reasons) > 0 {
		against = fmt.Sprintf("; exit %d: %s", r.Exit.Code, strings.Join(r.Exit.Reasons, "; "))
	} else if said := Joined("; ", ruled(r, check.Allowed), asked(r)); said != "" {
		verdict += " (" + said + ")"
	}
	line := fmt.Sprintf("%s: %s, %s, measurement %s%s", r.Workload, verdict, figures, measurement, against)
	line = plain(line)
	if _, err := io.WriteString(w, strings.ReplaceAll(line, nbsp, " ")+"\n"); err != nil {
		return fmt.Errorf("write the line: %w", err)
	}
	return nil
}
