package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"assay/check"
)

// picture is a cycle as SVG: each transaction a circle, clockwise, each
// dependency an arrow to the next. Lengths are in pixels.
type picture struct {
	// ID is unique in the page.
	ID            string
	Width, Height float64
	// Title and Desc say the same in words.
	Title, Desc string
	Nodes       []drawnNode
	Arrows      []drawnArrow
}

// drawnNode is a circle with a name in it.
type drawnNode struct {
	X, Y, Radius float64
	Name         string
	// Baseline is the height at which the name is written.
	Baseline float64
	// Hint is shown when the pointer rests on it.
	Hint string
}

// drawnArrow is a line with a head and a word beside it.
type drawnArrow struct {
	// Class is the kind of dependency, "other" if it has no name.
	Class string
	// Line and Head are the data of SVG paths.
	Line, Head   string
	Label        string
	X, Y         float64
	Anchor, Hint string
}

const (
	// mostDrawn bounds the nodes of a picture; longer cycles are only listed.
	mostDrawn = 20
	// mostInRing is how many stand in a ring. More go down on the right and up
	// on the left, so that the picture gets longer but no wider.
	mostInRing = 6

	ringRadius  = 96
	columnWidth = 150
	rowHeight   = 74
	nodeRadius  = 20
	headLength  = 10
	headWidth   = 5 // on each side
	letter      = 8 // the width and the height of one, about
	rise        = 4.5
	margin      = 4
)

// draw makes the picture; nil if the cycle is too long.
func draw(c *check.Cycle, id string) *picture {
	n := len(c.Steps)
	if n > mostDrawn {
		return nil
	}
	labels := make([]string, n)
	for i, s := range c.Steps {
		labels[i] = cut(s.Kind, 12)
	}
	places := layout(n)
	low, high := extent(places, labels)
	for i := range places {
		places[i] = places[i].minus(low).plus(point{margin, margin})
	}
	p := &picture{ID: id, Width: tenth(high.x - low.x + 2*margin), Height: tenth(high.y - low.y + 2*margin), Title: plain(inShort(c))}
	said := make([]string, n)
	for i, s := range c.Steps {
		place, next := places[i], after(c, i)
		p.Nodes = append(p.Nodes, drawnNode{X: tenth(place.x), Y: tenth(place.y), Radius: nodeRadius,
			Name: cut(s.Name, 4), Baseline: tenth(place.y + rise), Hint: plain(s.Name + ": " + s.Text)})
		b := bowed(place, places[(i+1)%n], n)
		at, anchor := b.label()
		p.Arrows = append(p.Arrows, drawnArrow{Class: class(s.Kind), Line: b.line(), Head: b.head(), Label: labels[i],
			X: tenth(at.x), Y: tenth(at.y + rise), Anchor: anchor,
			Hint: plain(fmt.Sprintf("%s before %s (%s): %s", s.Name, next.Name, s.Kind, s.Why))})
		said[i] = fmt.Sprintf("%s comes before %s (%s).", s.Name, next.Name, s.Kind)
	}
	p.Desc = plain(strings.Join(said, " "))
	return p
}

// class is the kind of a dependency, if it has a name: anything else must not
// get into an attribute that styles go by.
func class(kind string) string {
	for _, d := range dependencies() {
		if d.Kind == kind {
			return kind
		}
	}
	return "other"
}

// cut shortens text to at most so many letters.
func cut(text string, most int) string {
	runes := []rune(plain(text))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// layout places so many nodes, clockwise from the first at the top; two stand
// side by side.
func layout(n int) []point {
	if n == 2 {
		return []point{{-ringRadius, 0}, {ringRadius, 0}}
	}
	places := make([]point, n)
	if n <= mostInRing {
		for i := range places {
			turn := 2*math.Pi*float64(i)/float64(n) - math.Pi/2
			places[i] = point{math.Cos(turn), math.Sin(turn)}.times(ringRadius)
		}
		return places
	}
	// With an odd number the first is alone above both columns.
	rows, alone := n/2, n%2
	for i := range rows {
		y := float64(i+alone) * rowHeight
		places[1+i] = point{columnWidth / 2, y}
		places[(n-alone-i)%n] = point{-columnWidth / 2, y}
	}
	return places
}

// extent is the rectangle that holds everything.
func extent(places []point, labels []string) (low, high point) {
	low, high = places[0], places[0]
	take := func(p point, left, right, height float64) {
		low = point{min(low.x, p.x-left), min(low.y, p.y-height)}
		high = point{max(high.x, p.x+right), max(high.y, p.y+height)}
	}
	for i, p := range places {
		take(p, nodeRadius, nodeRadius, nodeRadius)
		at, anchor := bowed(p, places[(i+1)%len(places)], len(places)).label()
		width := letter * float64(1+utf8.RuneCountInString(labels[i]))
		switch anchor {
		case "start":
			take(at, 0, width, letter)
		case "end":
			take(at, width, 0, letter)
		default:
			take(at, width/2, width/2, letter)
		}
	}
	return low, high
}

// bow is an arrow from the edge of one node to the edge of another: a
// quadratic curve.
type bow struct{ from, control, to point }

// bowed is the arrow between two of n nodes, bent away from the inside of the
// cycle.
func bowed(a, b point, n int) bow {
	if a == b { // a node that comes before itself
		return bow{a.plus(point{-17, -10}), a.plus(point{0, -110}), a.plus(point{18, -14})}
	}
	height := 24.0
	switch {
	case n == 2:
		height = 90
	case n > mostInRing:
		height = 0
	}
	control := a.plus(b).times(0.5).plus(outward(a, b).times(height))
	return bow{a.plus(a.towards(control).times(nodeRadius)), control, b.plus(b.towards(control).times(nodeRadius + 2))}
}

// outward is to the left of who goes from a to b, and so outside for who goes
// clockwise.
func outward(a, b point) point {
	d := a.towards(b)
	return point{d.y, -d.x}
}

func (b bow) line() string {
	back := b.to.plus(b.to.towards(b.control).times(headLength - 1)) // the head covers the rest
	return fmt.Sprintf("M%v Q%v %v", b.from, b.control, back)
}

func (b bow) head() string {
	along := b.to.towards(b.control)
	base := b.to.plus(along.times(headLength))
	side := point{along.y, -along.x}.times(headWidth)
	return fmt.Sprintf("M%v L%v L%v Z", b.to, base.plus(side), base.minus(side))
}

// label is where the word stands, outside, and which end of it.
func (b bow) label() (at point, anchor string) {
	apex := b.from.plus(b.to).times(0.25).plus(b.control.times(0.5))
	out := outward(b.from, b.to)
	switch {
	case out.x > 0.4:
		return apex.plus(out.times(9)), "start"
	case out.x < -0.4:
		return apex.plus(out.times(9)), "end"
	}
	return apex.plus(out.times(13)), "middle"
}

// point is a place or a way; y grows downwards.
type point struct{ x, y float64 }

func (p point) plus(q point) point    { return point{p.x + q.x, p.y + q.y} }
func (p point) minus(q point) point   { return point{p.x - q.x, p.y - q.y} }
func (p point) times(f float64) point { return point{p.x * f, p.y * f} }

// towards is the direction from p to q, one pixel long.
func (p point) towards(q point) point {
	d := q.minus(p)
	return d.times(1 / math.Hypot(d.x, d.y))
}

func (p point) String() string { return fmt.Sprintf("%v %v", tenth(p.x), tenth(p.y)) }

// tenth rounds; one tenth of a pixel is not seen.
func tenth(v float64) float64 { return math.Round(v*10)/10 + 0 } // 0 instead of -0
