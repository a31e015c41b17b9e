package report

import (
	"math"
	"slices"
	"testing"
)

// TestLevelsAndGaps: a line holds each value until the next one, has a gap where nothing is known,
// and each row of the table has its place.
func TestLevelsAndGaps(t *testing.T) {
	gap := math.NaN()
	c := LineChart{Title: "a", Across: "seconds", Low: true, Levels: true, Lines: []ChartLine{{Name: "a", Points: [][2]float64{{0, 1}, {1, 2}, {2, gap}, {3, 1}, {4, gap}}}}}
	d := c.Draw("x")
	if want := "M76 97.9H264.5V19.8H453M641.5 97.9H830"; d.Lines[0].Path != want {
		t.Errorf("the line is %s, want %s", d.Lines[0].Path, want)
	}
	want := [][]string{{"0", "1"}, {"1", "2"}, {"3", "1"}}
	if got := d.Figures; got.Rows != "76 264.5 641.5" || !slices.EqualFunc(got.Table.Rows, want, slices.Equal) {
		t.Errorf("the rows %q are at %s", got.Table.Rows, got.Rows)
	}
}

// TestScattered: all points are drawn, and no line.
func TestScattered(t *testing.T) {
	var line ChartLine
	for i := range 3 * mostPoints {
		line.Points = append(line.Points, [2]float64{float64(i), 1})
	}
	d := LineChart{Scattered: true, Lines: []ChartLine{line}}.Draw("x")
	if one := d.Lines[0]; one.Path != "" || len(one.Points) != len(line.Points) {
		t.Errorf("%d points and the line %q", len(one.Points), one.Path)
	}
}

// TestRareIsSeen: one operation beside a thousand is more than a tenth of the chart high.
func TestRareIsSeen(t *testing.T) {
	c := LineChart{Rare: true, Lines: []ChartLine{{Points: [][2]float64{{0, 0}, {1, 1}, {2, 1000}}}}}
	_, y := c.scales()
	if high := y.place(c.height(0)) - y.place(c.height(1)); high < (y.from-y.to)/10 {
		t.Errorf("one is %.0f high of %.0f", high, y.from-y.to)
	}
	var marks []string
	for _, tick := range c.up(y) {
		marks = append(marks, tick.Text)
	}
	if want := []string{"0", "1", "10", "100", "1,000"}; !slices.Equal(marks, want) {
		t.Errorf("the axis has %q, want %q", marks, want)
	}
}

// TestNamesOfBands: names stand above the lines, in rows where they would run into each other, and
// each once.
func TestNamesOfBands(t *testing.T) {
	c := LineChart{Lines: []ChartLine{{Points: [][2]float64{{0, 1}, {100, 1}}}}, Bands: []Band{{Name: "kill primary", From: 10, To: 12}, {Name: "pause n2", From: 13, To: 14},
		{Name: "kill primary", From: 50, To: 52}, {Name: "isolate n3", From: 99, To: math.Inf(1)}, {Name: "later", From: 200, To: 210}}}
	d := c.Draw("x")
	type label struct {
		name  string
		above float64
	}
	var got []label
	for _, b := range d.Bands {
		got = append(got, label{b.Name, b.Y})
		if b.Name != "" && b.Label+letterWidth*float64(len(b.Name)) > chartWidth-chartRight+0.1 {
			t.Errorf("%s goes beyond the chart", b.Name)
		}
	}
	if want := []label{{"kill primary", 8}, {"pause n2", -7}, {"", 0}, {"isolate n3", 8}}; !slices.Equal(got, want) || d.Above != 2*labelStep {
		t.Errorf("the names are %v with %d above, want %v", got, d.Above, want)
	}
}

// TestSlowestIsTheEnd: the axis of percentiles ends with the slowest operation, and no percentile beyond
// what so many operations tell is marked there.
func TestSlowestIsTheEnd(t *testing.T) {
	c := LineChart{Percentiles: true, Operations: 1500, Lines: []ChartLine{{Points: [][2]float64{{0.5, 1}, {0.99, 2}, {1, 3}}}}}
	x, _ := c.scales()
	var marks []string
	for _, tick := range c.across(x) {
		marks = append(marks, tick.Text)
	}
	if want := []string{"50" + nbsp + "%", "90" + nbsp + "%", "99" + nbsp + "%", "99.9" + nbsp + "%"}; !slices.Equal(marks, want) || x.place(c.position(1)) != chartWidth-chartRight {
		t.Errorf("the axis has %q, want %q, and ends at %v", marks, want, x.place(c.position(1)))
	}
}
