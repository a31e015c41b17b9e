package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

// chartPicture is a chart as a file of its own: with the marks of the page's chart, its title
// and what its lines mean.
type chartPicture struct {
	Title, Description, Mark string
	Width, Height, Left, Top int
	Style                    template.CSS
	Lines                    *DrawnChart
	Bars                     *DrawnBars
	Legend                   []legendItem
}

// legendItem says what a line is, or is a remark if it has no class.
type legendItem struct {
	Class, Text string
	X, Y        int
}

// The measures of a picture around its chart, in its own units.
const (
	pictureEdge, pictureTitle = 16, 44
	legendStep, legendGap     = 20, 24
	// letterWidth is how wide a letter of a legend is at most, as a rule, and legendLine how
	// wide its line with the room behind it.
	letterWidth, legendLine = 6.6, 36
	mostLetters             = 110
)

// SVG writes the chart as a picture that needs nothing beside it and can be read where a page is
// dark too. origin is kept in it, for those who find the file.
func (c LineChart) SVG(w io.Writer, origin string) error {
	d := c.Draw("")
	p := chartPicture{Title: c.Title, Description: d.Description, Mark: origin, Lines: &d}
	p.frame(d.Width, d.Height)
	p.Top += d.Above
	x := pictureEdge
	enter := func(item legendItem, width int) {
		if x > pictureEdge && x+width > p.Width-pictureEdge {
			x = pictureEdge
			p.Height += legendStep
		}
		item.X, item.Y, item.Text = x, p.Height, cut(item.Text, mostLetters)
		p.Legend = append(p.Legend, item)
		x += width + legendGap
	}
	width := func(text string) int { return int(letterWidth * float64(min(len([]rune(text)), mostLetters))) }
	enter(legendItem{Text: c.Up + ":"}, width(c.Up)+legendGap/4)
	for _, line := range d.Lines {
		enter(legendItem{Class: line.Class, Text: line.Label()}, legendLine+width(line.Label()))
	}
	x0, _ := c.scales()
	for _, b := range c.seenBands(x0) {
		enter(legendItem{Class: "band", Text: b.text()}, legendLine+width(b.text()))
	}
	p.Height += legendStep
	return p.write(w)
}

// SVG writes the chart as a picture, as that of lines is written.
func (c BarChart) SVG(w io.Writer, origin string) error {
	d := c.Draw("")
	p := chartPicture{Title: c.Title, Description: d.Description, Mark: origin, Bars: &d}
	p.frame(d.Width, d.Height)
	if d.Cut > 0 {
		p.Legend = append(p.Legend, legendItem{Text: fmt.Sprintf("%d more rows are in the table.", d.Cut), X: pictureEdge, Y: p.Height})
		p.Height += legendStep
	}
	return p.write(w)
}

// frame makes room around a chart of this size.
func (p *chartPicture) frame(width, height int) {
	p.Left, p.Top = pictureEdge, pictureTitle
	p.Width, p.Height = width+2*pictureEdge, pictureTitle+height+pictureEdge
}

func (p *chartPicture) write(w io.Writer) error {
	p.Style = template.CSS(pictureStyle())
	p.Title, p.Description, p.Mark = plain(p.Title), plain(p.Description), plain(p.Mark)
	parsed, err := Templates()
	if err == nil {
		err = parsed.ExecuteTemplate(w, "chart file", p)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", p.Title, err)
	}
	return nil
}

// pictureStyle is the style of charts with the page's colors put in, since not all that shows
// pictures knows variables: those of a light page, and of a dark one where the reader wants that.
func pictureStyle() string {
	light, dark, _ := strings.Cut(pageStyle, "@media screen and (prefers-color-scheme: dark)")
	return colored(light) + "@media (prefers-color-scheme: dark) {\n" + colored(dark) + "}\n"
}

// colored is the style of charts with the colors that a style sheet names.
func colored(sheet string) string {
	text := chartStyle
	for _, found := range regexp.MustCompile(`(--[a-z0-9-]+): ([^;]+);`).FindAllStringSubmatch(sheet, -1) {
		text = strings.ReplaceAll(text, "var("+found[1]+")", found[2])
	}
	return text
}
