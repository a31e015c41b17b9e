package report

import (
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

func loadLine(r *Result) string {
	l := &r.Load
	if names := namesOfRounds(r); len(names) > 0 {
		return l.Loop + " loop, " + check.Counted(len(names), "round", "rounds") + ": " + strings.Join(inBrief(names), "; ")
	}
	loop, warmup, measured := l.Loop+" loop", "no warm-up", seconds(l.DurationSeconds)
	if l.Loop == "open" {
		loop += fmt.Sprintf(", %s arrivals/s (%s)", short(l.Rate), l.Arrivals)
	}
	if l.WarmupSeconds > 0 {
		warmup = "warm-up " + seconds(l.WarmupSeconds)
	}
	if l.Ops > 0 {
		measured = check.Counted(l.Ops, "operation", "operations")
	}
	return Joined(", ", check.Counted(int64(l.Clients), "client", "clients"), loop,
		when(l.RampPerSecond > 0, short(l.RampPerSecond)+" more each second"), warmup, "measured "+measured,
		when(l.TimeoutSeconds > 0, "timeout "+seconds(l.TimeoutSeconds)))
}

// namesOfRounds are the planned rounds, or else the rounds made.
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
