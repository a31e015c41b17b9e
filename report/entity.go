package report

import (
	"assay/check"
	"assay/history"
)

// Entity is the work of a web service's storage.
type Entity struct {
	Writes Flow  `json:"writes"`
	Reads  Flow  `json:"reads"`
	Rows   int64 `json:"rows"`
	// Compared counts reads compared with what was written, Wrong those that differed.
	Compared int64 `json:"reads_compared"`
	Wrong    int64 `json:"reads_wrong"`
	// NotRead is as of Availability.
	NotRead string `json:"not_read,omitempty"`
	// Lost counts missing acknowledged entities, Altered those that differ from what was written.
	Lost    int64 `json:"lost"`
	Altered int64 `json:"altered"`
	// Stale counts reads that missed an older acknowledged entity; StaleBy is the longest time.
	Stale   int64   `json:"stale_reads"`
	StaleBy float64 `json:"stale_by_ms"`
	// UnknownDone and FailedDone count writes that ended unknown or failed and are there.
	UnknownDone int64 `json:"unknown_done"`
	FailedDone  int64 `json:"failed_done"`
}

// Flow sums up the operations of one kind.
type Flow struct {
	Outcomes history.Counts `json:"outcomes"`
	// PerSecond and Max are commits a second in the measured part: the mean and the best second.
	PerSecond float64 `json:"committed_per_second"`
	Max       float64 `json:"max_per_second"`
	// Response times of committed operations in milliseconds; 0 if there are none.
	Mean    float64 `json:"mean_ms"`
	P50     float64 `json:"p50_ms"`
	P95     float64 `json:"p95_ms"`
	P99     float64 `json:"p99_ms"`
	Longest float64 `json:"longest_ms"`
}

func entityTable(e *Entity) Table {
	t := Table{Title: "Writes and reads", Head: []string{"", "writes", "reads"}}
	row := func(name, writes, reads string) { t.Rows = append(t.Rows, []string{name, writes, reads}) }
	both := func(name string, of func(*Flow) string) { row(name, of(&e.Writes), of(&e.Reads)) }
	both("per second", func(f *Flow) string { return figure(f.PerSecond) })
	both("most in one second", func(f *Flow) string { return figure(f.Max) })
	time := func(name string, of func(*Flow) float64) {
		both(name, func(f *Flow) string {
			if f.Longest == 0 {
				return none
			}
			return millis(of(f))
		})
	}
	time("mean", func(f *Flow) float64 { return f.Mean })
	time("p50", func(f *Flow) float64 { return f.P50 })
	time("p95", func(f *Flow) float64 { return f.P95 })
	time("p99", func(f *Flow) float64 { return f.P99 })
	time("longest", func(f *Flow) float64 { return f.Longest })
	both("succeeded", func(f *Flow) string { return check.Count(f.Outcomes.Committed) })
	both("failed", func(f *Flow) string { return check.Count(f.Outcomes.Failed) })
	both("unknown", func(f *Flow) string { return check.Count(f.Outcomes.Unknown) })
	row("acknowledged and lost", countedIfRead(e.Lost, e.NotRead), none)
	row("not as written", countedIfRead(e.Altered, e.NotRead), check.Count(e.Wrong))
	row("stale", none, countedIfRead(e.Stale, e.NotRead))
	return t
}

func entityLine(e *Entity) string {
	return "writes " + figure(e.Writes.PerSecond) + "/s (at most " + figure(e.Writes.Max) + "), mean " + millis(e.Writes.Mean) +
		"; reads " + figure(e.Reads.PerSecond) + "/s (at most " + figure(e.Reads.Max) + "), mean " + millis(e.Reads.Mean) +
		"; " + check.Counted(e.Compared, "read", "reads") + " compared, " + check.CountOrNone(e.Wrong) + " wrong, " + when(e.NotRead == "", check.CountOrNone(e.Stale)+" stale") + when(e.NotRead != "", "not known how many stale")
}
