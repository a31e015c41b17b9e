package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

type dependency struct{ Kind, Meaning string }

// dependencies: ww, wr and rw are the direct dependencies of A. Adya, "Weak Consistency: A
// Generalized Theory and Optimistic Implementations for Distributed Transactions", 1999. K.
// Kingsbury, P. Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations",
// 2020, adds process and realtime.
func dependencies() []dependency {
	return []dependency{
		{"ww", "write, write: the second wrote on top of what the first had written"},
		{"wr", "write, read: the second read what the first had written"},
		{"rw", "read, write: the first did not see what the second wrote"},
		{"process", "one client ran the first, and then the second"},
		{"realtime", "the first was acknowledged before the second was begun"},
	}
}

func legend(cycles ...*check.Cycle) []dependency {
	return slices.DeleteFunc(dependencies(), func(d dependency) bool {
		return !slices.ContainsFunc(cycles, func(c *check.Cycle) bool {
			return slices.ContainsFunc(c.Steps, func(s check.Step) bool { return s.Kind == d.Kind })
		})
	})
}

func cycleOf(e check.Evidence) *check.Cycle {
	if e.Cycle == nil || len(e.Cycle.Steps) == 0 {
		return nil
	}
	return e.Cycle
}

// evidenceText shortens a text that only repeats the steps of the cycle listed below it.
func evidenceText(e check.Evidence) string {
	c := cycleOf(e)
	if c == nil || !strings.HasPrefix(e.Text, c.Steps[0].Name) {
		return e.Text
	}
	for _, s := range c.Steps {
		if !strings.Contains(e.Text, s.Why) {
			return e.Text
		}
	}
	return inShort(c)
}

func inShort(c *check.Cycle) string {
	switch s := c.Steps; len(s) {
	case 1:
		return s[0].Name + " would have to come before itself"
	case 2:
		return fmt.Sprintf("%s comes before %s, and %s before %s: no order of the two exists", s[0].Name, s[1].Name, s[1].Name, s[0].Name)
	default:
		return fmt.Sprintf("each of %d transactions comes before the next, and the last before the first: no order of them exists", len(s))
	}
}

func after(c *check.Cycle, i int) check.Step { return c.Steps[(i+1)%len(c.Steps)] }

// class is a dependency's kind if it has a name: other text must not reach an attribute.
func class(kind string) string {
	for _, d := range dependencies() {
		if d.Kind == kind {
			return kind
		}
	}
	return "other"
}
