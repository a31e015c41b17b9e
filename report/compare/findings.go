package compare

import (
	"cmp"
	"fmt"
	"strings"

	"assay/check"
	"assay/report"
)

// Found is what was found wrong in the runs of a group.
type Found struct {
	Group string
	// Lines has a sentence with an example for each kind of finding.
	Lines []string
}

// FindingsOf skips groups without findings.
func FindingsOf(groups []Group) (all []Found) {
	for _, g := range groups {
		if lines := g.findings(); len(lines) > 0 {
			all = append(all, Found{g.Name, lines})
		}
	}
	return all
}

type kindFound struct {
	check, kind string
	found       int64
	// runs counts the runs with such findings, last is the number of the last.
	runs, last int
	// gravest is of a run where it is least allowed.
	gravest check.Finding
	example string
}

// kinds are in the order of their first appearance.
func (g Group) kinds() (all []*kindFound) {
	at := map[[2]string]*kindFound{}
	for i, r := range g.Runs {
		for _, c := range r.Result.Checks {
			for _, f := range c.Findings {
				key := [2]string{c.Name, f.Kind}
				k := at[key]
				if k == nil {
					k = &kindFound{check: c.Name, kind: f.Kind, gravest: f, last: -1}
					at[key], all = k, append(all, k)
				}
				if k.found += f.Found; k.last != i {
					k.runs, k.last = k.runs+1, i
				}
				if gravity(f) > gravity(k.gravest) {
					k.gravest = f
				}
				for _, e := range c.Evidence {
					if k.example == "" && e.Kind == f.Kind {
						k.example = e.Text
					}
				}
			}
		}
	}
	return all
}

// gravity orders findings: allowed, unknown, a broken promise.
func gravity(f check.Finding) int {
	switch {
	case f.Promised == nil:
		return 1
	case *f.Promised:
		return 2
	}
	return 0
}

func (g Group) findings() (lines []string) {
	for _, k := range g.kinds() {
		text := fmt.Sprintf("%s, %s: %s in %d of %s", k.check, k.kind, check.Counted(k.found, "finding", "findings"), k.runs, counted(g))
		switch seeded := g.Runs[0].Result.Seeded; { // as in all runs of a group
		case seeded != "":
			text += ", seeded on purpose (" + seeded + ")"
		case gravity(k.gravest) == 0:
			text += ", allowed by " + cmp.Or(source(k.gravest), "the isolation level")
		case gravity(k.gravest) == 1:
			text += ", not known whether promised"
			if from := source(k.gravest); from != "" {
				text += " (" + from + ")"
			}
		default:
			text += ", which breaks a promise of the vendor's"
		}
		if k.example != "" {
			text += "; such as: " + k.example
		}
		lines = append(lines, text)
	}
	return lines
}

// source is the settings that allow a finding, or may, and the page; empty if unknown.
func source(f check.Finding) string {
	return report.Joined("; ", f.Source, f.Manual)
}

// FoundAnswer says whether anything wrong was found in the groups' runs, and what first.
func FoundAnswer(groups []Group) Answer {
	whole := all(groups)
	faults := 0
	for _, r := range whole.Runs {
		for _, f := range r.Result.Faults {
			if !f.Skipped && f.Proven {
				faults++
			}
		}
	}
	runs := counted(whole)
	if faults > 0 {
		runs += " with " + check.Counted(int64(faults), "fault", "faults")
	}
	if len(whole.Runs) == 0 {
		return Answer{Sentence: "Not known: no run has a result."}
	}
	var parts, examples []string
	for _, v := range []struct {
		verdict check.Verdict
		says    string
	}{{check.Violated, "a promise was broken in"}, {check.Unknown, "there is no verdict in"}, {check.Allowed, "something was lost or wrong that the product's manual allows in"}} {
		if n := whole.ended(v.verdict); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v.says, n))
		}
	}
	missing, unmade := 0, ""
	for _, g := range groups {
		missing += g.Failed + g.Waiting
	}
	if missing > 0 {
		unmade = " Not known of " + check.Counted(int64(missing), "run that was", "runs that were") + " not made."
	}
	if len(parts) == 0 {
		return Answer{Sentence: "Nothing wrong was found in " + runs + "." + unmade, Known: missing == 0}
	}
	for _, f := range FindingsOf(groups) {
		if line, _, _ := strings.Cut(f.Lines[0], "; such as"); len(examples) < mostExamples {
			examples = append(examples, f.Group+" ("+line+")")
		}
	}
	sentence := "Of " + runs + " " + strings.Join(parts, ", ")
	if len(examples) > 0 {
		sentence += ": " + strings.Join(examples, "; ")
	}
	return Answer{Sentence: sentence + "." + unmade, Known: whole.ended(check.Unknown)+missing == 0}
}

const mostExamples = 3
