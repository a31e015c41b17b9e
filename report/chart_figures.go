package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"assay/internal/quantity"
)

// Figures are the table of one chart, or of several over the same axis.
type Figures struct {
	// Place is its link; empty for a table below its own chart.
	Place string
	Table Table
	// Rows are the places of the table's rows on the axis, in units of the picture, for the pages' script.
	Rows string
}

func figuresOf(place, title string, charts ...LineChart) Figures {
	t := Table{Title: title, Head: []string{charts[0].Across}}
	columns := 0
	cells := map[float64][]string{}
	for _, c := range charts {
		for _, line := range c.Lines {
			if line.Fitted {
				continue
			}
			t.Head = append(t.Head, cmp.Or(line.Head, line.Name))
			for _, p := range line.Points {
				if !math.IsNaN(p[1]) {
					cells[p[0]] = filledUp(cells[p[0]], columns+1)
					cells[p[0]][columns] = c.text(p[1])
				}
			}
			columns++
		}
	}
	var places []string
	first := charts[0]
	x, _ := first.scales()
	for _, at := range slices.Sorted(maps.Keys(cells)) {
		row := append([]string{first.moment(at)}, filledUp(cells[at], columns)...)
		if len(first.Bands) > 0 {
			row = append(row, first.within(at))
		}
		t.Rows = append(t.Rows, row)
		places = append(places, fmt.Sprint(tenth(x.place(first.position(at)))))
	}
	if len(first.Bands) > 0 {
		t.Words = append(t.Words, len(t.Head))
		t.Head = append(t.Head, "meanwhile")
	}
	return Figures{place, t, strings.Join(places, " ")}
}

func filledUp(cells []string, length int) []string {
	for len(cells) < length {
		cells = append(cells, none)
	}
	return cells
}

func drawTogether(place, title string, charts []LineChart) (all []DrawnChart, f Figures) {
	if len(charts) == 0 {
		return nil, f
	}
	column, taken := 1, map[string]bool{}
	for _, c := range charts {
		d := c.draw(unique(taken, place+" "+c.Title), column)
		d.Figures.Place, d.Remarks = place, c.Notes // what is marked stands in tables of the page
		all, column = append(all, d), column+len(c.Lines)
	}
	return all, figuresOf(place, title, charts...)
}

func (c LineChart) moment(at float64) string {
	switch {
	case c.Moment != nil:
		return c.Moment(at)
	case c.Percentiles:
		// Eleven digits hide what binary fractions add: 99.95, not 99.9500000001.
		return strconv.FormatFloat(math.Round(at*1e11)/1e9, 'f', -1, 64) + nbsp + "%"
	}
	return quantity.Short(at)
}
