package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"assay/check"
	"assay/internal/quantity"
)

// TextOptions describes how the terminal summary is written.
type TextOptions struct {
	// Width is in columns; 0 means 80, and less than 72 means 72.
	Width int
	// Report is where the full report is, for the last line; empty omits it.
	Report string
	// Explain tells the evidence in the order of time, with a picture.
	Explain bool
}

// Text writes the summary for the terminal, ending with the verdict and the report's place. What
// goes without saying is only in the other reports.
func Text(w io.Writer, r *Result, o TextOptions) error {
	r = clean(r)
	t := newTextWriter(o)
	t.line(subject(r))
	t.setup(r)
	if len(r.Rounds) > 0 {
		t.rounds(r)
	} else {
		t.measured(r)
		t.table(delays(r))
	}
	if len(r.Kinds) > 0 {
		t.table(kindTable(r.Kinds))
	}
	t.operations(r)
	t.remarks(r)
	t.judgements(r)
	t.gap()
	t.field("verdict", verdictLine(r))
	t.field("advice", advice(r))
	if n := len(r.Measurement.Reasons); r.Measurement.Invalid() {
		t.field("measurement", "INVALID"+when(n > 0, ", for "+check.Counted(n, "reason", "reasons")+" given above"))
	}
	if a := answerOfAll(r); a != Kept {
		t.field("thresholds", thresholdsLine(r))
	}
	t.field("report", o.Report)
	return t.writeTo(w)
}

func (t *textWriter) setup(r *Result) {
	brief := *r
	if r.Outcomes.Unknown == 0 {
		brief.Load.TimeoutSeconds = 0 // nobody waited so long
	}
	for _, s := range setup(&brief) {
		if inSummary(s) {
			t.field(s.Name, s.Value)
		}
	}
}

func inSummary(s Setting) bool {
	switch s.Name {
	case "loaded", "started", "run":
		return false
	case "retries":
		return s.Value != "none"
	case "machines":
		return s.Value != "1 node"
	}
	return true
}

// delays leaves out service times equal to the response times, as in most closed loops, and
// uncommitted operations unless one took longer than all committed ones.
func delays(r *Result) Table {
	t := latencyTable(r, false)
	response := t.Rows[0][1:]
	t.Rows = slices.DeleteFunc(t.Rows, func(row []string) bool {
		return row[0] == "service" && slices.Equal(row[1:], response) ||
			row[0] == "uncommitted" && r.Uncommitted.Max <= r.Latency.Max
	})
	return t
}

// sparkLegend is the room for the scale behind the sparkline.
const sparkLegend = 18

// measured marks the throughput if it must not be believed, for those who read only this line.
func (t *textWriter) measured(r *Result) {
	t.gap()
	lines := rateLines(r)
	if r.Measurement.Invalid() {
		lines[0] += " (INVALID, see below)"
	}
	t.field("throughput", lines[0])
	for _, line := range lines[1:] {
		t.field("", line)
	}
	if curve, top := spark(&r.Series, t.width-labelWidth-sparkLegend); curve != "" {
		t.field("whole run", fmt.Sprintf("%s  █ = %s/s", curve, figure(top)))
	}
}

// rounds writes each round's figures. Throughput and latency over different work mean nothing.
func (t *textWriter) rounds(r *Result) {
	t.gap()
	took := check.Counted(int64(len(r.Rounds)), "round", "rounds") + " in " + seconds(r.Throughput.Seconds)
	if r.Measurement.Invalid() {
		took += " (INVALID, see below)"
	}
	t.field("measured", took)
	t.table(narrowRounds(r))
	for i := range r.Rounds {
		if line := factsLine(&r.Rounds[i]); line != "" {
			t.item(r.Rounds[i].Name+": ", line)
		}
	}
}

func (t *textWriter) operations(r *Result) {
	m, all := &r.Measured, &r.Outcomes
	if m.Committed == m.Total() && all.Committed == all.Total() {
		t.gap()
		t.field("operations", fmt.Sprintf("%s measured, %s in the whole run, all committed", check.Count(m.Total()), check.Count(all.Total())))
	} else {
		ended := outcomeTable(r)
		ended.Rows = slices.DeleteFunc(ended.Rows, func(row []string) bool { return row[1] == "0" && row[3] == "0" })
		t.table(ended)
	}
}

func (t *textWriter) remarks(r *Result) {
	t.field("errors", errorsLine(r))
	if r.Retries.Policy != "" && r.Retries.Policy != "none" {
		t.field("retries", retriesLine(r))
	}
	t.field(dataLabel(r), dataInShort(r)...)
	if r.Measurement.Invalid() {
		t.field("tester", testerLine(r))
	}
	t.field("cost", costLine(r))
	t.field("overhead", overheadLine(r))
	for _, s := range sections(r) {
		t.field(s.label, s.line)
	}
	t.faults(r)
	t.servers(r)
	for _, note := range r.Notes {
		t.field("note", note)
	}
}

const manyFaults = 8

func (t *textWriter) faults(r *Result) {
	if l := &r.Loading; len(l.Faults) > 0 || l.Again > 0 {
		t.field("loading", loadingLine(l))
	}
	for i := range r.Faults[:min(len(r.Faults), manyFaults)] {
		t.field("fault", r.Faults[i].name()+" "+faultLine(&r.Faults[i]))
	}
	if c := r.Cluster; c != nil {
		for _, e := range c.Events[:min(len(c.Events), manyFaults)] {
			t.field("cluster", "at "+seconds(e.Second)+": "+e.Text)
		}
		t.field("settled", when(len(r.Faults) > 0, c.Settled))
	}
	if rest := len(r.Faults) - manyFaults; rest > 0 {
		t.field("fault", "and "+check.Count(rest)+" more, in the report")
	}
}

func (t *textWriter) judgements(r *Result) {
	t.field("measurement", measurementLine(r))
	for _, reason := range r.Measurement.Reasons {
		t.item("- ", reason)
	}
	t.thresholds(r)
	if len(r.Checks) > 0 {
		t.gap()
		t.checks(r)
	}
}

// Mark is the sign of a verdict.
func Mark(v check.Verdict) string {
	switch v {
	case check.Valid:
		return "✓"
	case check.Violated:
		return "✗"
	case check.Allowed:
		return "!"
	}
	return "?"
}

// notApplicableMark stands before a check without a subject.
const notApplicableMark = "-"

func measuredValue(h *Threshold) string {
	if h.Missing != "" {
		return "nothing" + nbsp + "measured"
	}
	return when(h.AtLeast, unbroken(quantity.AtLeast)) + measuredFigure(h)
}

func measuredFigure(h *Threshold) string {
	if strings.HasPrefix(h.Unit, "/") || h.Unit == "" {
		return short(h.Measured) + h.Unit
	}
	return short(h.Measured) + nbsp + h.Unit
}

func spark(s *Series, width int) (string, float64) {
	if s.IntervalSeconds <= 0 {
		return "", 0
	}
	rates := make([]float64, points(s))
	for i := range rates {
		rates[i] = float64(s.Committed[i]) / s.IntervalSeconds
	}
	return Sparkline(rates, width)
}

// Sparkline draws values in at most width characters, each the mean of equally many values. It
// returns the value of the full height. It is empty for fewer than two values and for zeros.
func Sparkline(values []float64, width int) (string, float64) {
	n := len(values)
	if n < 2 || width < 1 {
		return "", 0
	}
	means := make([]float64, min(n, width))
	for i := range means {
		from, to := i*n/len(means), (i+1)*n/len(means)
		for _, v := range values[from:to] {
			means[i] += v / float64(to-from)
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
