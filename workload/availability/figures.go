package availability

import (
	"assay/history"
	"assay/load"
)

// Figures are what is counted beside the verdicts. All times are nanoseconds.
type Figures struct {
	// Writes are operations by what they ended as, and Attempts how many
	// attempts they took. Operations without a record are not among them.
	Writes   history.Counts `json:"writes"`
	Attempts int64          `json:"attempts"`
	// Reads are reads by what they ended as: committed or failed.
	Reads history.Counts `json:"reads"`
	// Rows is how many rows were read back.
	Rows int64 `json:"rows"`
	// Lost counts acknowledged inserts that are not there.
	Lost int64 `json:"lost"`
	// Duplicates counts operations with more than one row, and Surplus the
	// rows beyond the first of each.
	Duplicates int64 `json:"duplicates"`
	Surplus    int64 `json:"surplus"`
	// UnknownDone counts operations that ended unknown and have a row;
	// FailedDone those that ended as failed and have one all the same.
	// Unrecorded counts the rows of operations that have no record.
	UnknownDone int64 `json:"unknown_done"`
	FailedDone  int64 `json:"failed_done"`
	Unrecorded  int64 `json:"unrecorded"`
	// Stale counts reads that missed a row acknowledged before they began and
	// there in the end; StaleBy is the longest that such a row had then been
	// acknowledged. Missed counts reads that missed a row that was lost, and
	// Unsure those of which that cannot be told apart.
	Stale   int64 `json:"stale"`
	StaleBy int64 `json:"stale_by_ns"`
	Missed  int64 `json:"missed"`
	Unsure  int64 `json:"unsure"`
	// Probes counts reads of nothing, while nothing was acknowledged yet; they
	// are among Reads.
	Probes int64 `json:"probes"`
	// HungWrites and HungReads count the calls that were in flight, without a
	// time limit, until the run ended.
	HungWrites int64 `json:"hung_writes"`
	HungReads  int64 `json:"hung_reads"`
	// LongestWrite and LongestRead are the longest calls: single attempts.
	LongestWrite int64 `json:"longest_write_ns"`
	LongestRead  int64 `json:"longest_read_ns"`
	// WriteOutage and ReadOutage are the longest times in which no insert was
	// acknowledged, and no read answered.
	WriteOutage Gap `json:"write_outage"`
	ReadOutage  Gap `json:"read_outage"`
}

// Gap is a time without success, since the start of the run.
type Gap struct {
	From int64 `json:"from_ns"`
	To   int64 `json:"to_ns"`
}

// Length is how long it lasted.
func (g Gap) Length() int64 { return g.To - g.From }

func (f *Figures) write(op *history.Op) {
	f.Attempts++
	f.LongestWrite = max(f.LongestWrite, op.End-op.Start)
	if op.Error == load.ClassHung {
		f.HungWrites++
	}
	if op.Last {
		f.Writes.Add(op.Final, 1)
	}
}

func (f *Figures) read(op *history.Op) {
	f.LongestRead = max(f.LongestRead, op.End-op.Start)
	if op.Error == load.ClassHung {
		f.HungReads++
	}
	outcome := op.Outcome
	if outcome != history.Committed {
		outcome = history.Failed // it has no effect
	}
	f.Reads.Add(outcome, 1)
}

func (f *Figures) stale(age int64) {
	f.Stale++
	f.StaleBy = max(f.StaleBy, age)
}

// flow finds the longest time without a success, from the first success to the
// end of the measured part. Records come nearly in the order of their ends.
type flow struct {
	last    int64
	any     bool
	over    bool
	longest Gap
}

func (f *flow) op(op *history.Op) {
	if success := op.Outcome == history.Committed || op.Last && op.Final == history.Committed; !success || f.over {
		return
	}
	f.until(op.End)
	f.last, f.any = max(f.last, op.End), true
}

// end says that no success is expected any more.
func (f *flow) end(at int64) {
	f.until(at)
	f.over = true
}

func (f *flow) until(at int64) {
	if f.any && at-f.last > f.longest.Length() {
		f.longest = Gap{From: f.last, To: at}
	}
}
