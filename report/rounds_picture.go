package report

import (
	"math"
	"strings"

	"assay/check"
)

// roundPicture draws the rounds one below the other: how long each took, and
// where the times of its operations lie, on a logarithmic scale. Lengths are in
// pixels.
type roundPicture struct {
	Width, Height float64
	// Narrow is true if it is the one for narrow windows.
	Narrow bool
	// Desc says the same in words.
	Desc string
	Bars []drawnRound
	// Marks are the ticks of the logarithmic scale.
	Marks []drawnMark
	// Foot is the height below the last bar.
	Foot float64
}

// drawnRound is a round: a bar for its length, a line from its median to its
// maximum.
type drawnRound struct {
	Name          string
	NameY         float64
	Left, Y, Mid  float64 // of the bar
	Bar           float64 // its width
	Took          string
	TookX         float64
	Known         bool // there were committed operations
	P50, P95, P99 float64
	Max           float64
	Hint          string
}

// drawnMark is a tick with its text.
type drawnMark struct {
	X    float64
	Text string
}

// roundForm is how wide the parts of the picture are.
type roundForm struct {
	Names  float64 // the width of the names; 0 if they stand above the bars
	Bars   float64 // the width of the longest bar
	Took   float64 // the width of the text behind it; 0 if it stands above
	Times  float64 // the width of the logarithmic scale
	Height float64 // from one round to the next
}

// wideForm is for a window on a desk.
func wideForm() roundForm {
	return roundForm{Names: 190, Bars: 180, Took: 74, Times: 550, Height: 22}
}

// narrowForm is for a telephone: 350 pixels in all.
func narrowForm() roundForm {
	return roundForm{Bars: 90, Times: 210, Height: 40}
}

const (
	roundTop     = 22
	roundRight   = 40 // right of the scale, for the text of its last tick
	roundBar     = 14 // the thickness of a bar
	roundTick    = 50 // the width of a tick's text
	mostDrawable = 64
)

// drawRounds makes the picture; nil if there is nothing to draw, or too much.
func drawRounds(rounds []Round, form roundForm) *roundPicture {
	if len(rounds) == 0 || len(rounds) > mostDrawable {
		return nil
	}
	longest := 0.0
	for _, r := range rounds {
		longest = max(longest, r.Seconds)
	}
	low, high := decades(rounds)
	left := form.Names + form.Bars + max(form.Took, 10)
	at := func(ms float64) float64 {
		return tenth(left + form.Times*(math.Log10(max(ms, 1e-6))-low)/(high-low))
	}
	p := &roundPicture{Narrow: form.Names == 0, Width: left + form.Times + roundRight, Foot: tenth(roundTop + float64(len(rounds))*form.Height),
		Desc: check.Counted(len(rounds), "round", "rounds") + ": how long each took, and the times of its operations from median to maximum; the table below holds the figures"}
	p.Height = p.Foot + 6
	// The ticks get room for their text.
	for power := low; power <= high; power += max(1, math.Ceil((high-low)*roundTick/form.Times)) {
		ms := math.Pow(10, power)
		p.Marks = append(p.Marks, drawnMark{X: at(ms), Text: wholeMillis(ms)})
	}
	for i, r := range rounds {
		top := roundTop + float64(i)*form.Height
		middle := top + form.Height - roundBar/2 - 4
		d := drawnRound{Name: cut(r.Name, 26), NameY: tenth(middle), Left: form.Names, Y: tenth(middle - roundBar/2), Mid: tenth(middle),
			Took: seconds(r.Seconds), Hint: plain(roundLine(&rounds[i]))}
		if longest > 0 {
			d.Bar = tenth(form.Bars * r.Seconds / longest)
		}
		d.TookX = tenth(form.Names + d.Bar + 5)
		if p.Narrow {
			d.Name, d.NameY, d.Took = d.Name+": "+d.Took, tenth(middle-roundBar-3), ""
		}
		if r.Service.Count > 0 {
			d.Known = true
			d.P50, d.P95, d.P99, d.Max = at(r.Service.P50), at(r.Service.P95), at(r.Service.P99), at(r.Service.Max)
		}
		p.Bars = append(p.Bars, d)
	}
	return p
}

// decades are the powers of ten, of milliseconds, between which the times of all
// rounds lie.
func decades(rounds []Round) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, r := range rounds {
		if r.Service.Count > 0 {
			low, high = min(low, max(r.Service.P50, 1e-6)), max(high, r.Service.Max)
		}
	}
	low, high = math.Floor(math.Log10(max(low, 1e-6))), math.Ceil(math.Log10(max(high, 1e-6)))
	if math.IsInf(low, 0) || high <= low {
		return -3, 0
	}
	return low, high
}

// wholeMillis writes a power of ten without a fraction: 1 ms and not 1.00 ms.
func wholeMillis(ms float64) string {
	number, unit, _ := strings.Cut(millis(ms), nbsp)
	if whole, fraction, found := strings.Cut(number, "."); found && strings.Trim(fraction, "0") == "" {
		number = whole
	}
	return number + nbsp + unit
}
