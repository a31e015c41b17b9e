package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"assay/check"
)

// Explain writes a result's evidence as a story, for the terminal.
func Explain(w io.Writer, c check.Result, o TextOptions) error {
	t := newTextWriter(o)
	t.explanation(c)
	return t.writeTo(w)
}

// Smallest puts a check's first finding into words, preferring this kind, with the smallest part
// of the history that shows it, if known.
func Smallest(c check.Result, kind string) string {
	if len(c.Evidence) == 0 {
		return c.Detail
	}
	first := c.Evidence[max(0, slices.IndexFunc(c.Evidence, func(e check.Evidence) bool { return e.Kind == kind }))]
	if first.Smallest == nil && first.Cycle == nil {
		return first.Text
	}
	var b strings.Builder
	c.Evidence, c.Found = []check.Evidence{first}, 1
	_ = Explain(&b, c, TextOptions{Width: pageWidth}) // into memory
	return strings.TrimSpace(b.String())
}

const pageWidth = 80

// ExplainConviction writes why a conviction is believed, for the terminal.
func ExplainConviction(w io.Writer, c *Conviction, o TextOptions) error {
	t := newTextWriter(o)
	t.believed(c)
	t.gap()
	return t.writeTo(w)
}

// explanation tells one piece of evidence of each kind in the order of time. It draws the
// smallest part of the history, and says what was done and why that cannot be.
func (t *textWriter) explanation(c check.Result) {
	shown := map[string]bool{}
	for _, e := range c.Evidence {
		if shown[e.Kind] {
			continue
		}
		shown[e.Kind] = true
		t.line(fmt.Sprintf("%s: %s", c.Name, e.Kind))
		if e.Smallest == nil {
			t.line(e.Text)
			if cycle := cycleOf(e); cycle != nil {
				t.cycle(cycle, "  ")
			}
			t.gap()
			continue
		}
		t.excerpt(e.Smallest)
		t.block("  ", "", "That cannot be: "+e.Smallest.Why)
		t.gap()
	}
	if more := c.Found - int64(len(shown)); more > 0 {
		t.line("And " + check.Count(more) + " more of these kinds" + t.rest(c, len(shown)) + ".")
		t.gap()
	}
}

func (t *textWriter) excerpt(x *check.Excerpt) {
	size := fmt.Sprintf("%s of %s, the smallest part of the history that shows it", check.Counted(int64(len(x.Operations)), "operation", "operations"), check.Count(x.Of))
	if !x.Minimal {
		size = fmt.Sprintf("%s of %s show it; the time was over before the smallest part was found", check.Counted(int64(len(x.Operations)), "operation", "operations"), check.Count(x.Of))
	}
	if x.Shortened {
		size += ". Lists were longer: what others wrote is left out of them"
	}
	t.line(size + ".")
	t.gap()
	if Noted(x) {
		t.table(statementsOf(check.Evidence{Smallest: x}))
		t.gap()
		return
	}
	if picture := drawLanes(x, t.width); picture != nil {
		for _, line := range picture {
			t.b.WriteString(line + "\n")
		}
		t.gap()
	}
	for _, line := range story(x) {
		t.block("  ", "", line)
	}
}
