package report

import (
	"fmt"
	"math"
	"strings"
)

// LineChart is a chart of lines over a common axis, drawn without a script.
type LineChart struct {
	Title string
	// Across and Up name the axes.
	Across, Up string
	// Percentiles is true if Across is a quantile, drawn so that each further nine
	// takes the same room, up to the slowest of so many Operations; 0 is not known.
	Percentiles bool
	Operations  int64
	// Low is true of a chart that stands among many.
	Low bool
	// Logarithmic is true if Up is drawn so; values of 0 and less are left out then. Rare is true
	// if it is so above 1 alone, where much of one line must not hide a little of another.
	Logarithmic, Rare bool
	// Format writes a value of Up, and Moment one of Across for the table; nil is a number.
	Format, Moment func(float64) string
	// Levels is true if a line holds each value until its next point, and Scattered if points alone
	// are drawn.
	Levels, Scattered bool
	Lines             []ChartLine
	// Bands are parts of Across in seconds that are marked.
	Bands []Band
	// Notes are sentences about the lines.
	Notes []string
}

// ChartLine is one line, its points ascending. A value of NaN is a gap.
type ChartLine struct {
	Name   string
	Points [][2]float64
	// Head heads its column in the table of figures; empty for its name.
	Head string
	// Fitted is true of a curve through the points of the line before, which is not in the
	// table of the chart's figures.
	Fitted bool
	// Mark is a place that matters; nil if there is none.
	Mark *ChartMark
}

// The size of a chart, in the units of its picture.
const (
	chartWidth, chartHeight, lowHeight = 860, 320, 220
	chartLeft, chartRight              = 76, 30
	chartTop, chartBottom              = 12, 44
	innerWidth                         = chartWidth - chartLeft - chartRight
	mostTicks                          = 7
	smallestLogarithmic, roomAbove     = 1e-6, 1.05
)

// tall is the chart's height, without the names of bands above it.
func (c LineChart) tall() int {
	if c.Low {
		return lowHeight
	}
	return chartHeight
}

// DrawnChart is a chart as the template "lines" writes it.
type DrawnChart struct {
	ID, Title, Description, Across, Up string
	// Above is the room for the names of bands, in Height.
	Width, Height, Above         int
	Left, Right, Top, Foot, Deep float64
	Vertical, Horizontal         []tick
	Bands                        []drawnBand
	Lines                        []drawnLine
	Levels                       bool
	Figures                      Figures
	Remarks                      []string
}

type tick struct {
	At   float64
	Text string
}

type drawnLine struct {
	Name string
	// Class is line-1 to line-6, and further words.
	Class string
	Path  string
	// Column is that of the table with the figures; 0 for a line that is in none.
	Column int
	// Points are drawn too where they are few, since a line between few of them hides
	// where something was measured.
	Points [][2]float64
	Mark   *drawnPlace
}

// mostPoints is up to how many points of a line are drawn; one of more than manyPoints is thin.
const mostPoints, manyPoints = 20, 400

const lineClasses = 6

// Draw lays the chart out with a table of its own; id is unique in its page.
func (c LineChart) Draw(id string) DrawnChart {
	d := c.draw(id, 1)
	if !c.Scattered { // of which result.json has the points
		d.Figures = figuresOf("", c.Title, c)
	}
	return d
}

// draw lays the chart out without a table, of which the lines have the columns from this one on.
func (c LineChart) draw(id string, column int) DrawnChart {
	x, y := c.scales()
	bands, rows := c.bands(x)
	above, foot := rows*labelStep, c.tall()-chartBottom
	d := DrawnChart{ID: id, Title: c.Title, Across: plain(c.Across), Up: plain(c.Up), Width: chartWidth, Height: c.tall() + above, Above: above,
		Left: chartLeft, Right: chartWidth - chartRight, Top: chartTop, Foot: float64(foot), Deep: float64(foot - chartTop),
		Vertical: c.across(x), Horizontal: c.up(y), Bands: bands, Levels: c.Levels, Remarks: c.Remarks()}
	var names, marked []string
	measured := 0
	for _, line := range c.Lines {
		one := drawnLine{Name: plain(line.Name), Mark: c.place(line.Mark, x, y)}
		if !line.Fitted {
			one.Column = column + measured
			measured++
		}
		one.Class = lineClass(measured-1, line.Fitted) + when(len(line.Points) > manyPoints, " dense")
		one.Path, one.Points = c.path(line, x, y)
		d.Lines, names = append(d.Lines, one), append(names, line.Name)
	}
	for _, b := range bands {
		if b.Name != "" {
			marked = append(marked, b.Name)
		}
	}
	d.Description = fmt.Sprintf("%s of %s by %s: %s%s.%s", map[bool]string{true: "Points", false: "Line chart"}[c.Scattered], c.Up, c.Across, strings.Join(names, ", "),
		when(len(marked) > 0, ", with "+strings.Join(marked, ", ")+" marked"), when(!c.Scattered, " The table below holds its figures."))
	return d
}

// path is a line with gaps for what is not drawn, and its points if they are few.
func (c LineChart) path(line ChartLine, x, y scale) (path string, points [][2]float64) {
	var b strings.Builder
	last, goesOn := [2]float64{}, false
	for _, p := range line.Points {
		if goesOn && c.Levels {
			if at := tenth(x.place(c.position(p[0]))); at != last[0] {
				fmt.Fprintf(&b, "H%g", at)
				last[0] = at
			}
		}
		if !c.draws(p[1]) {
			goesOn = false
			continue
		}
		at := [2]float64{tenth(x.place(c.position(p[0]))), tenth(y.place(c.height(p[1])))}
		switch {
		case !goesOn:
			fmt.Fprintf(&b, "M%g %g", at[0], at[1])
		case at == last:
		case at[0] == last[0]:
			fmt.Fprintf(&b, "V%g", at[1])
		default:
			fmt.Fprintf(&b, "L%g %g", at[0], at[1])
		}
		last, goesOn = at, true
		points = append(points, at)
	}
	switch {
	case c.Scattered:
		return "", points
	case len(points) > mostPoints || c.Levels:
		points = nil
	}
	return b.String(), points
}

// draws reports whether a value of Up is drawn.
func (c LineChart) draws(v float64) bool { return !math.IsNaN(v) && (!c.Logarithmic || v > 0) }

// lineClass is that of a line by its number; a fitted one has the color of its own line.
func lineClass(i int, fitted bool) string {
	class := fmt.Sprintf("line-%d", max(i, 0)%lineClasses+1)
	if i >= lineClasses { // the colors are used up
		class += " again"
	}
	if fitted {
		class += " fitted"
	}
	return class
}
