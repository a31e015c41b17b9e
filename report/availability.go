package report

import "strconv"

// availabilityTable shows what became of writes and reads.
func availabilityTable(a *Availability) table {
	t := table{Title: "Availability", Head: []string{"policy " + a.Policy + ", reads from " + a.Read, "writes", "reads"}}
	row := func(name, writes, reads string) { t.Rows = append(t.Rows, []string{name, writes, reads}) }
	row("succeeded", count(a.Writes.Committed), count(a.Reads.Committed))
	row("failed", count(a.Writes.Failed), count(a.Reads.Failed))
	row("unknown", count(a.Writes.Unknown), count(a.Reads.Unknown))
	row("longest time without a success", millis(a.WriteOutage), millis(a.ReadOutage))
	row("longest call", millis(a.LongestWrite), millis(a.LongestRead))
	row("hung until the run ended", count(a.HungWrites), count(a.HungReads))
	row("acknowledged and lost", count(a.Lost), none)
	row("done twice or more", count(a.Duplicates), none)
	row("stale", none, count(a.Stale))
	return t
}

// availabilityLine is the same in short.
func availabilityLine(a *Availability) string {
	text := "policy " + a.Policy + ": " + count(a.Lost) + " acknowledged writes lost, " + count(a.Duplicates) + " done twice, " +
		count(a.Stale) + " stale reads; writes away " + millis(a.WriteOutage)
	if a.Reads.Total() > 0 {
		text += ", reads " + millis(a.ReadOutage)
	}
	text += "; longest call " + millis(max(a.LongestWrite, a.LongestRead))
	if hung := a.HungWrites + a.HungReads; hung > 0 {
		text += "; " + strconv.FormatInt(hung, 10) + " calls hung to the end"
	}
	return text
}
