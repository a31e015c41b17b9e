package article

import (
	"fmt"
	"io"
	"strings"

	"assay/report"
)

// Markdown writes the article, which refers to its charts by the names of their files.
func (a *Article) Markdown(w io.Writer) error {
	var m report.MarkdownText
	m.Raw("<!-- " + a.Origin() + " -->")
	files := a.ChartFiles()
	m.Heading(1, a.Title)
	for _, v := range a.Headline() {
		m.Verdict(v)
	}
	m.Raw(below(a.Question))
	m.Raw(below(a.Setup))
	m.Settings(a.Facts)
	for _, t := range a.Overviews {
		m.Heading(2, t.Title)
		m.Table(t)
	}
	for _, s := range a.Sections {
		m.Heading(2, s.Title)
		m.Raw(below(s.Before))
		m.Verdict(s.Verdict)
		if s.Problem != "" {
			m.Line(s.Problem)
		}
		m.Table(s.Table)
		if s.Source != "" {
			m.Line("Reported figures are from " + s.Source + ".")
		}
		m.Items(s.Remarks)
		for _, c := range files {
			if c.section == s.Name {
				m.Image(s.Title+": "+c.title, c.Path)
				m.Items(c.remarks)
			}
		}
		m.Items(s.Notes)
		for _, f := range s.Findings {
			m.Heading(3, f.Title)
			m.Items(f.Lines)
		}
		m.Raw(below(s.After))
	}
	if len(a.Conclusions) > 0 {
		m.Heading(2, "Conclusions")
	}
	for _, c := range a.Conclusions {
		m.Raw(below(c.Text))
		if c.State() != "" {
			m.Line(strings.TrimSpace(c.Mark() + " " + c.claim() + c.State()))
		}
		if c.Result != nil {
			m.Items(c.Result.Detail)
		}
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

func (c Conclusion) claim() string {
	if c.Result == nil {
		return ""
	}
	return c.Result.Claim + ": "
}
