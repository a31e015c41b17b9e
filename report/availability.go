package report

import (
	"assay/check"
	"assay/history"
	"cmp"
)

// Availability is the result of writes and reads under the client's policy.
type Availability struct {
	Policy string         `json:"policy"`
	Read   string         `json:"read"`
	Writes history.Counts `json:"writes"`
	Reads  history.Counts `json:"reads"`
	Rows   int64          `json:"rows"`
	// NotRead says why not all rows were read back; empty if all were. What was lost, done twice or
	// stale is then not known.
	NotRead string `json:"not_read,omitempty"`
	// Lost counts acknowledged inserts whose row is missing.
	Lost int64 `json:"lost"`
	// Duplicates counts operations with more than one row, Surplus their rows beyond the first.
	Duplicates int64 `json:"duplicates"`
	Surplus    int64 `json:"surplus_rows"`
	// UnknownDone and FailedDone count operations that ended unknown or failed and have a row.
	UnknownDone int64 `json:"unknown_done"`
	FailedDone  int64 `json:"failed_done"`
	// Met counts writes whose repetition met its own row, MetGone such rows missing at the end.
	Met     int64 `json:"met_own_row,omitempty"`
	MetGone int64 `json:"met_own_row_gone,omitempty"`
	// Stale counts reads that missed a row acknowledged before; StaleBy is the longest such time.
	Stale   int64   `json:"stale_reads"`
	StaleBy float64 `json:"stale_by_ms"`
	// HungWrites and HungReads count calls without a time limit that hung until the run's end.
	HungWrites int64 `json:"hung_writes"`
	HungReads  int64 `json:"hung_reads"`
	// LongestWrite and LongestRead are single calls; lower bounds if the run's end cut them.
	LongestWrite    float64 `json:"longest_write_ms"`
	LongestWriteCut bool    `json:"longest_write_cut,omitempty"`
	LongestRead     float64 `json:"longest_read_ms"`
	LongestReadCut  bool    `json:"longest_read_cut,omitempty"`
	// WriteOutage and ReadOutage are the longest times without success; lower bounds if cut, -1 if
	// there were no writes or reads. Versions before this one wrote 0 then.
	WriteOutage float64 `json:"write_outage_ms"`
	WritesAway  bool    `json:"writes_away,omitempty"`
	ReadOutage  float64 `json:"read_outage_ms"`
	ReadsAway   bool    `json:"reads_away,omitempty"`
}

func availabilityTable(a *Availability) Table {
	t := Table{Title: "Availability", Head: []string{"policy " + a.Policy + ", reads from " + a.Read, "writes", "reads"}}
	row := func(name, writes, reads string) { t.Rows = append(t.Rows, []string{name, writes, reads}) }
	row("succeeded", check.Count(a.Writes.Committed), check.Count(a.Reads.Committed))
	row("failed", check.Count(a.Writes.Failed), check.Count(a.Reads.Failed))
	row("unknown", check.Count(a.Writes.Unknown), check.Count(a.Reads.Unknown))
	row("of these, met its own row", check.Count(a.Met), none)
	row("and that row was lost later", a.Counted(a.MetGone), none)
	row("longest time without a success", lasted(a.WriteOutage, a.WritesAway), lasted(a.ReadOutage, a.ReadsAway))
	row("longest call", lasted(a.LongestWrite, a.LongestWriteCut), lasted(a.LongestRead, a.LongestReadCut))
	row("hung until the run ended", check.Count(a.HungWrites), check.Count(a.HungReads))
	row("acknowledged and lost", a.Counted(a.Lost), none)
	row("done twice or more", a.Counted(a.Duplicates), none)
	row("stale", none, a.Counted(a.Stale))
	return t
}

// Counted writes a number of lost, doubled or stale operations, if the rows were read back.
func (a *Availability) Counted(n int64) string { return countedIfRead(n, a.NotRead) }

func countedIfRead(n int64, notRead string) string {
	if notRead != "" {
		return "not known"
	}
	return check.Count(n)
}

func availabilityLine(a *Availability) string {
	hung := a.HungWrites + a.HungReads
	longest, cut := a.LongestWrite, a.LongestWriteCut
	if a.LongestRead > longest {
		longest, cut = a.LongestRead, a.LongestReadCut
	}
	return "policy " + a.Policy + ": " + losses(a) + when(a.WriteOutage >= 0, "; write outage "+lasted(a.WriteOutage, a.WritesAway)) +
		when(a.ReadOutage >= 0 && a.Reads.Total() > 0, ", read outage "+lasted(a.ReadOutage, a.ReadsAway)) +
		"; longest call " + lasted(longest, cut) +
		when(hung > 0, "; "+check.Counted(hung, "call", "calls")+" hung to the end")
}

func losses(a *Availability) string {
	if a.NotRead != "" {
		return "what was lost or done twice is not known"
	}
	return cmp.Or(Joined(", ",
		when(a.Lost > 0, check.Counted(a.Lost, "acknowledged write", "acknowledged writes")+" lost"),
		when(a.MetGone > 0, check.Counted(a.MetGone, "row", "rows")+" met by a repetition and lost later"),
		when(a.Duplicates > 0, check.Count(a.Duplicates)+" done twice"),
		when(a.Stale > 0, check.Counted(a.Stale, "stale read", "stale reads"))), "no write lost or done twice, no read stale")
}
