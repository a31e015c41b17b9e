package availability

import (
	"fmt"

	"assay/check"
	"assay/history"
)

// count goes through all operations once it is known which rows are there.
func (j *judge) count() {
	j.figures.Unrecorded = int64(len(j.books.unrecorded))
	for _, w := range j.books.writers {
		for seq := range w.ops {
			first, end := w.span(seq)
			rows := int64(0)
			outcome := history.Failed
			for _, s := range w.keys[first:end] {
				outcome = outcome.Then(s.outcome())
				if s.there() {
					rows++
				}
			}
			switch {
			case rows > 0 && outcome == history.Unknown:
				j.figures.UnknownDone++
			case rows > 0 && outcome == history.Failed:
				j.figures.FailedDone++
			}
			if rows > 1 {
				j.figures.Duplicates++
				j.figures.Surplus += rows - 1
			}
		}
	}
}

// conclude gives each check that found nothing its verdict, and all their
// words.
func (j *judge) conclude() {
	f := &j.figures
	acknowledged := j.acknowledgedInserts()
	j.acknowledged.Detail = check.Counted(acknowledged, "insert was", "inserts were") + " acknowledged"
	switch {
	case j.missing != "" || acknowledged == 0:
	case f.Lost > 0:
		j.acknowledged.Detail += ", " + check.Count(f.Lost) + " of them are not there"
	default:
		j.acknowledged.Detail += ", and all are there"
	}
	j.acknowledged.Finish(j.missing, acknowledged == 0, "nothing was acknowledged")

	j.rows.Detail = check.Counted(f.Rows, "row was", "rows were") + " read back, "
	if j.rows.Found > 0 {
		j.rows.Detail += check.Count(j.rows.Found) + " of them should not be there or not be so"
	} else {
		j.rows.Detail += "none of them foreign or altered"
	}
	j.rows.Finish(j.missing, f.Rows == 0, "there are no rows")

	answered := f.Reads.Committed - f.Probes
	j.reads.Detail = fmt.Sprintf("%s of acknowledged rows, %s with what nobody had written",
		check.Counted(answered, "answered read", "answered reads"), check.CountOrNone(j.reads.Found-j.convictedStale()))
	if f.Stale > 0 {
		j.reads.Detail += fmt.Sprintf("; %s missed a row that was there in the end, acknowledged up to %.3f s before", check.Count(f.Stale), seconds(f.StaleBy))
	}
	if f.Missed > 0 {
		j.reads.Detail += "; " + check.Count(f.Missed) + " missed a row that was lost"
	}
	if f.Stale > 0 && !j.fresh() {
		j.reads.Detail += "; the database does not promise that no read is stale, so that is no violation"
	}
	why := ""
	if f.Unsure > 0 {
		why = fmt.Sprintf("%s missed a row, and it is not known whether that was lost: %s", check.Counted(f.Unsure, "read", "reads"), j.missing)
	}
	j.reads.Finish(why, answered == 0, "no read of an acknowledged row was answered")
}

// fresh reports whether no read may be stale.
func (j *judge) fresh() bool {
	return j.config.primary() && j.evidence.Promise == PromiseLinearizable
}

// convictedStale is how many of the findings of reads are stale reads.
func (j *judge) convictedStale() int64 {
	if j.fresh() {
		return j.figures.Stale
	}
	return 0
}

// acknowledgedInserts counts the keys that were acknowledged.
func (j *judge) acknowledgedInserts() (n int64) {
	for _, w := range j.books.writers {
		for _, s := range w.keys {
			if s.outcome() == history.Committed {
				n++
			}
		}
	}
	return n
}

// finding is a kind of evidence.
type finding string

const (
	foreignRow finding = "foreign"
	doubledRow finding = "doubled"
	failedRow  finding = "failed"
	alteredRow finding = "altered"
	otherRow   finding = "other row"
	earlyRow   finding = "too early"
)

// describe says who wrote a key.
func describe(key int64) string {
	client, seq, attempt, ok := SplitKey(key)
	switch {
	case !ok:
		return fmt.Sprintf("%d (no client's)", key)
	case attempt == 0:
		return fmt.Sprintf("%d (client %d, operation %d)", key, client, seq)
	default:
		return fmt.Sprintf("%d (client %d, operation %d, attempt %d)", key, client, seq, attempt)
	}
}

// of is the evidence of a row that was read back.
func (f finding) of(row Row, what string) check.Evidence {
	return check.Evidence{Kind: string(f), Text: fmt.Sprintf("row %s %s", describe(row.Key), what),
		Fields: map[string]int64{"key": row.Key, "value": row.Value}}
}

func (f finding) wanted(row Row, want int64, what string) check.Evidence {
	e := f.of(row, fmt.Sprintf("%s with value %d, and %d was inserted", what, row.Value, want))
	e.Fields["want"] = want
	return e
}

// read is the evidence of a row that a read returned.
func (f finding) read(op *history.Op, row Row, what string) check.Evidence {
	return check.Evidence{Kind: string(f),
		Text: fmt.Sprintf("at %.3f s read %d of client %d returned row %s with value %d, %s",
			seconds(op.Start), op.Seq, op.Client, describe(row.Key), row.Value, what),
		Fields: map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "start_ns": op.Start, "end_ns": op.End,
			"key": row.Key, "value": row.Value}}
}

func lostRow(op *history.Op, key int64) check.Evidence {
	return check.Evidence{Kind: "lost",
		Text: fmt.Sprintf("row %s was acknowledged at %.3f s and is not there", describe(key), seconds(op.End)),
		Fields: map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "attempt": int64(op.Attempt),
			"key": key, "acknowledged_ns": op.End}}
}

func staleRead(op *history.Op, key, age int64) check.Evidence {
	return check.Evidence{Kind: "stale",
		Text: fmt.Sprintf("at %.3f s read %d of client %d did not find row %s, acknowledged %.3f s before and there in the end",
			seconds(op.Start), op.Seq, op.Client, describe(key), seconds(age)),
		Fields: map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "start_ns": op.Start, "end_ns": op.End,
			"key": key, "age_ns": age}}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
