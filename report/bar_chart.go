package report

import (
	"fmt"
	"math"
)

// BarChart is a bar for each row of a table, with its interval and the single runs it
// stands for, drawn without a script.
type BarChart struct {
	Title string
	// Along names the axis.
	Along string
	// Format writes a value.
	Format func(float64) string
	Bars   []Bar
}

// Bar is one bar.
type Bar struct {
	Name string
	// Value is drawn as the bar's length, Low to High as a line over its end; they are
	// equal if nothing is known of an interval.
	Value, Low, High float64
	// Runs are the values of single runs, drawn as points.
	Runs []float64
	// Doubted is true if the value is not to be believed.
	Doubted bool
}

// The measures of a chart of bars, in the units of its picture: each bar has its name above
// it.
const (
	barStep, barName, barThick = 46, 16, 16
	barsTop, barsFoot          = 6, 40
	barsLeft, barsRight        = 2, 120
	mostBars                   = 60
)

// DrawnBars is a chart as the template "bars" writes it.
type DrawnBars struct {
	ID, Title, Description, Along string
	Width, Height                 int
	Top, Foot, Left, Right        float64
	Ticks                         []tick
	Bars                          []drawnBar
	// Cut is how many bars there was no room for.
	Cut int
}

type drawnBar struct {
	Name, Text                   string
	Left, NameY, Top, Middle     float64
	Thick, Length, Low, High, At float64
	Interval, Doubted            bool
	Points                       []float64
}

// Draw lays the chart out; id is unique in its page.
func (c BarChart) Draw(id string) DrawnBars {
	shown := c.Bars[:min(len(c.Bars), mostBars)]
	most := 0.0
	for _, b := range shown {
		most = max(most, b.Value, b.High)
		for _, v := range b.Runs {
			most = max(most, v)
		}
	}
	along := scale{0, most, barsLeft, chartWidth - barsRight}
	d := DrawnBars{ID: id, Title: c.Title, Along: plain(c.Along), Width: chartWidth, Height: barsTop + barStep*len(shown) + barsFoot,
		Top: barsTop, Left: barsLeft, Foot: float64(barsTop + barStep*len(shown)), Right: chartWidth - barsRight, Cut: len(c.Bars) - len(shown)}
	d.Description = fmt.Sprintf("Bar chart of %s: %d bars. The table holds its figures.", c.Along, len(shown))
	if most > 0 {
		for _, v := range round(0, most) {
			d.Ticks = append(d.Ticks, tick{along.place(v), c.text(v)})
		}
	}
	place := func(v float64) float64 {
		if most <= 0 {
			return barsLeft
		}
		return tenth(along.place(max(v, 0)))
	}
	for i, b := range shown {
		top := float64(barsTop + barStep*i)
		bar := drawnBar{Name: cut(b.Name, 110), Text: c.text(b.Value), Left: barsLeft, NameY: top + 11, Top: top + barName, Thick: barThick,
			Middle: top + barName + barThick/2, Length: tenth(place(b.Value) - barsLeft), Low: place(b.Low), High: place(b.High), Doubted: b.Doubted}
		bar.Interval = b.High > b.Low
		bar.At = max(place(b.Value), bar.High)
		for _, v := range b.Runs {
			bar.Points = append(bar.Points, place(v))
			bar.At = math.Max(bar.At, place(v))
		}
		if b.Doubted {
			bar.Text += doubt
		}
		d.Bars = append(d.Bars, bar)
	}
	return d
}

func (c BarChart) text(v float64) string {
	return LineChart{Format: c.Format}.text(v)
}
