package judge

import (
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/load"
	"assay/report"
	"assay/store/promise"
)

// Conviction is what supports a broken promise of the vendor; nil if none was broken. isolation is
// the level asked for, empty for the driver's default. alone is definition.Judgement.Alone.
func Conviction(r *report.Result, isolation string, alone int64) *report.Conviction {
	p := r.Promise
	if p == nil || p.Kept == nil || *p.Kept {
		return nil
	}
	c := &report.Conviction{Database: strings.TrimSpace(r.Database.Product + " " + r.Database.Version), Asked: isolation, Promise: brokenPromise(r),
		Manual: promise.Page(r.Database.Product, r.Database.Version), Command: fmt.Sprintf("assay run %s --scenario scenario.yaml --repeat 20", r.Workload)}
	if r.Durability != nil && (strings.Contains(c.Promise, promise.Durability.Name()) || strings.Contains(c.Promise, promise.LastWrite.Name())) {
		c.Manual = r.Durability.Manual
	}
	for _, set := range r.Database.Settings {
		switch set.Name {
		case "isolation in force":
			c.InForce = set.Value
		case "isolation":
			if c.Asked == "" {
				c.Asked = set.Value
			}
		}
	}
	// These drivers ask every session, and end the run if another level is in force.
	if c.InForce == "" && slices.Contains([]string{"PostgreSQL", "MariaDB", "MySQL"}, r.Database.Product) {
		c.InForce = c.Asked
	}
	c.Causes = Causes(r)
	if alone > 0 {
		c.Causes = append(c.Causes, report.CauseScript(alone))
	}
	return c
}

// Causes are other explanations of a finding than the database, and whether each is ruled out.
func Causes(r *report.Result) []report.Cause {
	return []report.Cause{causeRetries(r), causeStalls(r), causeClocks(r), causeFaults(r)}
}

func causeFaults(r *report.Result) report.Cause {
	c := report.Cause{Name: "faults of assay", RuledOut: true, Detail: "none was injected"}
	var all []string
	for _, f := range r.Faults {
		if f.Skipped {
			continue
		}
		what := fmt.Sprintf("%s %s at %.3g s", f.Action, strings.Join(f.Nodes, ", "), f.InjectedSecond)
		if f.Proven {
			all = append(all, what+": "+strings.Join(slices.DeleteFunc([]string{f.Proof, f.Healing}, func(s string) bool { return s == "" }), ", then "))
			continue
		}
		c.RuledOut = false
		all = append(all, what+": nobody saw that it took effect")
	}
	if len(all) > mostFaultsTold {
		all = append(all[:mostFaultsTold], fmt.Sprintf("%d more", len(all)-mostFaultsTold))
	}
	if len(all) > 0 {
		c.Detail = "only those of the command: " + strings.Join(all, "; ")
	}
	return c
}

const mostFaultsTold = 4

func brokenPromise(r *report.Result) string {
	var all []string
	for _, c := range r.Checks {
		for _, f := range c.Findings {
			if name := promise.Property(f.Property).Name(); c.Verdict == check.Violated && f.Promised != nil && *f.Promised && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	if r.Promise.Model != "" {
		return r.Promise.Model + "; broken: " + strings.Join(all, ", ")
	}
	return strings.Join(all, ", ")
}

func shownOperations(r *report.Result) (all []check.Operation) {
	for _, c := range r.Checks {
		for _, e := range c.Evidence {
			if e.Smallest != nil {
				all = append(all, e.Smallest.Operations...)
			}
		}
	}
	return all
}

func causeRetries(r *report.Result) report.Cause {
	c := report.Cause{Name: "assay's own retries", RuledOut: true}
	var again []string
	shown := shownOperations(r)
	for _, o := range shown {
		if text := fmt.Sprintf("%s is attempt %d", o.Name, o.Attempt); o.Attempt > 1 && !slices.Contains(again, text) {
			again = append(again, text)
		}
	}
	switch {
	case r.Retries.Retried == 0:
		c.Detail = fmt.Sprintf("policy %s, and no operation was tried twice", r.Retries.Policy)
	case len(again) > 0 && r.Retries.Policy != string(load.RetryFailed):
		c.RuledOut, c.Detail = false, fmt.Sprintf("%s, and by policy %s an attempt before it may have had an effect", strings.Join(again, ", "), r.Retries.Policy)
	case len(again) > 0:
		c.Detail = fmt.Sprintf("%s; the attempts before them failed, and the server's answer proves that they had no effect", strings.Join(again, ", "))
	case len(shown) > 0:
		c.Detail = "each transaction that is shown is the first attempt of its operation"
	default:
		c.Detail = fmt.Sprintf("%s tried more than once; an attempt is repeated only as policy %s says, and each is judged by what the server answered to it",
			check.Counted(r.Retries.Retried, "operation was", "operations were"), r.Retries.Policy)
	}
	return c
}

func causeStalls(r *report.Result) report.Cause {
	c := report.Cause{Name: "stalls of assay", RuledOut: true, Detail: "assay ran all the time"}
	if len(r.Client.Stalls) == 0 {
		return c
	}
	during := slices.ContainsFunc(shownOperations(r), func(o check.Operation) bool {
		return slices.ContainsFunc(r.Client.Stalls, func(s report.ClientStall) bool {
			return o.Invoke < nanoseconds(s.At+s.Seconds) && o.Complete > nanoseconds(s.At)
		})
	})
	c.Detail = fmt.Sprintf("assay did not run for %.3g s in all; each moment is taken before a statement is sent, or once it is answered, so that a stall only moves them apart", r.Client.StalledSeconds)
	if !during && len(shownOperations(r)) > 0 {
		c.Detail = fmt.Sprintf("assay did not run for %.3g s in all, and none of it while these transactions ran", r.Client.StalledSeconds)
	}
	return c
}

func causeClocks(r *report.Result) report.Cause {
	c := report.Cause{Name: "steps of the clock", RuledOut: len(r.Agents) == 0, Detail: "all moments are of one process's monotonic clock, which no step of the time of day moves"}
	if !c.RuledOut {
		c.Detail = fmt.Sprintf("the clients worked in %d processes, whose clocks were compared by messages", len(r.Agents))
	}
	return c
}
