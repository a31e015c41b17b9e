package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

// What work was asked for, in the words of all reports.

func loadLine(r *Result) string {
	l := &r.Load
	if names := namesOfRounds(r); len(names) > 0 {
		return l.Loop + " loop, " + check.Counted(len(names), "round", "rounds") + ": " + strings.Join(inBrief(names), "; ")
	}
	parts := []string{check.Counted(int64(l.Clients), "client", "clients")}
	if l.Loop == "open" {
		parts = append(parts, fmt.Sprintf("open loop, %s arrivals/s (%s)", short(l.Rate), l.Arrivals))
	} else {
		parts = append(parts, l.Loop+" loop")
	}
	if l.RampPerSecond > 0 {
		parts = append(parts, short(l.RampPerSecond)+" more each second")
	}
	if l.WarmupSeconds > 0 {
		parts = append(parts, "warm-up "+seconds(l.WarmupSeconds))
	} else {
		parts = append(parts, "no warm-up")
	}
	if l.Ops > 0 {
		parts = append(parts, "measured "+check.Counted(l.Ops, "operation", "operations"))
	} else {
		parts = append(parts, "measured "+seconds(l.DurationSeconds))
	}
	if l.TimeoutSeconds > 0 {
		parts = append(parts, "timeout "+seconds(l.TimeoutSeconds))
	}
	return strings.Join(parts, ", ")
}

// namesOfRounds are the rounds that a run was to be worked in, or else those that
// it was.
func namesOfRounds(r *Result) []string {
	if len(r.Load.Rounds) > 0 {
		return r.Load.Rounds
	}
	var names []string
	for _, x := range r.Rounds {
		names = append(names, x.Name)
	}
	return names
}

// inBrief leaves out the middle of a long list.
func inBrief(names []string) []string {
	const most = 8
	if len(names) <= most {
		return names
	}
	return slices.Concat(names[:most/2], []string{"..."}, names[len(names)-2:])
}

func policy(t *Retries) string {
	if t.Policy == "" || t.Policy == "none" {
		return t.Policy
	}
	if t.MaxAttempts == 0 {
		return t.Policy + ", until the run ends"
	}
	return fmt.Sprintf("%s, at most %s an operation", t.Policy, check.Counted(int64(t.MaxAttempts), "attempt", "attempts"))
}
