package article

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
)

func example() *Article {
	overview := report.Table{Title: "All <of> them", Head: []string{"system", "bank"}, Words: []int{1}, Rows: [][]string{{"a", "✗ violated"}}, Links: map[[2]int]string{{0, 1}: "#found-in-transfers-a"}}
	table := report.Table{Title: "Transfers", Head: []string{"clients", "valid", "throughput"}, Rows: [][]string{{"1", "5 of 5", "700/s"}, {"8", "5 of 5", report.Doubtful("900/s")}}}
	return &Article{Name: "bank", Title: "A <study>", Question: "Does *more* help?", Setup: "## Machines\n\nOne.\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1))",
		Facts: []report.Setting{{Name: "runs", Value: "10"}}, Overviews: []report.Table{overview},
		Sections: []Section{
			{Name: "transfers", Title: "Transfers", Before: "Before.", After: "After.", Verdict: report.DocumentVerdict{Text: "VALID in 10 of 10 runs", Verdict: check.Valid}, Tables: []report.Table{table}, Source: "a report",
				Notes:    []string{"a note"},
				Bars:     []report.BarChart{{Title: "Throughput", Along: "throughput", Bars: []report.Bar{{Name: "clients=1", Value: 700, Low: 650, High: 750, Runs: []float64{650, 750}}}}},
				Lines:    []report.LineChart{{Title: "Throughput by clients", Across: "clients", Up: "throughput", Lines: []report.ChartLine{{Name: "measured", Points: [][2]float64{{1, 700}, {8, 900}}}}}},
				Findings: []Finding{{Title: FindingTitle("Transfers", "a"), Lines: []string{"1 <lost>"}}},
				Runs:     []report.Table{{Title: "Every run", Head: []string{"run"}, Rows: [][]string{{"1 bank"}}}}},
			{Name: "faults", Title: "Faults", Verdict: report.DocumentVerdict{Text: "VIOLATED in 1 of 5 runs", Verdict: check.Violated}, Problem: "not as asked for"},
		},
		Answers:  []Answer{{Ask: "Does it <help>?", Sentence: "With 8, throughput is 29 % higher.", Known: true}, {Ask: "And half?", Sentence: "Not known: no such configuration."}},
		Compared: report.Table{Title: "What the answers rest on", Head: []string{"compared", "with"}, Rows: [][]string{{"8", "1"}}},
		LeftOut:  []string{"Transfers: clients=9: not run"},
		Command:  "assay study s.yaml --size laptop"}
}

func TestPage(t *testing.T) {
	var page strings.Builder
	a := example()
	a.TakeLead("transfers", "throughput")
	expect.NoError(t, a.HTML(&page))
	text := page.String()
	expect.Text(t, "the page", text, "<h1>A &lt;study&gt;</h1>", "Does <em>more</em> help?", `<a href="#transfers">Transfers</a>`, `<h2 id="transfers">`,
		`class="doubted">900/s`, `<h2 id="overview-0"><a href="#overview-0">All &lt;of&gt; them</a>`, `<a href="#found-in-transfers-a">violated</a>`, `<h3 id="found-in-transfers-a">`, "<li>1 &lt;lost&gt;</li>", "VIOLATED in 1 of 5 runs", "Reported figures are from a report", "not as asked for", `class="interval"`,
		"<dt>Does it &lt;help&gt;?</dt><dd>With 8, throughput is 29 % higher.</dd>", `<div class="unsure"><dt>And half?`, "<li>Transfers: clients=9: not run</li>", "Every run", "assay study s.yaml --size laptop", "default-src &#39;none&#39;")
	if n := strings.Count(text, "<script>"); n != 1 || strings.Count(text, "<script") != n {
		t.Errorf("the page has %d scripts, want the one that copies tables", n)
	}
	for _, no := range []string{"javascript:", "http://", "https://"} {
		if strings.Contains(text, no) {
			t.Errorf("the page has %s", no)
		}
	}
	order := []string{"<h1", "Does <em>more</em> help?", "<dl class=\"answers\"", "<figure", "<table", `<h2 id="transfers">`, `<h2 id="set-up">`, `<h2 id="left-out">`}
	inOrder(t, text, order)
}

