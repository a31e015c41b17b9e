package compare

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestPicture: each figure has a mark for both groups, the interval encloses the median, and
// the picture is XML whatever a group is called.
func TestPicture(t *testing.T) {
	before, after := group("before", 100, 101, 102, 103, 104, 105), group("a <b> & \x00\xff\"c\"", 200, 201, 202, 203, 204, 205)
	c, err := Compare(before, after, Options{Allow: []string{"all"}})
	expect.NoError(t, err)
	for _, all := range [][]*Comparison{{c}, {c, c}} {
		var b bytes.Buffer
		expect.NoError(t, Picture(&b, all))
		circles, lines := marksOf(t, b.String())
		drawn := newPicture(all)
		if len(drawn.Rows) == 0 || circles != 2*len(drawn.Rows) || lines != circles+len(drawn.Ticks) {
			t.Errorf("%d rows with %d circles and %d lines", len(drawn.Rows), circles, lines)
		}
		for _, row := range drawn.Rows {
			for _, m := range row.Marks {
				if low, at, high := number(t, m.Low), number(t, m.At), number(t, m.High); low > at || at > high || low < plotLeft || high > plotRight {
					t.Errorf("%s: the interval %s to %s, the median %s", row.Name, m.Low, m.High, m.At)
				}
			}
		}
		throughput := drawn.Rows[0]
		if a, b := throughput.Marks[0], throughput.Marks[1]; number(t, a.At) != (plotLeft+plotRight)/2 || number(t, b.At) <= number(t, a.At) || b.Color != "#1a7f37" {
			t.Errorf("twice the throughput is %+v", throughput)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	expect.NoError(t, err)
	return v
}

// marksOf counts what a picture has, which must be XML.
func marksOf(t *testing.T, text string) (circles, lines int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return circles, lines
		}
		expect.NoError(t, err)
		start, is := token.(xml.StartElement)
		switch {
		case is && start.Name.Local == "circle":
			circles++
		case is && start.Name.Local == "line":
			lines++
		}
	}
}
