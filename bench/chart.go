//go:build linux

package main

import (
	"fmt"
	"html"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// growthChart is how the cost of the stages grows with the size: a panel for time and one
// for memory, with logarithmic axes.
type growthChart struct{ lines []growthLine }

// growthLine is one stage, its points by ascending size.
type growthLine struct {
	name   string
	points []growthPoint
}

type growthPoint struct{ size, seconds, memory float64 } // MiB

func secondsOf(p growthPoint) float64 { return p.seconds }
func memoryOf(p growthPoint) float64  { return p.memory }

// The size of a panel and the room around it, in the units of the picture.
const (
	panelWidth, panelHeight = 330, 240
	panelLeft, panelTop     = 60, 36
	panelStep               = panelLeft + panelWidth + 20
	panelFoot               = panelTop + panelHeight
	legendLine              = 18
)

// svg writes the picture.
func (c growthChart) svg() string {
	colors := []string{"#1f5fa8", "#c2571a", "#2e7d32"}
	var out strings.Builder
	width, height := 2*panelStep, panelFoot+40+legendLine*len(c.lines)
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="11" role="img" aria-label="Time and memory by size">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	c.panel(&out, panelLeft, "Seconds, by size", secondsOf, colors)
	c.panel(&out, panelLeft+panelStep, "Peak memory in MiB, by size", memoryOf, colors)
	for i, l := range c.lines {
		y := panelFoot + 40 + legendLine*i
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="18" height="4" fill="%s"/><text x="%d" y="%d">%s (slope of time %.2f, of memory %.2f)</text>`+"\n",
			panelLeft, y, colors[i%len(colors)], panelLeft+26, y+6, html.EscapeString(l.name), slope(l.points, secondsOf), slope(l.points, memoryOf))
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// panel draws one value of all lines.
func (c growthChart) panel(out *strings.Builder, left int, title string, value func(growthPoint) float64, colors []string) {
	across := c.powers(func(p growthPoint) float64 { return p.size })
	up := c.powers(value)
	x := func(v float64) float64 { return float64(left) + panelWidth*across.share(v) }
	y := func(v float64) float64 { return panelFoot - panelHeight*up.share(v) }
	fmt.Fprintf(out, `<text x="%d" y="20" font-size="13" font-weight="bold">%s</text>`+"\n", left, html.EscapeString(title))
	for power := across.low; power <= across.high; power++ {
		at := x(math.Pow10(power))
		fmt.Fprintf(out, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#dddddd"/><text x="%.1f" y="%d" text-anchor="middle">10^%d</text>`+"\n",
			at, at, panelTop, panelFoot, at, panelFoot+16, power)
	}
	for power := up.low; power <= up.high; power++ {
		at := y(math.Pow10(power))
		fmt.Fprintf(out, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#dddddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			left, left+panelWidth, at, at, left-6, at+4, math.Pow10(power))
	}
	for i, l := range c.lines {
		color := colors[i%len(colors)]
		var path []string
		for _, p := range l.points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(p.size), y(value(p))))
			fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(p.size), y(value(p)), color)
		}
		fmt.Fprintf(out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(path, " "), color)
	}
}

// powersOfTen are those between which values lie.
type powersOfTen struct{ low, high int }

// share is where a value lies between them, on a logarithmic axis.
func (p powersOfTen) share(v float64) float64 {
	return (math.Log10(v) - float64(p.low)) / float64(max(1, p.high-p.low))
}

func (c growthChart) powers(value func(growthPoint) float64) powersOfTen {
	p := powersOfTen{math.MaxInt32, math.MinInt32}
	for _, l := range c.lines {
		for _, point := range l.points {
			power := math.Log10(value(point))
			p.low, p.high = min(p.low, int(math.Floor(power))), max(p.high, int(math.Ceil(power)))
		}
	}
	return p
}

// slope is that of the line through the points by least squares, both axes logarithmic: 1
// is ten times the cost for ten times the size.
func slope(points []growthPoint, value func(growthPoint) float64) float64 {
	var x, y []float64
	for _, p := range points {
		x, y = append(x, math.Log10(p.size)), append(y, math.Log10(value(p)))
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}
