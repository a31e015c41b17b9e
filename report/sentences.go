package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/internal/quantity"
	"assay/measure"
)

// Sentences of all forms of the report. They expect a clean result.

const timeForm = "2006-01-02 15:04:05 UTC"

// subject is what was tested: "bank on PostgreSQL 17.5".
func subject(r *Result) string {
	return strings.TrimSpace(r.Workload + " on " + product(r))
}

func product(r *Result) string {
	name := strings.TrimSpace(r.Database.Product + " " + r.Database.Version)
	if name == "" {
		return "an unknown database"
	}
	return name
}

func verdictLine(r *Result) string {
	named := map[check.Verdict][]string{} // check names by verdict
	for _, c := range r.Checks {
		named[c.Verdict] = append(named[c.Verdict], c.Name)
	}
	total := int64(len(r.Checks))
	of := func(v check.Verdict) string {
		return fmt.Sprintf("%s of %s (%s)", check.Count(len(named[v])), check.Counted(total, "check", "checks"), strings.Join(named[v], ", "))
	}
	valid := "VALID: " + when(r.Seeded != "", "seeded on purpose ("+r.Seeded+"), and ")
	switch {
	case r.Verdict == check.Violated && len(named[check.Violated]) > 0:
		return "VIOLATED: " + when(conviction(r) != "", conviction(r)+"; ") + check.Counted(foundBy(r, check.Violated), "finding", "findings") + " in " + of(check.Violated)
	case r.Verdict == check.Violated:
		return "VIOLATED"
	case r.Unasked != "":
		return "NOT JUDGED: " + r.Unasked
	case r.Verdict == check.Allowed:
		return "ALLOWED: " + cmp.Or(ruled(r, check.Allowed), check.Counted(foundBy(r, check.Allowed), "finding", "findings")+" in "+of(check.Allowed))
	case total == 0:
		return "UNKNOWN: nothing was checked"
	case r.Verdict == check.Unknown && len(named[check.Unknown]) == 0 && len(r.NotApplicable) > 0:
		return "UNKNOWN: " + noSubject(r)
	case r.Verdict == check.Valid && total == 1:
		return valid + Joined("; ", "the only check ("+r.Checks[0].Name+") found nothing wrong", asked(r))
	case r.Verdict == check.Valid:
		return valid + Joined("; ", "all "+check.Counted(total, "check", "checks")+" found nothing wrong", asked(r))
	case ruled(r, check.Unknown) != "":
		return "UNKNOWN: " + ruled(r, check.Unknown)
	case len(named[check.Unknown]) == len(r.Checks):
		return "UNKNOWN: no check gave an answer"
	case len(named[check.Unknown]) > 0:
		return "UNKNOWN: no answer from " + of(check.Unknown)
	}
	return "UNKNOWN: the checks give no verdict"
}

func foundBy(r *Result, ended check.Verdict) (n int64) {
	for _, c := range r.Checks {
		if c.Verdict == ended {
			n += c.Found
		}
	}
	return n
}

func measurementLine(r *Result) string {
	switch {
	case r.Measurement.Wide():
		return "valid, but imprecise: no surer than the intervals beside the figures"
	case !r.Measurement.Invalid():
		return string(measure.Valid)
	case len(r.Measurement.Reasons) == 0:
		return "INVALID, do not believe the figures"
	}
	return "INVALID, do not believe the figures, because"
}

func thresholdsLine(r *Result) string {
	total, answer := int64(len(r.Thresholds)), answerOfAll(r)
	var names []string
	for i := range r.Thresholds {
		switch t := &r.Thresholds[i]; {
		case r.answerOf(t) != answer:
		case answer == NotAnswered:
			return r.unanswered(t)
		case answer == Missed:
			names = append(names, missedThreshold(t))
		}
	}
	switch n := int64(len(names)); {
	case total == 1:
		return reason(answer.String(), names...)
	case n == 0:
		return "all " + check.Count(total) + " " + answer.String()
	default:
		return reason(check.Count(n)+" of "+check.Count(total)+" "+answer.String(), names...)
	}
}

