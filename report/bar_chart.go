package report

import (
	"fmt"
	"math"
	"slices"

	"assay/internal/quantity"
)

// BarChart has a bar for each row of a table, with its interval and its single runs.
type BarChart struct {
	Title  string
	Along  string
	Format func(float64) string
	Bars   []Bar
}

// Bar is one bar.
type Bar struct {
	Name string
	// Group heads consecutive bars to be compared. Bars of one name then have one color.
	Group string
	// Value is the bar's length, Low to High the interval; all are equal if no interval is known.
	Value, Low, High float64
	// Runs are the values of single runs, drawn as points.
	Runs []float64
	// AtLeast is true if the value is a lower bound, Doubted if it must not be believed.
	AtLeast, Doubted bool
}

// Measures in units of the picture. A name stands above its bar or, in groups, left of it.
const (
	barStep, barName, barThick        = 46, 16, 16
	headStep, groupedStep, groupGap   = 22, 20, 10
	barsTop, barsFoot                 = 6, 40
	barsLeft, barsRight, mostBarsLeft = 2, 120, 320
	mostBars, mostNameLetters         = 60, 110
)

// DrawnBars is a chart as the template "bars" writes it.
type DrawnBars struct {
	ID, Title, Description, Along string
	Width, Height                 int
	Top, Foot, Left, Right        float64
	Ticks                         []tick
	Heads                         []barsHead
	Bars                          []drawnBar
	Cut                           int
}

type barsHead struct {
	Text string
	Y    float64
}

type drawnBar struct {
	Name, Text, Class            string
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
	left, grouped := barsLeftOf(shown)
	along := scale{0, most, left, chartWidth - barsRight}
	d := DrawnBars{ID: id, Title: c.Title, Along: plain(c.Along), Width: chartWidth, Top: barsTop, Left: left, Right: chartWidth - barsRight, Cut: len(c.Bars) - len(shown)}
	d.Description = fmt.Sprintf("Bar chart of %s: %d bars. The table holds its figures.", c.Along, len(shown))
	if most > 0 {
		for _, v := range round(0, most) {
			d.Ticks = append(d.Ticks, tick{along.place(v), c.text(v)})
		}
	}
	y, head := float64(barsTop), ""
	var names []string
	for i, b := range shown {
		bar := c.drawn(b, along)
		if !grouped {
			bar.NameY, bar.Top = y+11, y+barName
			y += barStep
		} else {
			if i == 0 || b.Group != head {
				if i > 0 {
					y += groupGap
				}
				head = b.Group
				d.Heads = append(d.Heads, barsHead{cut(head, mostNameLetters), y + 14})
				y += headStep
			}
			if !slices.Contains(names, b.Name) {
				names = append(names, b.Name)
			}
			bar.Name = cut(b.Name, int((left-barsLeft)/letterWidth))
			bar.NameY, bar.Top, bar.Class = y+12, y, fmt.Sprintf("kind-%d", slices.Index(names, b.Name)%lineClasses+1)
			y += groupedStep
		}
		bar.Middle = bar.Top + barThick/2
		d.Bars = append(d.Bars, bar)
	}
	d.Foot, d.Height = y, int(y)+barsFoot
	return d
}

func barsLeftOf(bars []Bar) (left float64, grouped bool) {
	longest := 0
	for _, b := range bars {
		grouped = grouped || b.Group != ""
		longest = max(longest, len([]rune(b.Name)))
	}
	if !grouped {
		return barsLeft, false
	}
	return min(math.Ceil(barsLeft+letterWidth*float64(longest+2)), mostBarsLeft), true
}

func (c BarChart) drawn(b Bar, along scale) drawnBar {
	place := func(v float64) float64 {
		if along.high <= 0 {
			return along.from
		}
		return tenth(along.place(max(v, 0)))
	}
	bar := drawnBar{Name: cut(b.Name, mostNameLetters), Text: c.text(b.Value), Left: along.from, Thick: barThick,
		Length: tenth(place(b.Value) - along.from), Low: place(b.Low), High: place(b.High), Doubted: b.Doubted}
	bar.Interval = b.High > b.Low
	bar.At = max(place(b.Value), bar.High)
	for _, v := range b.Runs {
		bar.Points = append(bar.Points, place(v))
		bar.At = math.Max(bar.At, place(v))
	}
	if b.AtLeast {
		bar.Text = unbroken(quantity.AtLeast) + bar.Text
	}
	if b.Doubted {
		bar.Text += doubt
	}
	return bar
}

func (c BarChart) text(v float64) string {
	return LineChart{Format: c.Format}.text(v)
}
