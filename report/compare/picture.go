package compare

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"
)

// The size of a picture of changes, in its own units.
const (
	pictureWidth = 860
	// plotLeft and plotRight enclose the intervals; names are left of them, figures right.
	plotLeft, plotRight = 200, 590
	pictureTop          = 64
	rowHeight           = 36
	pictureFoot         = 30
	// leastSpan is what is shown on both sides of no change at least, and mostSpan at most,
	// as the logarithm of a ratio: 10 % and a factor of 64.
	leastSpan, mostSpan = 0.095, 4.16
	// tickRoom is how far apart the marks of the axis are at least, as a share of half of it.
	tickRoom = 0.3
)

// pictureTemplate is an SVG that needs nothing beside it. It has a ground of its own, so that
// it can be read where a page is dark.
const pictureTemplate = `<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>{{.Title}}</title>
<rect width="{{.Width}}" height="{{.Height}}" fill="#ffffff"/>
<text x="16" y="26" font-size="15" font-weight="600" fill="#1f2328">{{.Title}}</text>
{{range .Ticks}}<line x1="{{.At}}" y1="{{$.Top}}" x2="{{.At}}" y2="{{$.Foot}}" stroke="{{if .Zero}}#59636e{{else}}#d1d9e0{{end}}"/><text x="{{.At}}" y="{{$.Foot}}" dy="18" text-anchor="middle" fill="#59636e">{{.Text}}</text>
{{end}}{{range .Rows}}<text x="16" y="{{.Y}}" dominant-baseline="central" fill="#1f2328">{{.Name}}</text>
{{range .Marks}}<line x1="{{.Low}}" y1="{{.Y}}" x2="{{.High}}" y2="{{.Y}}" stroke="{{.Color}}" stroke-width="3" stroke-linecap="round"/><circle cx="{{.At}}" cy="{{.Y}}" r="5" fill="{{.Color}}"/>
{{end}}<text x="606" y="{{.Y}}" dominant-baseline="central" fill="#1f2328">{{.Figures}}</text>
{{end}}<text x="16" y="48" fill="#59636e">A is grey. Points are medians, lines 95 % intervals or the range; green is better, red worse, blue not told from chance.</text>
</svg>
`

// picture is what the template is given.
type picture struct {
	Title                    string
	Width, Height, Top, Foot int
	Ticks                    []pictureTick
	Rows                     []pictureRow
}

type pictureTick struct {
	At, Text string
	Zero     bool
}

type pictureRow struct {
	Name, Figures string
	Y             int
	Marks         []pictureMark
}

// pictureMark is a median with its interval.
type pictureMark struct {
	Low, At, High string
	Y             int
	Color         string
}

// Picture draws what changed as an SVG: for each figure both groups with their intervals,
// as a ratio to A's median, so that all figures have one axis. Figures whose median is 0
// have no ratio and are left out.
func Picture(w io.Writer, all []*Comparison) error {
	parsed, err := template.New("picture").Parse(pictureTemplate)
	if err == nil {
		err = parsed.Execute(w, newPicture(all))
	}
	if err != nil {
		return fmt.Errorf("draw the comparison: %w", err)
	}
	return nil
}

func newPicture(all []*Comparison) picture {
	p := picture{Title: drawable(Document(all, "").Title), Width: pictureWidth, Top: pictureTop}
	type drawnRow struct {
		name string
		row  Row
	}
	var rows []drawnRow
	span := leastSpan
	shown := tableMetrics(all[0].A.Runs[0].Result)
	for _, c := range all {
		for _, r := range c.Rows {
			name := r.Metric
			if len(all) > 1 {
				name += ", " + c.B.Name
			}
			if r.A.Median <= 0 || r.B.Median <= 0 || len(all) > 1 && !slices.Contains(shown, r.Metric) {
				continue
			}
			rows = append(rows, drawnRow{drawable(name), r})
			for _, v := range []float64{r.A.Low, r.A.High, r.B.Low, r.B.High} {
				span = max(span, math.Abs(ratio(v, r.A.Median)))
			}
		}
	}
	span = min(span*1.05, mostSpan)
	place := func(v, of float64) string {
		share := min(max(ratio(v, of), -span), span) / span
		return fmt.Sprintf("%.1f", plotLeft+(plotRight-plotLeft)*(1+share)/2)
	}
	for i, d := range rows {
		y := pictureTop + rowHeight*i + rowHeight/2
		r := d.row
		mark := func(s Spread, y int, color string) pictureMark {
			return pictureMark{place(s.Low, r.A.Median), place(s.Median, r.A.Median), place(s.High, r.A.Median), y, color}
		}
		p.Rows = append(p.Rows, pictureRow{d.name, r.A.written(r.metric) + " → " + r.B.written(r.metric) + "  " + r.changeText(), y,
			[]pictureMark{mark(r.A, y-6, "#8c959f"), mark(r.B, y+6, r.color())}})
	}
	p.Foot = pictureTop + rowHeight*len(rows)
	p.Height = p.Foot + pictureFoot
	p.Ticks = []pictureTick{{place(1, 1), "as A", true}}
	for _, side := range [][]float64{{-0.05, -0.2, -0.5, -0.75, -0.9, -0.98}, {0.05, 0.25, 1, 3, 9, 49}} {
		last := 0.0
		for _, change := range side {
			at := math.Abs(ratio(1+change, 1)) / span
			if at <= 1 && at-last > tickRoom {
				p.Ticks = append(p.Ticks, pictureTick{place(1+change, 1), fmt.Sprintf("%+.0f %%", 100*change), false})
				last = at
			}
		}
	}
	return p
}

// ratio is the logarithm of v to what is 1; far below of nothing.
func ratio(v, one float64) float64 {
	if v <= 0 {
		return -mostSpan
	}
	return math.Log(v / one)
}

// color is green of what is better, red of what is worse, and blue where that is not told.
func (r Row) color() string {
	switch {
	case !r.Significant:
		return "#0969da"
	case r.Better:
		return "#1a7f37"
	}
	return "#cf222e"
}

// drawable is a text without what XML cannot hold, not too long for its place.
func drawable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\ufffe' || r == '\uffff' {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if letters := []rune(text); len(letters) > 100 {
		return string(letters[:100]) + "…"
	}
	return text
}
