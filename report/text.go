package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/check"
)

// TextOptions says how the terminal summary is written.
type TextOptions struct {
	// Width is the number of columns; 0 means 80, and less than 72 means 72.
	Width int
	// Color marks verdicts with ANSI colors. Words say the same without.
	Color bool
	// Report is where the full report is, named in the last line; empty leaves
	// that line out.
	Report string
}

// listed is how much evidence of one check the terminal shows; the other
// reports show all that the result holds.
const listed = 5

// Text writes the summary for the terminal: the settings first, the figures,
// the checks, and as the last lines the verdict and where the report is.
func Text(w io.Writer, r *Result, o TextOptions) error {
	r = clean(r)
	t := &textWriter{width: max(72, o.Width), color: o.Color}
	if o.Width == 0 {
		t.width = 80
	}
	t.line(bold, subject(r))
	for _, s := range setup(r) {
		t.field(s.Name, s.Value)
	}
	t.measured(r)
	t.table(latencies(r, false))
	t.table(outcomes(r))
	if len(r.Errors) > 0 {
		t.table(errorClasses(r))
	}
	t.gap()
	if r.Retries.Policy != "" && r.Retries.Policy != "none" {
		t.field("retries", retriesLine(r))
	}
	t.field("data on disk", dataLines(r)...)
	t.field("tester", testerLine(r))
	for _, f := range r.Faults {
		t.field("fault", f.Action+" "+f.Target+": "+faultLine(&f))
	}
	for _, note := range r.Notes {
		t.field("note", note)
	}
	t.judged(r)
	t.gap()
	t.painted(verdictColor(r.Verdict), "verdict", verdictLine(r))
	if r.Measurement.Verdict != "valid" {
		t.painted(red, "measurement", reasonsLine(r))
	}
	if len(r.Thresholds) > 0 {
		t.painted(goodOrBad(missed(r) == 0), "thresholds", thresholdsLine(r))
	}
	if o.Report != "" {
		t.field("report", o.Report)
	}
	if _, err := io.WriteString(w, strings.ReplaceAll(t.b.String(), nbsp, " ")); err != nil {
		return fmt.Errorf("report: write summary: %w", err)
	}
	return nil
}

// measured writes throughput and its course, marked if it is not to be
// believed: whoever reads only this line must see it.
func (t *textWriter) measured(r *Result) {
	t.gap()
	lines := rateLines(r)
	if r.Measurement.Verdict != "valid" {
		lines[0] += " (INVALID, see below)"
	}
	t.painted(bold, "throughput", lines[0])
	for _, line := range lines[1:] {
		t.field("", line)
	}
	if curve, top := spark(&r.Series, t.width-labelWidth-1); curve != "" {
		t.field("", curve)
		t.field("", fmt.Sprintf("the whole run of %s; full height is %s/s",
			seconds(float64(r.Series.points())*r.Series.IntervalSeconds), figure(top)))
	}
}

// judged writes what was judged: measurement, thresholds, checks.
func (t *textWriter) judged(r *Result) {
	t.gap()
	t.painted(goodOrBad(r.Measurement.Verdict == "valid"), "measurement", believable(r))
	for _, reason := range r.Measurement.Reasons {
		t.item("- ", reason)
	}
	for i, h := range r.Thresholds {
		label := ""
		if i == 0 {
			label = "thresholds"
		}
		t.painted(goodOrBad(h.Kept), label, thresholdMark(h.Kept)+" "+h.Text+"   measured "+measuredValue(&h))
	}
	width := 0
	for _, c := range r.Checks {
		width = max(width, utf8.RuneCountInString(c.Name))
	}
	width = min(width, 20)
	for i, c := range r.Checks {
		label := ""
		if i == 0 {
			label = "checks"
		}
		head := fmt.Sprintf("%s %-*s  %-8s  ", checkMark(c.Verdict), width, c.Name, c.Verdict)
		t.entry(verdictColor(c.Verdict), label, head, c.Detail)
		for _, e := range c.Evidence[:min(listed, len(c.Evidence))] {
			t.item("  "+e.Kind+": ", e.Text)
		}
		if more := c.Found - int64(min(listed, len(c.Evidence))); more > 0 && len(c.Evidence) > 0 {
			t.item("  ", "and "+count(more)+" more")
		}
	}
}

func checkMark(v check.Verdict) string {
	switch v {
	case check.Valid:
		return "✓"
	case check.Violated:
		return "✗"
	}
	return "?"
}

func thresholdMark(kept bool) string {
	if kept {
		return "✓"
	}
	return "✗"
}

func measuredValue(h *Threshold) string {
	if strings.HasPrefix(h.Unit, "/") || h.Unit == "" {
		return short(h.Measured) + h.Unit
	}
	return short(h.Measured) + nbsp + h.Unit
}

// ANSI colors.
const (
	noColor = ""
	bold    = "\x1b[1m"
	red     = "\x1b[1;31m"
	green   = "\x1b[1;32m"
	yellow  = "\x1b[1;33m"
	reset   = "\x1b[0m"
)

func verdictColor(v check.Verdict) string {
	switch v {
	case check.Valid:
		return green
	case check.Violated:
		return red
	}
	return yellow
}

func goodOrBad(good bool) string {
	if good {
		return green
	}
	return red
}

// spark draws committed operations over the whole run in at most width
// characters, each the mean of as many intervals, and returns the rate that
// the full height stands for.
func spark(s *Series, width int) (string, float64) {
	n := s.points()
	if n < 2 || s.IntervalSeconds <= 0 {
		return "", 0
	}
	columns := min(n, width)
	means := make([]float64, columns)
	for i := range means {
		from, to := i*n/columns, (i+1)*n/columns
		for _, c := range s.Committed[from:to] {
			means[i] += float64(c) / s.IntervalSeconds / float64(to-from)
		}
	}
	top := slices.Max(means)
	if top <= 0 {
		return "", 0
	}
	levels := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, m := range means {
		b.WriteRune(levels[int(math.Round(m/top*float64(len(levels)-1)))])
	}
	return b.String(), top
}