// inOrder wants the answers first, then the chart that shows them, then tables, set-up, and what was
// left out.
func inOrder(t *testing.T, text string, order []string) {
	t.Helper()
	for i, at := 0, 0; i < len(order); i++ {
		next := strings.Index(text[at:], order[i])
		if next < 0 {
			t.Fatalf("%s does not follow %v", order[i], order[:i])
		}
		at += next
	}
}

func TestMarkdown(t *testing.T) {
	var out strings.Builder
	a := example()
	a.TakeLead("transfers", "throughput")
	expect.NoError(t, a.Markdown(&out))
	inOrder(t, out.String(), []string{"# A", "Does *more* help?", "**Does it &lt;help&gt;?** With 8", "? Not known: no such", "charts/transfers-throughput-by-clients.svg", "## Transfers", "charts/transfers-throughput.svg", "## Set-up", "## What was left out", "## The same again"})
	expect.Text(t, "the text", out.String(), "# A &lt;study&gt;", "#### Machines", "## Transfers", "| 8 | 5 of 5 | 900/s ? |", "## All &lt;of&gt; them", "| a | [✗ violated](#found-in-transfers-a) |", "### Found in transfers a", "- 1 &lt;lost&gt;", "✗ **Faults: VIOLATED in 1 of 5 runs**",
		"✓ **VALID, with their measurements: Transfers**", "```\nassay study s.yaml --size laptop\n```",
		"![Throughput](charts/transfers-throughput.svg)", "(charts/transfers-throughput-by-clients.svg)")
}

// TestCharts: each chart is a file that is XML with colors for light and dark, and whose name is its
// own.
func TestCharts(t *testing.T) {
	a := example()
	a.ChartPrefix = "bank-"
	a.Sections[0].Bars = append(a.Sections[0].Bars, report.BarChart{Title: "Throughput", Along: "a \x00\xff\uffff <b>", Bars: []report.Bar{{Name: "\x00]]> & <c>"}}})
	var names []string
	for _, c := range a.ChartFiles() {
		names = append(names, c.Path)
		var b strings.Builder
		expect.NoError(t, c.Write(&b))
		for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v\n%s", c.Path, err, b.String())
			}
		}
		expect.Text(t, c.Path, b.String(), "Written by assay study bank.", "prefers-color-scheme: dark", "fill: #ffffff", "fill: #10151b")
		if strings.Contains(b.String(), "var(") {
			t.Errorf("%s has a color that is not put in", c.Path)
		}
	}
	if want := []string{"charts/bank-transfers-throughput.svg", "charts/bank-transfers-throughput-2.svg", "charts/bank-transfers-throughput-by-clients.svg"}; !slices.Equal(names, want) {
		t.Errorf("%q", names)
	}
}

func TestHeadline(t *testing.T) {
	a := example()
	lines := a.Headline()
	if len(lines) != 2 || lines[0].Verdict != check.Violated || lines[1].Verdict != check.Valid {
		t.Errorf("%+v", lines)
	}
	a.Sections = a.Sections[:1]
	if lines := a.Headline(); len(lines) != 1 || lines[0].Verdict != check.Valid || !strings.Contains(lines[0].Text, "every run") {
		t.Errorf("%+v", lines)
	}
	a.Sections[0].Verdict = report.DocumentVerdict{Text: "INVALID"}
	if lines := a.Headline(); len(lines) != 1 || lines[0].Verdict != check.Unknown {
		t.Errorf("invalid measurements are headed by %+v", lines)
	}
	unmeasured := report.DocumentVerdict{Text: "VALID in 5 of 5 runs; the measurement is INVALID in 2", Unmeasured: true}
	a.Sections = append(a.Sections, Section{Title: "YCSB", Verdict: unmeasured}, Section{Title: "TPC-B", Verdict: unmeasured})
	if lines := a.Headline(); len(lines) != 2 || lines[1].Verdict != check.Unknown || !strings.HasSuffix(lines[1].Text, ": YCSB, TPC-B") {
		t.Errorf("two experiments without a finding are headed by %+v", lines)
	}
}
