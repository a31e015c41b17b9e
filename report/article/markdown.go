package article

import (
	"fmt"
	"io"
	"strings"

	"assay/check"
	"assay/report"
)

// Markdown writes the article, which refers to its charts by file name.
func (a *Article) Markdown(w io.Writer) error {
	var m report.MarkdownText
	m.Raw("<!-- " + a.Origin() + " -->")
	files := a.ChartFiles()
	m.Heading(1, a.Title)
	m.Raw(below(a.Question))
	for _, answer := range a.Answers {
		m.Answer(answer.Ask, strings.TrimSpace(answer.Mark()+" "+answer.Sentence))
	}
	charts := func(section int) {
		for _, c := range files {
			if c.section == section {
				m.Image(c.title, c.Path)
				m.Items(c.remarks)
			}
		}
	}
	charts(0)
	for _, v := range a.Headline() {
		m.Verdict(v)
	}
	for _, t := range a.Overviews {
		m.Heading(2, t.Title)
		m.Table(t)
	}
	for i, s := range a.Sections {
		m.Heading(2, s.Title)
		m.Raw(below(s.Before))
		if s.Verdict.Verdict != check.Valid { // as the headline says of the others
			m.Verdict(s.Verdict)
		}
		if s.Problem != "" {
			m.Line(s.Problem)
		}
		for _, t := range s.Tables {
			if t.Title != "" {
				m.Heading(3, t.Title)
			}
			m.Table(t)
		}
		if s.Source != "" {
			m.Line("Reported figures are from " + s.Source + ".")
		}
		charts(i + 1)
		m.Items(s.Notes)
		for _, f := range s.Findings {
			m.Heading(3, f.Title)
			m.Items(f.Lines)
		}
		m.Raw(below(s.After))
	}
	m.Heading(2, "Set-up")
	m.Raw(below(a.Setup))
	m.Settings(a.Facts)
	if len(a.LeftOut) > 0 {
		m.Heading(2, "What was left out")
		m.Items(a.LeftOut)
	}
	if a.Command != "" {
		m.Heading(2, "The same again")
		m.Raw("```\n" + a.Command + "\n```")
	}
	if err := m.Write(w); err != nil {
		return fmt.Errorf("write the article: %w", err)
	}
	return nil
}
