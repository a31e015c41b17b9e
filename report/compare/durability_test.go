package compare

import (
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report"
)

// worthOf is a group whose acknowledgements survive so much.
func worthOf(name, class, fsync string) Group {
	g := group(name, 1000, 1010, 990, 1005)
	for _, r := range g.Runs {
		r.Result.Durability = &report.Durability{Class: class}
		r.Result.Database.Settings[0].Value = fsync
	}
	return g
}

// TestUnlikeDurabilityIsSaid: groups whose acknowledgements are not worth the same are compared, and
// the sentence says what they are worth.
func TestUnlikeDurabilityIsSaid(t *testing.T) {
	c, err := Compare(worthOf("a", "system crash", "on"), worthOf("b", "process crash", "off"), Options{})
	expect.NoError(t, err)
	d := Document([]*Comparison{c}, "")
	expect.Text(t, "the sentence", d.Answers[0], "With b, throughput has no difference from a that these runs could show (at most ",
		"They do not promise the same. What is acknowledged survives with a: system crash; with b: process crash.")
	expect.Text(t, "what differs", d.Answers[1], "What differs: fsync on -> off.")
	alike, err := Compare(worthOf("a", "majority", "on"), worthOf("b", "majority", "on"), Options{})
	if err != nil || len(alike.Differences) != 0 || strings.Contains(alike.sentence(), "promise") || len(alike.differing()) != 0 {
		t.Errorf("alike: %+v, %v", alike, err)
	}
}

// TestWhatDiffersIsSaid: settings that somebody has changed stand beside what they were, and one that
// a server did not tell is not taken for its default.
func TestWhatDiffersIsSaid(t *testing.T) {
	with := func(name string, perSecond float64, changed []report.Setting) Group {
		g := group(name, around(perSecond)...)
		g.Runs[0].Result.Database.Changed = changed
		return g
	}
	small := []report.Setting{{Name: "shared_buffers", Value: "16MB"}, {Name: "work_mem", Value: "64MB"}}
	c, err := Compare(with("before", 1000, []report.Setting{{Name: "shared_buffers", Value: "128MB"}}), with("after", 800, small), Options{})
	expect.NoError(t, err)
	d := Document([]*Comparison{c}, "")
	expect.Text(t, "the answer", d.Answers[0], "With after, throughput is 20 % lower than with before (", "p=0.008; 5 runs each")
	expect.Text(t, "what differs", d.Answers[1], "What differs: shared_buffers 128MB -> 16MB; work_mem (default) -> 64MB.")
	c, err = Compare(with("before", 1000, nil), with("after", 800, small), Options{})
	expect.NoError(t, err)
	if lines := c.differing(); len(lines) != 0 {
		t.Errorf("of a server that did not tell: %q", lines)
	}
}
