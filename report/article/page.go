package article

import (
	_ "embed"
	"fmt"
	"io"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"assay/report"
)

//go:embed assets/article.html
var pageTemplate string

//go:embed assets/article.css
var pageStyle string

type page struct {
	*Article
	Origin, Policy  string
	Style           template.CSS
	Headline        []report.DocumentVerdict
	Question, Setup template.HTML
	Lead            pageSection
	Sections        []pageSection
}

type pageSection struct {
	Section
	Before, After template.HTML
	Drawn         []report.DrawnChart
	DrawnBars     []report.DrawnBars
}

// HTML writes the article as one self-contained page.
func (a *Article) HTML(w io.Writer) error {
	parsed, err := report.Templates()
	if err == nil {
		_, err = parsed.New("article").Funcs(template.FuncMap{"findingID": Finding.ID}).Parse(pageTemplate)
	}
	var p page
	if err == nil {
		p, err = a.page()
	}
	if err == nil {
		err = parsed.ExecuteTemplate(w, "article", p)
	}
	if err != nil {
		return fmt.Errorf("write the article: %w", err)
	}
	return nil
}

func (a *Article) page() (page, error) {
	style := report.Style() + "\n" + pageStyle
	p := page{Article: a, Origin: a.Origin(), Policy: report.Policy(style), Style: template.CSS(style), Headline: a.Headline()}
	var err error
	read := func(text string) template.HTML {
		html, problem := prose(text)
		if problem != nil && err == nil {
			err = problem
		}
		return html
	}
	p.Question, p.Setup = read(a.Question), read(a.Setup)
	taken := map[string]int{}
	draw := func(s Section) pageSection {
		section := pageSection{Section: s, Before: read(s.Before), After: read(s.After)}
		for _, c := range s.Bars {
			section.DrawnBars = append(section.DrawnBars, c.Draw(chartName(taken, s.Name, c.Title)))
		}
		for _, c := range s.Lines {
			section.Drawn = append(section.Drawn, c.Draw(chartName(taken, s.Name, c.Title)))
		}
		return section
	}
	p.Lead = draw(a.Lead)
	for _, s := range a.Sections {
		p.Sections = append(p.Sections, draw(s))
	}
	return p, err
}