func setup(r *Result) []Setting {
	facts := []Setting{{"database", Joined(", ", product(r), r.Database.Address)}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, Setting{name, value})
		}
	}
	add("settings", Pairs(r.Database.Settings, ", "))
	add("durability", durabilityLine(r))
	add("promises", r.Database.Promise)
	if r.Promise != nil && r.Promise.Asked != "" {
		add("judged against", r.Promise.Asked+", as was asked")
	}
	add("machines", machines(&r.Database))
	if r.Cluster != nil && r.Cluster.Pooler != nil {
		p := r.Cluster.Pooler
		add("pooler", fmt.Sprintf("%s at %s, in %s mode, with at most %s to the primary", p.Program, p.Address, p.Mode,
			check.Counted(int64(p.Connections), "connection", "connections")))
	}
	if r.Cluster != nil && r.Cluster.Proxy != nil {
		p := r.Cluster.Proxy
		add("proxy", fmt.Sprintf("%s at %s, which asks each node by %s", p.Program, p.Address, p.Check))
	}
	add("load", loadLine(r))
	add("agents", agentsLine(r))
	add("retries", policy(&r.Retries))
	add("options", Pairs(readable(r.Options), ", "))
	add("seed", fmt.Sprint(r.Seed))
	add("loaded", loadingLine(&r.Loading))
	started := ""
	if !r.Started.IsZero() {
		started = r.Started.UTC().Format(timeForm)
		if took := r.Ended.Sub(r.Started); took > 0 {
			started += ", took " + seconds(took.Seconds())
		}
	}
	add("started", started)
	add("run", Joined(", ", r.Run, "assay "+r.Version))
	return facts
}

func when(condition bool, text string) string {
	if condition {
		return text
	}
	return ""
}

// Joined leaves out empty parts.
func Joined(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), between)
}

// Pairs writes settings as NAME=VALUE.
func Pairs(settings []Setting, between string) string {
	parts := make([]string, len(settings))
	for i, s := range settings {
		parts[i] = s.Name + "=" + s.Value
	}
	return strings.Join(parts, between)
}

func readable(settings []Setting) []Setting {
	better := slices.Clone(settings)
	for i := range better {
		better[i].Value = readableText(better[i].Value)
	}
	return better
}

// readableText groups the digits of numbers that stand alone in a text, as in "2000, each of the
// last 1000". It leaves parts of a word, a range or an address alone.
func readableText(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		number := strings.TrimRight(word, ",;")
		whole, fraction, found := strings.Cut(number, ".")
		if isDigits(whole) && (!found || isDigits(fraction)) {
			words[i] = quantity.Grouped(number) + word[len(number):]
		}
	}
	return strings.Join(words, " ")
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func machines(d *Database) string {
	var parts, node, shared []string
	whole := func(n *int, one, many string) {
		if n != nil && (*n != 0 || one == "node") {
			parts = append(parts, check.Counted(int64(*n), one, many))
		}
	}
	whole(d.Nodes, "node", "nodes")
	whole(d.Shards, "shard", "shards")
	whole(d.Replicas, "replica", "replicas")
	whole(d.Arbiters, "arbiter", "arbiters")
	add := func(isShared bool, what string) {
		if isShared {
			shared = append(shared, what)
		} else {
			node = append(node, what)
		}
	}
	if d.CPUsPerNode != nil {
		add(d.SharedCPUs, processors(*d.CPUsPerNode)+" vCPU")
	}
	if d.MemoryPerNode != nil {
		add(d.SharedMemory, memory(*d.MemoryPerNode)+" RAM")
	}
	if d.DiskPerNode != nil {
		add(false, size(*d.DiskPerNode)+" disk")
	}
	parts = append(parts, when(len(node) > 0, "each node "+strings.Join(node, ", ")),
		when(len(shared) > 0, "all nodes share "+strings.Join(shared, " and ")))
	return Joined(", ", parts...)
}

func retriesLine(r *Result) string {
	t := &r.Retries
	if t.Retried == 0 {
		return fmt.Sprintf("no operation was tried twice; %s", check.Counted(t.Attempts, "attempt", "attempts"))
	}
	return fmt.Sprintf("%s tried more than once, %s of them committed; %s in all",
		check.Counted(t.Retried, "operation", "operations"), check.Count(t.Settled), check.Counted(t.Attempts, "attempt", "attempts"))
}

func loadingLine(l *Loading) string {
	if l.Rows == 0 {
		return ""
	}
	parts := []string{check.Counted(l.Rows, "row", "rows") + " in " + seconds(l.Seconds) + when(l.PerSecond > 0, ", "+figure(l.PerSecond)+" rows/s"),
		when(l.Again > 0, check.Counted(l.Again, "batch", "batches")+" loaded again")}
	for i := range l.Faults {
		parts = append(parts, loadingFault(&l.Faults[i]))
	}
	return Joined("; ", parts...)
}

func loadingFault(f *Fault) string {
	if f.Skipped {
		return f.name() + " skipped: " + f.Problem
	}
	return f.name() + " after " + seconds(f.InjectedSecond) + ", " + f.healing("after") +
		when(!f.Proven, ", "+notProven) + when(f.Problem != "", ": "+f.Problem)
}

