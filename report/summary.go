package report

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"assay/check"
	"assay/measure"
)

const (
	summaryFindings = 3
	summaryText     = 300
)

// Summary writes Markdown for a reader of a pipeline: the verdict, the figures with their
// intervals, the checks, thresholds and faults. page is where the report is, or empty.
func Summary(w io.Writer, r *Result, page string) error {
	r = clean(r)
	m := &MarkdownText{}
	m.raw("## " + escape(subject(r)))
	m.Verdict(DocumentVerdict{Text: verdictLine(r), Verdict: r.Verdict})
	if r.Exit.Code != ExitValid {
		m.raw(fmt.Sprintf("Exit code %d:", r.Exit.Code))
		m.Items(r.Exit.Reasons)
	}
	if told := r.Measurement.Invalid() && r.Exit.Code != ExitValid; !told { // the reasons have it
		m.raw("Measurement: " + escape(measurementLine(r)))
		m.Items(r.Measurement.Reasons)
	}
	if len(r.Rounds) > 0 {
		m.rows(narrowRounds(r))
	} else {
		m.rows(figureTable(r))
	}
	m.Table(thresholdTable(r))
	m.Table(checkTable(r))
	for _, c := range r.Checks {
		m.firstFindings(c)
	}
	m.Table(faultTable(r))
	m.raw(escape(Joined("; ", loadLine(r), "seed "+fmt.Sprint(r.Seed), "assay "+r.Version, when(page != "", "report "+page))))
	return m.Write(w)
}

func figureTable(r *Result) Table {
	t := Table{Head: []string{"figure", "measured", "± (95 %)"}}
	p, l := &r.Throughput, &r.Latency
	t.Rows = append(t.Rows, []string{"throughput", figure(p.PerSecond) + " committed/s", shareOf(p.PerSecond, p.Interval())})
	for i, m := range measure.LatencyMetrics() {
		t.Rows = append(t.Rows, []string{when(i == 0, "response time, ") + m.Name, known(l.Count > 0, millis(m.Of(l))), shareOf(m.Of(l), m.Interval(l))})
	}
	for _, row := range outcomeTable(r).Rows[:4] {
		if row[1] != "0" {
			t.Rows = append(t.Rows, []string{"operations " + row[0], row[1], ""})
		}
	}
	return t
}

func (m *MarkdownText) firstFindings(c check.Result) {
	if len(c.Evidence) == 0 {
		return
	}
	shown := c.Evidence[:min(len(c.Evidence), summaryFindings)]
	var lines []string
	for _, e := range shown {
		lines = append(lines, cut(e.Kind+": "+evidenceText(e), summaryText))
	}
	if more := c.Found - int64(len(shown)); more > 0 {
		lines = append(lines, check.Count(more)+" more")
	}
	m.raw("Found by " + escape(c.Name) + ":")
	m.Items(lines)
}

// Summary writes the judgement of another tool's history as Markdown.
func (h *History) Summary(w io.Writer) error {
	m := &MarkdownText{}
	m.raw("## " + escape(filepath.Base(h.Path)))
	m.Verdict(DocumentVerdict{Text: h.verdict(strings.ToUpper(h.Verdict.String())), Verdict: h.Verdict})
	if h.Detail != "" {
		m.raw(escape(h.Detail))
	}
	m.firstFindings(check.Result{Name: h.Kind, Evidence: h.Evidence, Found: int64(len(h.Evidence))})
	return m.Write(w)
}

// SummaryOfProblem writes that there is no result, with the reason.
func SummaryOfProblem(w io.Writer, what, problem string) error {
	m := &MarkdownText{}
	m.raw("## " + escape(what))
	m.Verdict(DocumentVerdict{Text: "could not run: " + problem})
	return m.Write(w)
}
