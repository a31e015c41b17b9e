package compare

import (
	"fmt"
	"strings"

	"assay/report"
	"assay/report/junit"
)

// Tests has a case for each gate and comparison, and one that always passes for a comparison
// without gates. All hold the figures as text.
func Tests(all []*Comparison) []junit.Suite {
	var suites []junit.Suite
	for _, c := range all {
		s := junit.Suite{Name: c.B.Name + " compared with " + c.A.Name}
		class := "assay.compare." + strings.ReplaceAll(s.Name, ".", "_")
		figures := strings.Join(c.lines(), "\n")
		for _, g := range c.Gates {
			test := junit.Case{Class: class, Name: "gate " + g.Gate, Message: g.Detail, Text: figures}
			switch {
			case g.Invalid:
				test.Kind = "measurement invalid"
			case g.Missed:
				test.Answer, test.Kind = junit.Failed, "gate missed"
			default:
				test.Answer, test.Text = junit.Passed, g.Detail+"\n"+figures
			}
			s.Cases = append(s.Cases, test)
		}
		if len(c.Gates) == 0 {
			s.Cases = append(s.Cases, junit.Case{Class: class, Name: "comparison", Answer: junit.Passed, Text: figures})
		}
		suites = append(suites, s)
	}
	return suites
}

func (c *Comparison) lines() (lines []string) {
	for _, r := range c.Rows {
		lines = append(lines, fmt.Sprintf("%s: %s (%s to %s) against %s (%s to %s), change %s, p %s", r.Metric,
			r.B.written(r.metric), r.metric.format(r.B.Low), r.B.high(r.metric),
			r.A.written(r.metric), r.metric.format(r.A.Low), r.A.high(r.metric), r.changeText(), probabilityText(r.P)))
	}
	return lines
}

// Tests is the objective of a sweep as a test case, if there was one.
func (s *Sweep) Tests() []junit.Suite {
	if s.Objective == "" {
		return nil
	}
	c := junit.Case{Class: "assay.sweep." + s.Workload, Name: "objective " + s.Objective, Message: s.objectiveText()}
	switch s.answered() {
	case report.Kept:
		c.Answer, c.Text = junit.Passed, s.objectiveText()
	case report.Missed:
		c.Answer, c.Kind = junit.Failed, "objective missed"
		if s.Broken != "" {
			c.Kind = "violated"
		}
	default:
		c.Kind = report.NotAnswered.String()
		if s.Ended != "" {
			c.Kind = "ended early"
		}
	}
	return []junit.Suite{{Name: "sweep of " + s.Workload, Cases: []junit.Case{c}}}
}