func errorsLine(r *Result) string {
	parts := make([]string, len(r.Errors))
	for i, e := range r.Errors {
		parts[i] = fmt.Sprintf("%s"+nbsp+"%s (%s)", check.Count(e.Attempts), e.Class, e.Outcome)
		if e.First != "" && (i == 0 || e.Class == "other error") {
			parts[i] += ": " + e.First
		}
	}
	return strings.Join(parts, ", ")
}

func rateLines(r *Result) []string {
	t := &r.Throughput
	lines := []string{fmt.Sprintf("%s committed/s%s over %s", figure(t.PerSecond), plusMinus(t), seconds(t.Seconds)) +
		when(t.Offered > 0, ", "+short(t.Offered)+"/s offered")}
	if t.Max > 0 || t.Min > 0 {
		lines = append(lines, fmt.Sprintf("each %s: min %s, median %s, max %s",
			seconds(t.IntervalSeconds), figure(t.Min), figure(t.Median), figure(t.Max))+
			when(t.PerSecond > 0, fmt.Sprintf(", deviation %.1f"+nbsp+"%%", t.Deviation/t.PerSecond*100)))
	}
	if r.Load.Unserved > 0 {
		lines = append(lines, check.Counted(r.Load.Unserved, "arrival", "arrivals")+" due and never started")
	}
	return lines
}

// overheadLine is empty if it was not measured.
func overheadLine(r *Result) string {
	o := r.Overhead
	if o == nil {
		return ""
	}
	share := func(own, all float64) string { return when(all > 0, fmt.Sprintf(" (%.1f"+nbsp+"%%)", 100*own/all)) }
	return fmt.Sprintf("of p50 %s%s and of p99 %s%s are assay's own, and of its processor time per operation %s%s: at %s/s on a store that answers at once, over %s",
		millis(o.P50), share(o.P50, r.Latency.P50), millis(o.P99), share(o.P99, r.Latency.P99),
		millis(o.CPU/1000), share(o.CPU, o.RunCPU), figure(o.Rate), seconds(o.Seconds))
}

func testerLine(r *Result) string {
	c := &r.Client
	return cmp.Or(Joined(", ",
		when(c.CPUShare >= 0 && c.CPUs > 0, fmt.Sprintf("used %.0f"+nbsp+"%% of %s", c.CPUShare*100, check.Counted(int64(c.CPUs), "processor", "processors"))),
		when(c.PeakMemory > 0, "peak memory "+memory(c.PeakMemory)),
		when(c.SchedulerP99 > 0, "wait for a processor p99 "+millis(c.SchedulerP99)),
		when(c.OwnLag.Count > 0, "own lag p99 "+millis(c.OwnLag.P99)+" and at most "+millis(c.OwnLag.Max)),
		when(c.StalledSeconds > 0, "did not run for "+seconds(c.StalledSeconds)),
		when(c.ConnectMillis > 0, "connecting took "+millis(c.ConnectMillis))), "unknown")
}

func faultLine(f *Fault) string {
	if f.Skipped {
		return "skipped at " + f.injected() + ": " + f.Problem
	}
	return "at " + f.injected() + ", " + f.healing("at") +
		when(f.WriteOutage >= 0, "; write outage "+lasted(f.WriteOutage, f.WritesAway)) +
		when(f.ReadOutage >= 0, ", read outage "+lasted(f.ReadOutage, f.ReadsAway)) +
		when(f.LongestCall > 0, ", longest call "+lasted(f.LongestCall, f.LongestCallCut)) +
		when(f.TookOver(), "; primary "+f.NewPrimary+" after "+millis(f.NewPrimaryAfter)) +
		when(f.cameBack(), "; "+f.NewPrimary+" is the primary again after "+millis(f.NewPrimaryAfter)) +
		when(f.PrimaryStayed != "", "; "+f.PrimaryStayed+" stayed the primary") +
		f.backupText() + when(!f.Proven, "; "+notProven) + when(f.Problem != "", "; "+f.Problem)
}

// injected gives the time since the start of the run, and on the clock of the request.
func (f *Fault) injected() string {
	text := seconds(f.InjectedSecond) + " of the run"
	if f.InjectedMeasured != nil {
		text += " (" + seconds(*f.InjectedMeasured) + " of the measured part)"
	}
	return text
}

func (f *Fault) healing(preposition string) string {
	if f.healed() {
		return "healed " + preposition + " " + seconds(f.HealedSecond)
	}
	return "never healed"
}

const notProven = "not proven to have taken effect"

func (f *Fault) healed() bool { return f.HealedSecond > f.InjectedSecond }
