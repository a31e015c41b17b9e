package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/quantity"
)

// LineChart is a chart of lines over a common axis, drawn without a script.
type LineChart struct {
	Title string
	// Across and Up name the axes.
	Across, Up string
	// Percentiles is true if Across is a quantile, drawn so that each further nine
	// takes the same room.
	Percentiles bool
	// Logarithmic is true if Up is drawn so; values of 0 and less are left out then.
	Logarithmic bool
	// Format writes a value of Up.
	Format func(float64) string
	Lines  []ChartLine
	// Bands are parts of Across in seconds that are marked.
	Bands []Band
	// Notes are sentences about the lines.
	Notes []string
}

// ChartLine is one line, its points ascending.
type ChartLine struct {
	Name   string
	Points [][2]float64
	// Fitted is true of a curve through the points of the line before, which is not in the
	// table of the chart's figures.
	Fitted bool
	// Mark is a place that matters; nil if there is none.
	Mark *ChartMark
}

// The size of a chart, in the units of its picture.
const (
	chartWidth, chartHeight        = 860, 320
	chartLeft, chartRight          = 76, 30
	chartTop, chartBottom          = 12, 44
	innerWidth                     = chartWidth - chartLeft - chartRight
	innerHeight                    = chartHeight - chartTop - chartBottom
	mostTicks                      = 7
	smallestLogarithmic, roomAbove = 1e-6, 1.05
)

// DrawnChart is a chart as the template "lines" writes it.
type DrawnChart struct {
	ID, Title, Description, Across, Up string
	Width, Height                      int
	Left, Right, Top, Foot, Deep       float64
	Vertical, Horizontal               []tick
	Bands                              []drawnBand
	Lines                              []drawnLine
	Figures                            Table
	Remarks                            []string
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
	// Points are drawn too where they are few, since a line between few of them hides
	// where something was measured.
	Points [][2]float64
	Mark   *drawnPlace
}

// mostPoints is up to how many points of a line are drawn.
const mostPoints = 20

const lineClasses = 6

// Draw lays the chart out; id is unique in its page.
func (c LineChart) Draw(id string) DrawnChart {
	x, y := c.scales()
	d := DrawnChart{ID: id, Title: c.Title, Across: plain(c.Across), Up: plain(c.Up), Width: chartWidth, Height: chartHeight,
		Left: chartLeft, Right: chartWidth - chartRight, Top: chartTop, Foot: chartHeight - chartBottom, Deep: innerHeight,
		Vertical: c.across(x), Horizontal: c.up(y), Bands: c.bands(x), Figures: c.figures(), Remarks: c.Remarks()}
	var names []string
	measured := -1
	for _, line := range c.Lines {
		if !line.Fitted {
			measured++
		}
		names = append(names, line.Name)
		var path strings.Builder
		var points [][2]float64
		command := "M"
		for _, p := range line.Points {
			if c.Logarithmic && p[1] <= 0 {
				command = "M"
				continue
			}
			at := [2]float64{tenth(x.place(c.position(p[0]))), tenth(y.place(c.height(p[1])))}
			fmt.Fprintf(&path, "%s%.1f %.1f", command, at[0], at[1])
			command = "L"
			points = append(points, at)
		}
		if len(points) > mostPoints {
			points = nil
		}
		d.Lines = append(d.Lines, drawnLine{plain(line.Name), lineClass(measured, line.Fitted), path.String(), points, c.place(line.Mark, x, y)})
	}
	d.Description = fmt.Sprintf("Line chart of %s by %s: %s. The table below holds its figures.", c.Up, c.Across, strings.Join(names, ", "))
	return d
}

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

// position is where a value of Across lies before it is scaled.
func (c LineChart) position(v float64) float64 {
	if c.Percentiles {
		return -math.Log10(max(1-v, 1e-9))
	}
	return v
}

func (c LineChart) height(v float64) float64 {
	if c.Logarithmic {
		return math.Log10(max(v, smallestLogarithmic))
	}
	return v
}

// scale maps values from low to high onto the picture.
type scale struct{ low, high, from, to float64 }

