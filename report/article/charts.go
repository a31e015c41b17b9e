package article

import (
	"fmt"
	"io"
	"path"
	"strings"

	"assay/report"
)

// ChartFile is a chart as a file beside the article.
type ChartFile struct {
	// Path is relative to the article's folder, with slashes.
	Path  string
	Write func(io.Writer) error
	// section counts from 1; 0 is the lead.
	section int
	title   string
	remarks []string
}

// Origin is in every file of the article, and differs between studies.
func (a *Article) Origin() string { return "Written by assay study " + fileWord(a.Name) + "." }

// ChartFiles are the files of all charts, in the order of the article.
func (a *Article) ChartFiles() (files []ChartFile) {
	taken := map[string]int{}
	for i, s := range append([]Section{a.Lead}, a.Sections...) {
		enter := func(title string, draw func(io.Writer, string) error, remarks []string) {
			name := a.ChartPrefix + chartName(taken, s.Name, title)
			files = append(files, ChartFile{path.Join(report.FolderCharts, name+".svg"), func(w io.Writer) error { return draw(w, a.Origin()) }, i, title, remarks})
		}
		for _, c := range s.Bars {
			enter(c.Title, c.SVG, nil)
		}
		for _, c := range s.Lines {
			enter(c.Title, c.SVG, c.Remarks())
		}
	}
	return files
}

// chartName is for files and links, and changes only with the title.
func chartName(taken map[string]int, section, title string) string {
	name := section + "-" + fileWord(title)
	if taken[name]++; taken[name] > 1 {
		name += fmt.Sprintf("-%d", taken[name])
	}
	return name
}

// fileWord turns text into small letters, digits and hyphens.
func fileWord(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}
