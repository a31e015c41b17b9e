package report

import (
	"strings"

	"assay/check"
)

// availabilityTable shows what became of writes and reads.
func availabilityTable(a *Availability) table {
	t := table{Title: "Availability", Head: []string{"policy " + a.Policy + ", reads from " + a.Read, "writes", "reads"}}
	row := func(name, writes, reads string) { t.Rows = append(t.Rows, []string{name, writes, reads}) }
	row("succeeded", check.Count(a.Writes.Committed), check.Count(a.Reads.Committed))
	row("failed", check.Count(a.Writes.Failed), check.Count(a.Reads.Failed))
	row("unknown", check.Count(a.Writes.Unknown), check.Count(a.Reads.Unknown))
	row("longest time without a success", millis(a.WriteOutage), millis(a.ReadOutage))
	row("longest call", millis(a.LongestWrite), millis(a.LongestRead))
	row("hung until the run ended", check.Count(a.HungWrites), check.Count(a.HungReads))
	row("acknowledged and lost", check.Count(a.Lost), none)
	row("done twice or more", check.Count(a.Duplicates), none)
	row("stale", none, check.Count(a.Stale))
	return t
}

// availabilityLine is the same in short.
func availabilityLine(a *Availability) string {
	text := "policy " + a.Policy + ": " + losses(a) + "; writes away " + millis(a.WriteOutage)
	if a.Reads.Total() > 0 {
		text += ", reads " + millis(a.ReadOutage)
	}
	text += "; longest call " + millis(max(a.LongestWrite, a.LongestRead))
	if hung := a.HungWrites + a.HungReads; hung > 0 {
		text += "; " + check.Counted(hung, "call", "calls") + " hung to the end"
	}
	return text
}

// losses says what was lost, doubled or stale, or that nothing was.
func losses(a *Availability) string {
	var parts []string
	if a.Lost > 0 {
		parts = append(parts, check.Counted(a.Lost, "acknowledged write", "acknowledged writes")+" lost")
	}
	if a.Duplicates > 0 {
		parts = append(parts, check.Count(a.Duplicates)+" done twice")
	}
	if a.Stale > 0 {
		parts = append(parts, check.Counted(a.Stale, "stale read", "stale reads"))
	}
	if len(parts) == 0 {
		return "no write lost or done twice, no read stale"
	}
	return strings.Join(parts, ", ")
}
