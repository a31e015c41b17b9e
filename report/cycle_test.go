package report

import (
	"regexp"
	"strings"
	"testing"

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

// TestCyclesAreListed: every cycle of the page has all its steps, and no link leads nowhere.
func TestCyclesAreListed(t *testing.T) {
	page := htmlOf(t, cyclesRun(), Page{})
	expect.Text(t, "the page", page, "<b>T21</b>, transaction 120 of process 0")
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !ids[m[1]] {
			t.Errorf("the page refers to %s, which is not there", m[1])
		}
	}
}

// TestKindsDoNotBecomeClasses holds that styles go by known words only.
func TestKindsDoNotBecomeClasses(t *testing.T) {
	r := isolationRun()
	r.Checks[0].Evidence[0].Cycle.Steps[0].Kind = "unseen check"
	for _, m := range regexp.MustCompile(`class="kind ([^"]*)"`).FindAllStringSubmatch(htmlOf(t, r, Page{}), -1) {
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
