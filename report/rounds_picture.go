package report

import (
	"math"

	"assay/check"
)

// roundPicture draws the rounds one below the other: how long each took, and
// where the times of its operations lie, on a logarithmic scale. Lengths are in
// pixels.
type roundPicture struct {
	Width, Height float64
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
	Y, Mid        float64
	Bar           float64 // the bar's width
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

const (
	roundHeight  = 22
	roundNames   = 190 // the width of the names
	roundBars    = 180 // the width of the longest bar
	roundTook    = 74  // the width of the text behind it
	roundTimes   = 330 // the width of the logarithmic scale
	roundTop     = 22
	mostDrawable = 64
)

// drawRounds makes the picture; nil if there is nothing to draw, or too much.
func drawRounds(rounds []Round) *roundPicture {
	if len(rounds) == 0 || len(rounds) > mostDrawable {
		return nil
	}
	longest, low, high := 0.0, math.Inf(1), 0.0
	for _, r := range rounds {
		longest = max(longest, r.Seconds)
		if r.Service.Count > 0 {
			low, high = min(low, max(r.Service.P50, 1e-6)), max(high, r.Service.Max)
		}
	}
	low, high = math.Floor(math.Log10(max(low, 1e-6))), math.Ceil(math.Log10(max(high, 1e-6)))
	if math.IsInf(low, 0) || high <= low {
		low, high = -3, 0
	}
	left := float64(roundNames + roundBars + roundTook)
	at := func(ms float64) float64 {
		return tenth(left + roundTimes*(math.Log10(max(ms, 1e-6))-low)/(high-low))
	}
	p := &roundPicture{Width: left + roundTimes + 40, Foot: tenth(float64(roundTop + len(rounds)*roundHeight)),
		Desc: check.Counted(len(rounds), "round", "rounds") + ": how long each took, and the times of its operations from median to maximum; the table below holds the figures"}
	p.Height = p.Foot + 6
	for power := low; power <= high; power++ {
		ms := math.Pow(10, power)
		p.Marks = append(p.Marks, drawnMark{X: at(ms), Text: millis(ms)})
	}
	for i, r := range rounds {
		y := float64(roundTop + i*roundHeight)
		d := drawnRound{Name: cut(r.Name, 26), Y: tenth(y + 4), Mid: tenth(y + roundHeight/2), Took: seconds(r.Seconds), Hint: plain(roundLine(&rounds[i]))}
		if longest > 0 {
			d.Bar = tenth(roundBars * r.Seconds / longest)
		}
		d.TookX = tenth(roundNames + d.Bar + 5)
		if r.Service.Count > 0 {
			d.Known = true
			d.P50, d.P95, d.P99, d.Max = at(r.Service.P50), at(r.Service.P95), at(r.Service.P99), at(r.Service.Max)
		}
		p.Bars = append(p.Bars, d)
	}
	return p
}
