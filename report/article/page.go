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
	Origin, Policy string
	Style          template.CSS
	Headline       []report.DocumentVerdict
}

// HTML writes the article as one self-contained page.
func (a *Article) HTML(w io.Writer) error {
	style := report.Style() + "\n" + pageStyle
	p := page{Article: a, Origin: a.Origin(), Policy: report.Policy(style), Style: template.CSS(style), Headline: a.Headline()}
	taken := map[string]int{} // the template draws the charts in the order of ChartFiles
	parsed, err := report.Templates()
	if err == nil {
		_, err = parsed.New("article").Funcs(template.FuncMap{
			"findingID": Finding.ID, "prose": prose,
			"drawBars": func(s Section, c report.BarChart) report.DrawnBars { return c.Draw(chartName(taken, s.Name, c.Title)) },
			"drawLine": func(s Section, c report.LineChart) report.DrawnChart {
				return c.Draw(chartName(taken, s.Name, c.Title))
			},
		}).Parse(pageTemplate)
	}
	if err == nil {
		err = parsed.ExecuteTemplate(w, "article", p)
	}
	if err != nil {
		return fmt.Errorf("write the article: %w", err)
	}
	return nil
}
