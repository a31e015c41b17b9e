package ycsb

import (
	"fmt"

	"assay/check"
)

// summarize gives each check that found nothing its verdict, and each its detail.
func (j *judge) summarize() {
	f := &j.figures
	j.records.Detail = check.Counted(f.Rows, "record was", "records were") + " read back, after " +
		check.Counted(f.Acknowledged, "acknowledged write", "acknowledged writes")
	if f.Rows > 0 && j.missing == "" {
		j.records.Detail += ": " + check.CountOrNone(f.Lost) + " lost"
		if wrong := j.records.Found - f.Lost; wrong > 0 {
			j.records.Detail += ", " + check.Counted(wrong, "record", "records") + " that should not be there or not be so"
		}
	}
	j.records.Finish(j.missing, f.Rows == 0, "there are no records")

	j.reads.Detail = check.Counted(f.Answered, "answer", "answers") + " compared bit by bit"
	if f.Wrong > 0 {
		j.reads.Detail += ", " + check.Count(f.Wrong) + " of them with what nobody had written"
	} else {
		j.reads.Detail += ", each with what somebody had written"
	}
	j.reads.Finish("", f.Answered == 0, "nothing was returned")

	j.scans.Detail = check.Counted(f.Scans, "scan", "scans") + ", " + check.CountOrNone(j.scans.Found) + " wrong"
	if f.Incomplete > 0 {
		j.scans.Detail += "; " + check.Counted(f.Incomplete, "scan", "scans") + " left out a record that was there before" + j.allowed()
	}
	j.scans.Finish("", f.Scans == 0, "no scan was answered")

	j.linearizable.Detail = j.order()
	j.linearizable.Finish("", f.Answered == 0, "nothing was returned")
}

// order says what the histories of the records showed.
func (j *judge) order() string {
	f := &j.figures
	text := fmt.Sprintf("%s and %s", check.Counted(f.Answered, "answer", "answers"), check.Counted(f.Acknowledged, "acknowledged write", "acknowledged writes"))
	switch {
	case f.Disordered == 0 && f.Missing == 0 && j.promised:
		return text + ": the history of every record is linearizable"
	case f.Disordered == 0 && f.Missing == 0:
		return text + ": the history of every record is linearizable, which the database does not promise" + j.guarantees()
	}
	text += ": the history of " + check.Counted(f.Disordered, "record is", "records is") + " not linearizable"
	if f.Missing > 0 {
		text += ", " + check.Counted(f.Missing, "read", "reads") + " did not find what was loaded"
	}
	if !j.promised {
		text += j.allowed() + j.guarantees()
	}
	return text
}

func (j *judge) allowed() string {
	if j.promised {
		return ""
	}
	return "; the database promises no better, so that is no violation"
}

// guarantees says how often a client saw time go back (D. Terry et al., "Session
// Guarantees for Weakly Consistent Replicated Data", PDIS 1994).
func (j *judge) guarantees() string {
	f := &j.figures
	return fmt.Sprintf("; %s older than what the same client had read before, %s than what it had written",
		check.Counted(f.Monotonic, "read was", "reads were"), check.CountOrNone(f.OwnWrites))
}
