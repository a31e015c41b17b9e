package compare

import (
	"errors"
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

// TestUnlikeDurabilityIsNamed: groups that were varied on purpose are compared, and it is
// said what their acknowledgements are worth; others are refused.
func TestUnlikeDurabilityIsNamed(t *testing.T) {
	a, b := worthOf("a", "system crash", "on"), worthOf("b", "process crash", "off")
	var different *DifferentError
	if _, err := Compare(a, b, Options{}); !errors.As(err, &different) {
		t.Errorf("compared: %v", err)
	}
	a.Values, b.Values = []report.Setting{{Name: "option"}}, []report.Setting{{Name: "option"}}
	c, err := Compare(a, b, Options{})
	expect.NoError(t, err)
	want := Difference{"durability", "what is acknowledged survives: system crash", "what is acknowledged survives: process crash"}
	if len(c.Differences) != 1 || c.Differences[0] != want {
		t.Errorf("differences %+v", c.Differences)
	}
	allowed, err := Compare(worthOf("a", "system crash", "on"), worthOf("b", "process crash", "off"), Options{Allow: []string{"durability"}})
	if err != nil || len(allowed.Differences) != 1 {
		t.Errorf("allowed by name: %+v, %v", allowed, err)
	}
	alike, err := Compare(worthOf("a", "majority", "on"), worthOf("b", "majority", "on"), Options{})
	if err != nil || len(alike.Differences) != 0 {
		t.Errorf("alike: %+v, %v", alike, err)
	}
}
