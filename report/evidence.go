package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"assay/check"
)

// Bounds of the evidence on the terminal, over all checks. The other reports show all.
const (
	shownKinds = 3
	shownSteps = 8
)

func (t *textWriter) checks(r *Result) {
	width := 0
	for _, c := range r.Checks {
		width = max(width, utf8.RuneCountInString(c.Name))
	}
	for _, n := range r.NotApplicable {
		width = max(width, utf8.RuneCountInString(n.Name))
	}
	width = max(labelWidth, min(width, 20)+4)
	for _, c := range r.Checks {
		t.block("", pad(Mark(c.Verdict)+" "+plain(c.Name), width), answer(c))
	}
	for _, n := range r.NotApplicable {
		t.block("", pad(notApplicableMark+" "+plain(n.Name), width), "not applicable: "+n.Reason)
	}
	left := shownKinds
	for _, c := range r.Checks {
		if len(c.Evidence) == 0 {
			continue
		}
		t.gap()
		if t.explain {
			t.explanation(c)
			continue
		}
		left -= t.evidence(c, left)
	}
	t.conviction(r)
}

// answer is a check's detail. A valid verdict goes without saying.
func answer(c check.Result) string {
	switch {
	case c.Detail == "":
		return c.Verdict.String()
	case c.Verdict == check.Valid:
		return c.Detail
	default:
		return strings.ToUpper(c.Verdict.String()) + ": " + c.Detail
	}
}

// evidence writes the first piece of each of this many kinds and how to see the rest. It returns
// the number of kinds written.
func (t *textWriter) evidence(c check.Result, kinds int) int {
	const indent = "  "
	t.line("evidence of " + c.Name)
	shown := map[string]bool{}
	var cycles []*check.Cycle
	for _, e := range c.Evidence {
		if shown[e.Kind] || len(shown) == kinds {
			continue
		}
		shown[e.Kind] = true
		t.block(indent, e.Kind+": ", evidenceText(e))
		if cycle := cycleOf(e); cycle != nil {
			t.cycle(cycle, indent+"  ")
			cycles = append(cycles, cycle)
		}
	}
	for _, d := range legend(cycles...) {
		t.block(indent, "("+d.Kind+") ", d.Meaning)
	}
	if more := c.Found - int64(len(shown)); more > 0 {
		t.block(indent, "", when(len(shown) > 0, "and ")+check.Count(more)+when(len(shown) > 0, " more")+t.rest(c, len(shown)))
	}
	return len(shown)
}

func (t *textWriter) rest(c check.Result, shown int) string {
	listed := int64(len(c.Evidence))
	switch {
	case listed <= int64(shown):
		return ""
	case listed < c.Found:
		return fmt.Sprintf("; of all %s %s lists %s", check.Count(c.Found), t.complete, check.Count(listed))
	}
	return "; " + t.complete + " lists all " + check.Count(listed)
}

// cycle draws the steps below each other, with a line on their left back to the first.
func (t *textWriter) cycle(c *check.Cycle, indent string) {
	width := 2
	for _, s := range c.Steps {
		width = max(width, utf8.RuneCountInString(s.Name))
	}
	width = min(width, 8) + 2
	rail := indent + pad("│", width)
	for i, s := range c.Steps {
		last := i == len(c.Steps)-1
		if hidden := len(c.Steps) - shownSteps; hidden > 0 && i >= shownSteps-1 && !last {
			if i == shownSteps-1 {
				t.railed(rail, rail, check.Counted(int64(hidden), "more transaction", "more transactions")+", in "+t.complete)
			}
			continue
		}
		name := []rune(plain(s.Name))
		t.railed(indent+pad(string(name[:min(len(name), width-2)]), width), rail, s.Text)
		reason := plain(s.Kind) + ": " + s.Why
		if last {
			end := indent + pad("└─", width)
			t.railed(end, indent+strings.Repeat(" ", width), "back to "+c.Steps[0].Name+", "+reason)
			continue
		}
		t.railed(rail, rail, reason)
	}
}

// railed writes text behind start, and further lines behind rail, which is as wide.
func (t *textWriter) railed(start, rail, text string) {
	for i, part := range wrap(plain(text), t.width-utf8.RuneCountInString(rail)) {
		if i > 0 {
			start = rail
		}
		t.b.WriteString(strings.TrimRight(start+part, " ") + "\n")
	}
}
