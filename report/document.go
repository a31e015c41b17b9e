package report

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"sync"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"assay/check"
)

//go:embed assets/document.html
var documentTemplate string

//go:embed assets/document.css
var documentStyle string

//go:embed assets/chart.html
var chartTemplate string

//go:embed assets/chart.css
var chartStyle string

// Document is a report over several runs, in every form that a single run's report has.
type Document struct {
	Title string
	// Answers are whole sentences with what the reader wants to know first.
	Answers  []string
	Verdicts []DocumentVerdict
	Tables   []Table
	Charts   []LineChart
	Notes    []string
	// Command repeats the runs; without secrets.
	Command string
	// Picture is the file of a picture that Markdown shows, or empty.
	Picture string
	Home    string
}

// Append adds a document under the heading name.
func (d *Document) Append(name string, more Document) {
	for _, answer := range more.Answers {
		d.Answers = append(d.Answers, name+": "+answer)
	}
	for _, v := range more.Verdicts {
		v.Text = name + ": " + v.Text
		d.Verdicts = append(d.Verdicts, v)
	}
	for _, t := range more.Tables {
		t.Title = strings.TrimSuffix(name+": "+t.Title, ": ")
		d.Tables = append(d.Tables, t)
	}
	for _, c := range more.Charts {
		c.Title = name + ": " + c.Title
		d.Charts = append(d.Charts, c)
	}
	for _, note := range more.Notes {
		d.Notes = append(d.Notes, name+": "+note)
	}
}

// DocumentVerdict is one line of a document with the mark of its verdict. What is not to be believed
// is unknown.
type DocumentVerdict struct {
	Text    string
	Verdict check.Verdict
	// Unmeasured is true if all runs are valid and some measurement is not. Verdict is unknown then.
	Unmeasured bool
}

// Text writes the document for the terminal, without its charts.
func (d Document) Text(w io.Writer, o TextOptions) error {
	t := newTextWriter(o)
	t.line(d.Title)
	if len(d.Answers) > 0 {
		t.gap()
	}
	for _, answer := range d.Answers {
		t.line(answer)
	}
	for _, table := range d.Tables {
		if table.Title != "" {
			t.gap()
			t.line(table.Title)
		}
		t.table(table)
	}
	if len(d.Notes) > 0 {
		t.gap()
	}
	for _, note := range d.Notes {
		t.block("- ", "", note)
	}
	if len(d.Verdicts) > 0 {
		t.gap()
	}
	for _, v := range d.Verdicts {
		t.line(Mark(v.Verdict) + " " + v.Text)
	}
	t.field("report", o.Report)
	return t.writeTo(w)
}

// Markdown writes the document without its charts, and refers to its picture.
func (d Document) Markdown(w io.Writer) error {
	m := &MarkdownText{}
	m.raw("# " + escape(d.Title))
	for _, answer := range d.Answers {
		m.raw(escape(answer))
	}
	for _, v := range d.Verdicts {
		m.Verdict(v)
	}
	if d.Picture != "" {
		m.Image(d.Title, d.Picture)
	}
	for _, t := range d.Tables {
		m.table(t)
	}
	if len(d.Notes) > 0 {
		m.raw("## Notes")
		m.Items(d.Notes)
	}
	return m.Write(w)
}

// CSV writes the first table, with units.
func (d Document) CSV(w io.Writer) error {
	var lines [][]string
	for _, t := range d.Tables[:min(1, len(d.Tables))] {
		for _, row := range append([][]string{t.Head}, t.Rows...) {
			cells := make([]string, len(row))
			for i, cell := range row {
				cells[i] = strings.ReplaceAll(plain(cell), nbsp, " ")
			}
			lines = append(lines, cells)
		}
	}
	if err := csv.NewWriter(w).WriteAll(lines); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

type documentPage struct {
	Document
	Policy string
	Style  template.CSS
	Tabled []tabled
	Drawn  []DrawnChart
}

type tabled struct {
	ID string
	Table
}

// Templates are for pages that look like documents: "table" writes a Table, "lines" a DrawnChart
// and "chart" a DrawnChart with its figures.
func Templates() (*template.Template, error) {
	parsed, err := parsePage()
	if err == nil {
		_, err = parsed.New("document").Parse(documentTemplate + chartTemplate)
	}
	if err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return parsed, nil
}

// own are this package's, which are never added to.
var own = sync.OnceValues(Templates)

// Style is the style sheet of all pages.
func Style() string { return pageStyle + "\n" + documentStyle + "\n" + chartStyle }

// HTML writes the document as one self-contained page. Tables repeat every figure of a chart.
func (d Document) HTML(w io.Writer) error {
	parsed, err := own()
	if err != nil {
		return err
	}
	style := Style()
	page := documentPage{Document: d, Policy: Policy(style), Style: template.CSS(style)}
	taken := map[string]bool{"notes": true, "again": true}
	for _, t := range d.Tables {
		page.Tabled = append(page.Tabled, tabled{when(t.Title != "", unique(taken, cmp.Or(t.Title, "table"))), t})
	}
	for _, c := range d.Charts {
		page.Drawn = append(page.Drawn, c.Draw(unique(taken, c.Title)))
	}
	if err := parsed.ExecuteTemplate(w, "document", page); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
