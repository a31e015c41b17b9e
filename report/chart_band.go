package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/quantity"
)

// Band marks a part of Across in a chart of lines, such as the time of a fault.
type Band struct {
	Name string
	// To is infinite if there is no end.
	From, To float64
	// Unmeasured marks time that is not measured, without any fault.
	Unmeasured bool
}

type drawnBand struct {
	Name, Class           string
	Left, Width, Label, Y float64
}

const (
	// leastBand is the least width, so that an instant is seen.
	leastBand                    = 2
	bandRows, labelStep, bandGap = 3, 15, 8
)

// bands returns the visible bands and how many rows their names take. Only the first band of a
// name is labelled. A name without room is left out, as is one wider than its unmeasured band.
func (c LineChart) bands(x scale) (all []drawnBand, rows int) {
	named := map[string]bool{}
	var ends [bandRows]float64
	for _, b := range c.seenBands(x) {
		left, right := tenth(x.place(max(b.From, x.low))), tenth(x.place(min(b.To, x.high)))
		d := drawnBand{Class: "band", Left: left, Width: tenth(max(right-left, leastBand))}
		if b.Unmeasured {
			d.Class = "unmeasured"
		}
		if !named[b.Name] {
			named[b.Name] = true
			rows = max(rows, d.label(b.Name, &ends))
		}
		all = append(all, d)
	}
	return all, rows
}

// label puts the name into the first row with room, and returns the rows used so far.
func (d *drawnBand) label(name string, ends *[bandRows]float64) (rows int) {
	name = cut(name, mostLetters)
	width := letterWidth * float64(len([]rune(name)))
	if d.Class == "unmeasured" && width > d.Width {
		return 0
	}
	from := max(chartLeft, min(d.Left, chartWidth-chartRight-width))
	for row, end := range ends {
		if end <= from {
			ends[row] = from + width + bandGap
			d.Name, d.Label, d.Y = name, tenth(from), float64(chartTop-4-row*labelStep)
			return row + 1
		}
	}
	return 0
}

func (c LineChart) seenBands(x scale) []Band {
	seen := slices.DeleteFunc(slices.Clone(c.Bands), func(b Band) bool { return b.From > x.high || b.To < x.low })
	slices.SortStableFunc(seen, func(a, b Band) int { return cmp.Compare(a.From, b.From) })
	return seen
}

// within names the bands at a value of Across.
func (c LineChart) within(v float64) string {
	var names []string
	for _, b := range c.Bands {
		if v == b.From || v > b.From && v < b.To {
			names = append(names, b.Name)
		}
	}
	return cmp.Or(strings.Join(names, "; "), none)
}

// Remarks explain the chart's curves and bands.
func (c LineChart) Remarks() []string {
	var lines []string
	x, _ := c.scales()
	for _, b := range c.seenBands(x) {
		lines = append(lines, b.text()+".")
	}
	return append(lines, c.Notes...)
}

func (b Band) text() string {
	end := "to the end"
	if !math.IsInf(b.To, 1) {
		end = "to " + quantity.Seconds(b.To)
	}
	return fmt.Sprintf("%s: from %s %s", b.Name, quantity.Seconds(b.From), end)
}
