package report

import (
	"fmt"
	"io"
	"strings"

	"assay/check"
)

const briefText = 150

// Brief writes the summary for the end of a run in about twelve lines: the verdict, failed
// checks, figures with intervals, and the report's place.
func Brief(w io.Writer, r *Result, o TextOptions) error {
	r = clean(r)
	t := newTextWriter(o)
	t.line(headline(r))
	t.gap()
	t.verdict(r)
	if len(r.Rounds) > 0 {
		t.field("measured", check.Counted(int64(len(r.Rounds)), "round", "rounds")+" in "+seconds(r.Throughput.Seconds))
		t.table(narrowRounds(r))
		t.gap()
	} else {
		t.field("throughput", figure(r.Throughput.PerSecond)+"/s"+plusMinus(&r.Throughput)+when(r.Measurement.Invalid(), " (INVALID, see below)"))
		t.field("response", responseLine(&r.Latency))
	}
	t.field("operations", endsLine(r))
	t.field("errors", cut(errorsLine(r), 2*briefText))
	for _, s := range sections(r) {
		t.field(s.label, s.line)
	}
	t.outages(r)
	t.growth(r)
	t.field("cost", costLine(r))
	t.thresholds(r)
	t.field("measurement", measuredLine(r))
	t.field("report", when(o.Report != "", o.Report+"  (--verbose prints all)"))
	return t.writeTo(w)
}

// Judged writes the judgement of a saved run, without its figures.
func Judged(w io.Writer, r *Result, o TextOptions) error {
	r = clean(r)
	t := newTextWriter(o)
	t.line(headline(r))
	t.gap()
	t.checks(r)
	t.gap()
	t.field("verdict", verdictLine(r))
	t.field("advice", advice(r))
	t.thresholds(r)
	t.field("measurement", measuredLine(r))
	t.field("report", o.Report)
	return t.writeTo(w)
}

func headline(r *Result) string {
	parts := []string{subject(r), check.Counted(int64(r.Load.Clients), "client", "clients")}
	if len(r.Rounds) > 0 {
		parts = parts[:1]
	} else if r.Throughput.Seconds > 0 {
		parts[1] += ", " + seconds(r.Throughput.Seconds)
	}
	if n := len(r.Faults); n == 1 {
		parts = append(parts, r.Faults[0].name()+" at "+r.Faults[0].injected())
	} else if n > 1 {
		parts = append(parts, check.Counted(int64(n), "fault", "faults"))
	}
	return strings.Join(parts, " · ")
}

// verdict shows each check that is not valid with its first finding, and names the valid ones.
func (t *textWriter) verdict(r *Result) {
	t.field("verdict", verdictLine(r))
	t.field("advice", when(r.Verdict != check.Valid, advice(r)))
	var valid []string
	shown := 0
	for _, c := range r.Checks {
		if c.Verdict == check.Valid {
			valid = append(valid, c.Name)
			continue
		}
		t.field(Mark(c.Verdict)+" "+c.Name, cut(answer(c), briefText))
		if len(c.Evidence) == 0 || shown == shownKinds {
			continue
		}
		shown++
		more := ""
		if c.Found > 1 {
			more = ", and " + check.Count(c.Found-1) + " more"
		}
		t.item("", cut(c.Evidence[0].Kind+": "+evidenceText(c.Evidence[0]), briefText)+more)
	}
	if len(valid) > 0 {
		t.field(Mark(check.Valid)+" valid", strings.Join(valid, ", "))
	}
	for _, n := range r.NotApplicable {
		t.field(notApplicableMark+" "+n.Name, cut("not applicable: "+n.Reason, briefText))
	}
}

func responseLine(l *Latency) string {
	if l.Count == 0 {
		return none
	}
	return fmt.Sprintf("p50 %s%s   p99 %s%s   max %s", millis(l.P50), plusMinusOf(l.P50, intervalsOf(l).P50), millis(l.P99), plusMinusOf(l.P99, intervalsOf(l).P99), millis(l.Max))
}

func endsLine(r *Result) string {
	var parts []string
	for i, row := range outcomeTable(r).Rows[:4] {
		if i == 0 || row[1] != "0" {
			parts = append(parts, row[1]+" "+row[0])
		}
	}
	if whole := r.Outcomes.Total(); whole != r.Measured.Total() {
		parts = append(parts, check.Count(whole)+" in the whole run")
	}
	return strings.Join(parts, " · ")
}

// outages writes the longest outage of writes and of reads by the faults.
func (t *textWriter) outages(r *Result) {
	byWrites, byReads := r.LongestOutage(false), r.LongestOutage(true)
	switch {
	case len(r.Faults) == 0:
		return
	case len(r.Faults) == 1 || byWrites.Fault == nil: // all were skipped
		t.field("outage", faultLine(&r.Faults[0]))
		return
	}
	writes, reads := *byWrites.Fault, *byReads.Fault
	writes.WritesAway, reads.ReadsAway = byWrites.AtLeast, byReads.AtLeast
	of := "the longest of " + check.Counted(int64(len(r.Faults)), "fault", "faults")
	if byReads.Millis <= writes.ReadOutage {
		writes.ReadsAway = byReads.AtLeast
		t.field("outage", of+": "+writes.name()+" "+faultLine(&writes))
		return
	}
	t.field("outage", of+" of writes: "+writes.name()+" "+faultLine(&writes))
	t.field("", of+" of reads: "+reads.name()+" "+faultLine(&reads))
}

func (t *textWriter) thresholds(r *Result) {
	for i, h := range r.Thresholds {
		a := r.answerOf(&h)
		t.field(when(i == 0, "thresholds"), Mark(a.Verdict())+" "+measuredValue(&h)+"   "+h.Text+"   "+a.String())
	}
}

// measuredLine is measurementLine with the reasons in short.
func measuredLine(r *Result) string {
	reasons := r.Measurement.Reasons
	if !r.Measurement.Invalid() || len(reasons) == 0 {
		return measurementLine(r)
	}
	text := "INVALID: " + cut(reasons[0], briefText)
	for _, more := range reasons[1:] {
		kind, _, _ := strings.Cut(more, ":")
		text += "; " + cut(kind, briefText)
	}
	return text
}
