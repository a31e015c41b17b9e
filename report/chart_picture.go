package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

// chartPicture is a chart as a file of its own, with a title and a legend.
type chartPicture struct {
	Title, Description, Mark string
	Width, Height, Left, Top int
	Style                    template.CSS
	Lines                    *DrawnChart
	Bars                     *DrawnBars
	Legend                   []legendItem
}

// legendItem explains a line, or is a remark if it has no class.
type legendItem struct {
	Class, Text string
	X, Y        int
}

// Measures around the chart, in units of the picture.
const (
	pictureEdge, pictureTitle = 16, 44
	legendStep, legendGap     = 20, 24
	// letterWidth is the widest that letters of a legend usually are.
	letterWidth, legendLine = 6.6, 36
	mostLetters             = 110
)

// SVG writes the chart as a self-contained picture for light and dark pages. It keeps origin, to
// tell a finder where it comes from.
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

// SVG writes the chart as a self-contained picture; see LineChart.SVG.
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

func (p *chartPicture) frame(width, height int) {
	p.Left, p.Top = pictureEdge, pictureTitle
	p.Width, p.Height = width+2*pictureEdge, pictureTitle+height+pictureEdge
}

func (p *chartPicture) write(w io.Writer) error {
	p.Style = template.CSS(pictureStyle())
	p.Title, p.Description, p.Mark = plain(p.Title), plain(p.Description), plain(p.Mark)
	parsed, err := own()
	if err == nil {
		err = parsed.ExecuteTemplate(w, "chart file", p)
	}
	if err != nil {
		return fmt.Errorf("draw %s: %w", p.Title, err)
	}
	return nil
}

// pictureStyle puts the page's colors into the charts' style: not every viewer knows variables.
func pictureStyle() string {
	light, dark, _ := strings.Cut(pageStyle, "@media screen and (prefers-color-scheme: dark)")
	return colored(light) + "@media (prefers-color-scheme: dark) {\n" + colored(dark) + "}\n"
}

func colored(sheet string) string {
	text := chartStyle
	for _, found := range regexp.MustCompile(`(--[a-z0-9-]+): ([^;]+);`).FindAllStringSubmatch(sheet, -1) {
		text = strings.ReplaceAll(text, "var("+found[1]+")", found[2])
	}
	return text
}