func (s scale) place(v float64) float64 {
	if s.high <= s.low {
		return (s.from + s.to) / 2
	}
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

func (c LineChart) scales() (x, y scale) {
	x = scale{math.Inf(1), math.Inf(-1), chartLeft, chartLeft + innerWidth}
	y = scale{math.Inf(1), math.Inf(-1), chartTop + innerHeight, chartTop}
	for _, line := range c.Lines {
		for _, p := range line.places() {
			if c.Logarithmic && p[1] <= 0 {
				continue
			}
			x.low, x.high = min(x.low, c.position(p[0])), max(x.high, c.position(p[0]))
			y.low, y.high = min(y.low, c.height(p[1])), max(y.high, c.height(p[1]))
		}
	}
	switch {
	case math.IsInf(x.low, 1):
		x.low, x.high, y.low, y.high = 0, 1, 0, 1
	case c.Logarithmic:
		y.low, y.high = math.Floor(y.low), math.Ceil(y.high)
	default:
		y.low, y.high = min(0, y.low), max(y.high*roomAbove, y.low+smallestLogarithmic)
	}
	return x, y
}

// across are the marks of the axis below.
func (c LineChart) across(s scale) []tick {
	var ticks []tick
	if c.Percentiles {
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999} {
			if at := c.position(q); at >= s.low-1e-9 && at <= s.high+1e-9 {
				ticks = append(ticks, tick{s.place(at), strconv.FormatFloat(q*100, 'f', -1, 64) + nbsp + "%"})
			}
		}
		return ticks
	}
	whole := c.whole()
	for _, v := range round(s.low, s.high) {
		if !whole || v == math.Trunc(v) {
			ticks = append(ticks, tick{s.place(v), quantity.Short(v)})
		}
	}
	return ticks
}

// whole reports whether Across has whole numbers alone, such as clients.
func (c LineChart) whole() bool {
	for _, line := range c.Lines {
		if slices.ContainsFunc(line.Points, func(p [2]float64) bool { return p[0] != math.Trunc(p[0]) }) {
			return false
		}
	}
	return true
}

// up are the marks of the axis at the left.
func (c LineChart) up(s scale) []tick {
	var ticks []tick
	if c.Logarithmic {
		for power := s.low; power <= s.high; power++ {
			ticks = append(ticks, tick{s.place(power), c.text(math.Pow(10, power))})
		}
		return ticks
	}
	for _, v := range round(s.low, s.high) {
		ticks = append(ticks, tick{s.place(v), c.text(v)})
	}
	return ticks
}

func (c LineChart) text(v float64) string {
	if c.Format == nil {
		return quantity.Short(v)
	}
	return unbroken(c.Format(v))
}

// round returns values between low and high in steps of 1, 2 or 5 times a power of
// ten.
func round(low, high float64) []float64 {
	if !(high > low) {
		return []float64{low}
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/mostTicks)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*factor) <= mostTicks {
			step *= factor
			break
		}
	}
	var values []float64
	for n := math.Ceil(low/step - 1e-9); n*step <= high+step*1e-9; n++ {
		values = append(values, n*step)
	}
	return values
}

// figures is the table of the chart.
func (c LineChart) figures() Table {
	t := Table{Title: c.Title, Head: []string{c.Across}}
	var order []float64
	values := map[float64][]string{}
	lines := slices.DeleteFunc(slices.Clone(c.Lines), func(l ChartLine) bool { return l.Fitted })
	for i, line := range lines {
		t.Head = append(t.Head, line.Name)
		for _, p := range line.Points {
			if values[p[0]] == nil {
				values[p[0]] = make([]string, len(lines))
				order = append(order, p[0])
			}
			values[p[0]][i] = c.text(p[1])
		}
	}
	for _, at := range slices.Sorted(slices.Values(order)) {
		first := quantity.Short(at)
		if c.Percentiles {
			// Eleven digits hide what binary fractions add: 99.95, not 99.9500000001.
			first = strconv.FormatFloat(math.Round(at*1e11)/1e9, 'f', -1, 64) + nbsp + "%"
		}
		row := []string{first}
		for _, cell := range values[at] {
			if cell == "" {
				cell = none
			}
			row = append(row, cell)
		}
		if len(c.Bands) > 0 {
			row = append(row, c.within(at))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(c.Bands) > 0 {
		t.Words = append(t.Words, len(t.Head))
		t.Head = append(t.Head, "meanwhile")
	}
	return t
}
