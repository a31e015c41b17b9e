package report

import (
	"testing"

	"assay/internal/quantity"
)

func TestBars(t *testing.T) {
	c := BarChart{Title: "Throughput", Along: "throughput", Format: quantity.Short, Bars: []Bar{
		{Name: "a", Value: 100, Low: 90, High: 200, Runs: []float64{90, 200}},
		{Name: "b", Value: 50, Low: 50, High: 50, Doubted: true},
		{Name: "none"},
	}}
	d := c.Draw("bars-1")
	if len(d.Bars) != 3 || d.Bars[0].Length <= d.Bars[1].Length || !d.Bars[0].Interval || d.Bars[1].Interval || d.Bars[2].Length != 0 {
		t.Errorf("%+v", d.Bars)
	}
	if d.Bars[0].High != d.Right || d.Bars[0].At < d.Bars[0].High || len(d.Bars[0].Points) != 2 {
		t.Errorf("an interval leaves the picture: %+v, right %v", d.Bars[0], d.Right)
	}
	if d.Bars[1].Text != Doubtful("50") {
		t.Errorf("%q", d.Bars[1].Text)
	}
	for len(c.Bars) < 100 {
		c.Bars = append(c.Bars, Bar{Name: "more", Value: 1})
	}
	if d := c.Draw("bars-1"); len(d.Bars) != mostBars || d.Cut != 100-mostBars {
		t.Errorf("%d bars, %d cut", len(d.Bars), d.Cut)
	}
	if d := (BarChart{Bars: []Bar{{Name: "zero"}}}).Draw("x"); len(d.Ticks) != 0 || d.Bars[0].Length != 0 {
		t.Errorf("nothing but 0: %+v", d)
	}
}
