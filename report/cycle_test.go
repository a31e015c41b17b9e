package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"assay/check"
	"assay/internal/expect"
)

// TestSaid holds that a text is only left out if the steps say all of it.
func TestSaid(t *testing.T) {
	repeated := cycleEvidence("G-single", 1, skew())
	short := "each of 3 transactions comes before the next, and the last before the first: no order of them exists"
	less := cycleEvidence("G-single", 1, skew())
	less.Cycle.Steps[1].Why = "another reason"
	for name, c := range map[string]struct {
		e    check.Evidence
		want string
	}{
		"no cycle":    {check.Evidence{Text: "300 are missing"}, "300 are missing"},
		"empty cycle": {check.Evidence{Text: "T1 is odd", Cycle: &check.Cycle{}}, "T1 is odd"},
		"repeated":    {repeated, short},
		"begins with more": {check.Evidence{Text: "dirty write (G0): " + repeated.Text, Cycle: repeated.Cycle},
			"dirty write (G0): " + repeated.Text},
		"says another thing": {less, less.Text},
		"two":                {cycleEvidence("G0", 1, twoWrites()), "T1 comes before T2, and T2 before T1: no order of the two exists"},
		"one":                {cycleEvidence("G0", 1, longCycle(1)), "T1 would have to come before itself"},
	} {
		if got := evidenceText(c.e); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestLegendNamesWhatIsUsed(t *testing.T) {
	for want, cycles := range map[string][]*check.Cycle{
		"[]": nil, "[ww]": {twoWrites()}, "[wr rw]": {skew()}, "[ww wr rw]": {skew(), twoWrites()},
		"[ww wr rw process realtime]": {longCycle(5)},
	} {
		var kinds []string
		for _, d := range legend(cycles...) {
			kinds = append(kinds, d.Kind)
			if d.Meaning == "" {
				t.Errorf("%s means nothing", d.Kind)
			}
		}
		if got := fmt.Sprint(kinds); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// box is a rectangle that something covers.
type box struct{ left, top, right, bottom float64 }

func (b box) overlaps(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

func nodeBox(n drawnNode) box {
	return box{n.X - n.Radius, n.Y - n.Radius, n.X + n.Radius, n.Y + n.Radius}
}

// labelBox takes 7 pixels a letter, which is about what fonts need.
func labelBox(a drawnArrow) box {
	width := 7 * float64(utf8.RuneCountInString(a.Label))
	left := map[string]float64{"start": a.X, "middle": a.X - width/2, "end": a.X - width}[a.Anchor]
	return box{left, a.Y - 10, left + width, a.Y + 3}
}

// TestPictureIsReadable looks at pictures of all sizes: everything is inside,
// nothing covers anything else, and each arrow leads from its node to the next.
func TestPictureIsReadable(t *testing.T) {
	for n := 1; n <= mostDrawn; n++ {
		p := draw(longCycle(n), "id")
		if p == nil || len(p.Nodes) != n || len(p.Arrows) != n {
			t.Fatalf("%d: %+v", n, p)
		}
		if p.Width > 360 || p.Height > 70*float64(n)+260 {
			t.Errorf("%d: %v x %v is too large for a page", n, p.Width, p.Height)
		}
		var boxes []box
		for _, node := range p.Nodes {
			boxes = append(boxes, nodeBox(node))
		}
		for _, a := range p.Arrows {
			boxes = append(boxes, labelBox(a))
		}
		for i, b := range boxes {
			if b.left < 0 || b.top < 0 || b.right > p.Width || b.bottom > p.Height {
				t.Errorf("%d: %+v is outside of %v x %v", n, b, p.Width, p.Height)
			}
			for _, other := range boxes[:i] {
				if b.overlaps(other) {
					t.Errorf("%d: %+v and %+v overlap", n, b, other)
				}
			}
		}
		for i, a := range p.Arrows {
			follow(t, n, a, p.Nodes[i], p.Nodes[(i+1)%n], boxes[n:])
		}
	}
	if p := draw(longCycle(mostDrawn+1), "id"); p != nil {
		t.Errorf("a cycle of %d is drawn", mostDrawn+1)
	}
}

var coordinates = regexp.MustCompile(`-?[0-9.]+`)

// follow goes along an arrow, from the edge of one node to the edge of the
// next, and through no label.
func follow(t *testing.T, n int, a drawnArrow, from, to drawnNode, labels []box) {
	t.Helper()
	var c []float64
	for _, text := range append(coordinates.FindAllString(a.Line, -1), coordinates.FindAllString(a.Head, 2)...) {
		v, err := strconv.ParseFloat(text, 64)
		expect.NoError(t, err)
		c = append(c, v)
	}
	if len(c) != 8 {
		t.Fatalf("%d: the arrow is %q and %q", n, a.Line, a.Head)
	}
	if d := math.Hypot(c[0]-from.X, c[1]-from.Y); math.Abs(d-from.Radius) > 1 {
		t.Errorf("%d: the arrow begins %v from the middle of %s", n, d, from.Name)
	}
	if d := math.Hypot(c[6]-to.X, c[7]-to.Y); d < to.Radius || d > to.Radius+4 {
		t.Errorf("%d: the arrow ends %v from the middle of %s", n, d, to.Name)
	}
	for step := range 21 {
		s := float64(step) / 20
		x := (1-s)*(1-s)*c[0] + 2*s*(1-s)*c[2] + s*s*c[4]
		y := (1-s)*(1-s)*c[1] + 2*s*(1-s)*c[3] + s*s*c[5]
		for _, l := range labels {
			if (box{x, y, x, y}).overlaps(l) {
				t.Errorf("%d: the arrow from %s to %s goes through a label", n, from.Name, to.Name)
				return
			}
		}
	}
}

// TestPictureSaysAll holds that who cannot see the picture is told the same.
func TestPictureSaysAll(t *testing.T) {
	p := draw(skew(), "cycle-1-2")
	if want := "T1 comes before T2 (rw). T2 comes before T3 (wr). T3 comes before T1 (rw)."; p.Desc != want {
		t.Errorf("it says %q, want %q", p.Desc, want)
	}
	page := htmlOf(t, cyclesRun(), Page{})
	if got, want := strings.Count(page, `role="img" aria-labelledby="cycle-1-`), 11; got != want {
		t.Errorf("%d pictures, want %d", got, want)
	}
	if !strings.Contains(page, "21 transactions are too many for a picture; the list has all of them.") ||
		!strings.Contains(page, "<b>T21</b>, transaction 120 of process 0") {
		t.Error("a cycle that is too long for a picture is not listed")
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`(?:href="#|aria-labelledby=")([^"]*)"`).FindAllStringSubmatch(page, -1) {
		for id := range strings.FieldsSeq(m[1]) {
			if !ids[id] {
				t.Errorf("the page refers to %s, which is not there", id)
			}
		}
	}
}

// TestKindsDoNotBecomeClasses holds that styles go by known words only.
func TestKindsDoNotBecomeClasses(t *testing.T) {
	r := isolationRun()
	r.Checks[0].Evidence[0].Cycle.Steps[0].Kind = "unseen check"
	for _, m := range regexp.MustCompile(`class="(?:arrow|kind) ([^"]*)"`).FindAllStringSubmatch(htmlOf(t, r, Page{}), -1) {
		switch m[1] {
		case "ww", "wr", "rw", "process", "realtime", "other":
		default:
			t.Errorf("there is a class %q", m[1])
		}
	}
}

// TestTextListsALongCycle holds the bounds of what the terminal shows.
func TestTextListsALongCycle(t *testing.T) {
	got := textOf(t, cyclesRun(), TextOptions{})
	expect.Text(t, "the text", got,
		"evidence of isolation\n  cycle-of-1: T1 would have to come before itself\n    T1  transaction 100 of process 0:",
		"\n  and 10 more; the report lists all 13\n")
	if strings.Contains(got, "cycle-of-4") {
		t.Error("more than three kinds are shown")
	}
	r := cyclesRun()
	r.Checks[0].Evidence, r.Checks[0].Found = r.Checks[0].Evidence[9:10], 40
	got = textOf(t, r, TextOptions{})
	want := "    T7   transaction 106 of process 2: read [1 2] from key 6; append 13 to key 7\n" +
		"    │    wr: T8 read [1 2 13] from key 7, whose last element T7 appended\n" +
		"    │    12 more transactions, in the report\n" +
		"    T20  transaction 119 of process 3"
	expect.Text(t, "a cycle of 20", got, want)
	expect.Text(t, "the rest", got, "\n  and 39 more\n")
}

// TestMarkdownNumbersTheSteps holds that the list stays inside its item.
func TestMarkdownNumbersTheSteps(t *testing.T) {
	var b strings.Builder
	expect.NoError(t, Markdown(&b, isolationRun()))
	want := "- G-single: each of 3 transactions comes before the next, and the last before the first: no order of them exists\n" +
		"  1. **T1**, transaction 12 of process 3: append 4 to key 2; read \\[1 2\\] from key 1\n" +
		"     - before T2, rw: T1 read \\[1 2\\] from key 1, without 3, which T2 appended\n" +
		"  2. **T2**, "
	expect.Text(t, "Markdown", b.String(), want)
}
