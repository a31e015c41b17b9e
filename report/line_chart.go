package report

import (
	"fmt"
	"math"
	"strings"
)

// LineChart is a chart of lines over a common axis, drawn without a script.
type LineChart struct {
	Title      string
	Across, Up string
	// Percentiles gives each further nine of Across equal width, up to one of Operations.
	Percentiles bool
	Operations  int64
	// Low makes it lower, for pages with several charts over one axis.
	Low bool
	// Logarithmic leaves out values of 0 and less. Rare makes only the part above 1 logarithmic,
	// so that a large line hides no small one.
	Logarithmic, Rare bool
	// Format writes a value of Up, and Moment one of Across for the table; nil writes a number.
	Format, Moment func(float64) string
	// Levels holds each value until the next point. Scattered draws points alone.
	Levels, Scattered bool
	Lines             []ChartLine
	// Bands are in the seconds of Across.
	Bands []Band
	Notes []string
}

// ChartLine is one line, its points ascending. NaN is a gap.
type ChartLine struct {
	Name   string
	Points [][2]float64
	// Head heads its column in the table of figures; empty for Name.
	Head string
	// Fitted is true of a curve through the line before. It is not in the table.
	Fitted bool
	Mark   *ChartMark
}

// Sizes in the units of the picture.
const (
	chartWidth, chartHeight, lowHeight = 860, 320, 220
	chartLeft, chartRight              = 76, 30
	chartTop, chartBottom              = 12, 44
	innerWidth                         = chartWidth - chartLeft - chartRight
	mostTicks                          = 7
	smallestLogarithmic, roomAbove     = 1e-6, 1.05
)

// tall is the height without the names of bands.
func (c LineChart) tall() int {
	if c.Low {
		return lowHeight
	}
	return chartHeight
}

// DrawnChart is a chart as the template "lines" writes it.
type DrawnChart struct {
	ID, Title, Description, Across, Up string
	// Above is the part of Height for the names of bands.
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
	// Column is the line's column in the table; 0 for none.
	Column int
	// Points mark measurements if there are few, since a line hides where they are.
	Points [][2]float64
	Mark   *drawnPlace
}

// A line of up to mostPoints has points drawn, and one of more than manyPoints is thin.
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

// draw numbers the lines' columns of a shared table from column on.
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

func (c LineChart) draws(v float64) bool { return !math.IsNaN(v) && (!c.Logarithmic || v > 0) }

// lineClass gives a fitted line the color of the line before.
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
