package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"assay/internal/quantity"
)

// Band is a part of the axis below of a chart of lines, such as the time of a fault.
type Band struct {
	Name string
	// To is infinite if there is no end.
	From, To float64
}

// drawnBand is a band as it is drawn; Anchor is where its label is held.
type drawnBand struct {
	Name, Anchor       string
	Left, Width, Label float64
}

// leastBand is how wide a band is at least, so that one of an instant is seen.
const leastBand = 2

// bands are those that lie in the picture at least in part. Of several of one name the first
// has the label.
func (c LineChart) bands(x scale) (all []drawnBand) {
	named := map[string]bool{}
	for _, b := range c.seenBands(x) {
		left, right := tenth(x.place(max(b.From, x.low))), tenth(x.place(min(b.To, x.high)))
		d := drawnBand{Left: left, Width: max(right-left, leastBand), Anchor: "start", Label: left + 4}
		if !named[b.Name] {
			d.Name = cut(b.Name, mostLetters)
		}
		named[b.Name] = true
		if room := chartWidth - chartRight - left; float64(len([]rune(d.Name)))*letterWidth > room {
			d.Anchor, d.Label = "end", left-4
		}
		all = append(all, d)
	}
	return all
}

func (c LineChart) seenBands(x scale) []Band {
	return slices.DeleteFunc(slices.Clone(c.Bands), func(b Band) bool { return b.From > x.high || b.To < x.low })
}

// within names the bands that a value of the axis below lies in.
func (c LineChart) within(v float64) string {
	var names []string
	for _, b := range c.Bands {
		if v >= b.From && v <= b.To {
			names = append(names, b.Name)
		}
	}
	return cmp.Or(strings.Join(names, "; "), none)
}

// Remarks say what the chart's curves and bands are.
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
