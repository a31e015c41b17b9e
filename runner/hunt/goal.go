package hunt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
	"assay/store/promise"
)

const (
	GoalViolation = "violation"
	// GoalLoss is the loss of an acknowledged write, also if the manual allows it.
	GoalLoss = "loss"
	// GoalOutage is a time without writes. Its length follows an equals sign.
	GoalOutage = "outage"
	// GoalTwoPrimaries is a node that goes on taking writes beside the primary.
	GoalTwoPrimaries = "two-primaries"
	// unhealed is a cluster that does not recover after its faults are healed. Every hunt
	// looks for it.
	unhealed = "unhealed"
)

// Goal is what a hunt looks for.
type Goal struct {
	Name   string        `json:"name"`
	Outage time.Duration `json:"outage_ns,omitempty"`
}

func (g Goal) String() string {
	if g.Outage > 0 {
		return g.Name + "=" + g.Outage.String()
	}
	return g.Name
}

// ParseGoals reads goals separated by commas.
func ParseGoals(text string) (all []Goal, err error) {
	for word := range strings.SplitSeq(text, ",") {
		name, value, valued := strings.Cut(word, "=")
		g := Goal{Name: name}
		known := slices.Contains([]string{GoalViolation, GoalLoss, GoalOutage, GoalTwoPrimaries}, name)
		if known && valued && name == GoalOutage {
			g.Outage, err = time.ParseDuration(value)
		}
		if !known || valued != (name == GoalOutage) || err != nil || valued && g.Outage <= 0 {
			return nil, fmt.Errorf("there is no goal %q; want violation, loss, outage=60s or two-primaries, with commas between", word)
		}
		all = append(all, g)
	}
	return all, nil
}

type hit struct {
	// Findings with the same key are the same to a hunt.
	key, text string
	goal      string
	check     string // empty if no check found it
	kind      string // of the check's finding; empty if it has none
	verdict   check.Verdict
	// history is the smallest history that shows it; empty if none is known.
	history string
}

// hits are what a result shows of these goals, and broken promises whatever the goals are. Other
// checks that are valid, unknown or irrelevant to the goals give none.
func hits(r *report.Result, goals []Goal) (all []hit) {
	for _, g := range goals {
		switch g.Name {
		case GoalViolation:
			if r.Verdict == check.Violated {
				all = append(all, violations(r)...)
			}
		case GoalLoss:
			all = append(all, losses(r)...)
		case GoalOutage:
			if away, least, known := longestOutage(r); known && away >= g.Outage {
				all = append(all, hit{key: g.String(), text: fmt.Sprintf("no write succeeded for %s%.1f s", least, away.Seconds()), goal: g.Name, verdict: r.Verdict})
			}
		case GoalTwoPrimaries:
			if r.Cluster != nil && r.Cluster.TwoPrimaries {
				all = append(all, hit{key: g.Name, text: "two nodes take writes: " + r.Cluster.Settled, goal: g.Name, verdict: r.Verdict})
			}
		}
	}
	if r.Verdict == check.Violated && !slices.ContainsFunc(goals, func(g Goal) bool { return g.Name == GoalViolation }) {
		all = append(all, untold(all, violations(r))...)
	}
	return all
}

// untold are the broken promises that are not told as losses beyond the promise.
func untold(told, broken []hit) []hit {
	return slices.DeleteFunc(broken, func(b hit) bool {
		return slices.ContainsFunc(told, func(h hit) bool {
			return h.goal == GoalLoss && h.verdict == check.Violated && h.check == b.check && (h.kind == b.kind || b.kind == "")
		})
	})
}

func violations(r *report.Result) (all []hit) {
	for _, c := range r.Checks {
		if c.Verdict != check.Violated {
			continue
		}
		kinds := broken(c)
		if len(kinds) == 0 {
			all = append(all, hit{GoalViolation + " " + c.Name, c.Name + ": " + c.Detail, GoalViolation, c.Name, "", check.Violated, report.Smallest(c, "")})
		}
		for _, f := range kinds {
			text := fmt.Sprintf("%s: %s %s; %s", c.Name, check.Count(f.Found), f.Kind, c.Detail)
			all = append(all, hit{GoalViolation + " " + c.Name + " " + f.Kind, text, GoalViolation, c.Name, f.Kind, check.Violated, report.Smallest(c, f.Kind)})
		}
	}
	return all
}

// losses has one hit of each check that lost something: beyond the promise if it lost anything so.
func losses(r *report.Result) (all []hit) {
	for _, c := range r.Checks {
		if c.Verdict != check.Violated && c.Verdict != check.Allowed {
			continue
		}
		var of *hit
		for _, f := range c.Findings {
			if !promise.Property(f.Property).Loss() || f.Found == 0 {
				continue
			}
			if h := lossOf(c, f); of == nil || of.verdict == check.Allowed && h.verdict == check.Violated {
				of = &h
			}
		}
		if of != nil {
			all = append(all, *of)
		}
	}
	return all
}

// allowed ends the key of a loss that the manual allows.
const allowed = " allowed"

// lossOf is one loss. What the manual allows stays allowed beside another broken promise of the same
// check, and has a key of its own: a plan that loses it shows nothing of a loss beyond the promise.
func lossOf(c check.Result, f check.Finding) hit {
	h := hit{GoalLoss + " " + c.Name, fmt.Sprintf("%s: %s %s", c.Name, check.Count(f.Found), f.Kind), GoalLoss, c.Name, f.Kind, c.Verdict, report.Smallest(c, f.Kind)}
	if f.Promised != nil && !*f.Promised {
		h.verdict = check.Allowed
	}
	if h.verdict == check.Allowed {
		h.key += allowed
		if why := f.Ruled(); why != "" {
			h.text = c.Name + ": " + why
		}
	}
	return h
}

// broken are the kinds of a check's findings that break a promise.
func broken(c check.Result) []check.Finding {
	return slices.DeleteFunc(slices.Clone(c.Findings), func(f check.Finding) bool {
		return f.Kind == "" || f.Found == 0 || f.Promised != nil && !*f.Promised
	})
}

// longestOutage is without writes. least is set if the run's end cut one. known is false if there
// were no writes.
func longestOutage(r *report.Result) (longest time.Duration, least string, known bool) {
	o := r.LongestOutage(false)
	if a := r.Availability; a != nil {
		o.Millis, o.AtLeast = max(o.Millis, a.WriteOutage), o.AtLeast || a.WritesAway
	}
	if o.AtLeast {
		least = quantity.AtLeast
	}
	return time.Duration(o.Millis * float64(time.Millisecond)), least, o.Millis >= 0
}
