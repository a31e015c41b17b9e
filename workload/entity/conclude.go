package entity

import (
	"fmt"
	"strings"

	"assay/check"
	"assay/history"
)

// count goes through all operations once it is known what is there.
func (j *judge) count() {
	j.figures.Unrecorded = int64(len(j.books.unrecorded))
	j.loaded()
	for _, l := range j.books.clients {
		for _, s := range l.ops {
			switch {
			case s.acknowledged():
				j.figures.Acknowledged++
			case s&thereBit == 0:
			case s.without():
				j.figures.FailedDone++
			default:
				j.figures.UnknownDone++
			}
		}
	}
}

// conclude gives each check that found nothing its verdict, and all their
// words.
func (j *judge) conclude() {
	f := &j.figures
	j.acknowledged.Detail = check.Counted(f.Acknowledged, "entity was", "entities were") + " acknowledged"
	if j.missing == "" && f.Acknowledged > 0 {
		j.acknowledged.Detail += kept(f)
	}
	j.acknowledged.Finish(j.missing, f.Acknowledged == 0, "nothing was acknowledged")

	j.rows.Detail = check.Counted(f.Rows, "entity was", "entities were") + " read back, "
	if j.rows.Found > 0 {
		j.rows.Detail += check.Count(j.rows.Found) + " of them should not be there or not be so"
	} else {
		j.rows.Detail += "none of them foreign, doubled or altered"
	}
	j.rows.Finish(j.missing, f.Rows == 0, "there are no entities")

	j.reads.Detail = fmt.Sprintf("%s of acknowledged entities compared field by field, %s with what nobody had written",
		check.Counted(f.Answered, "answered read", "answered reads"), check.CountOrNone(f.Wrong))
	if f.Stale > 0 {
		j.reads.Detail += fmt.Sprintf("; %s missed an entity that was there in the end, acknowledged up to %.3f s before", check.Count(f.Stale), seconds(max(f.StaleBy, 0)))
	}
	if f.Missed > 0 {
		j.reads.Detail += "; " + check.Count(f.Missed) + " missed an entity that was lost"
	}
	if f.Stale > 0 && j.evidence.Promise != PromiseLinearizable {
		j.reads.Detail += "; the database does not promise that no read is stale, so that is no violation"
	}
	why := ""
	if f.Unsure > 0 {
		why = fmt.Sprintf("%s missed an entity, and it is not known whether that was lost: %s", check.Counted(f.Unsure, "read", "reads"), j.missing)
	}
	j.reads.Finish(why, f.Answered == 0, "no read was answered")
}

// kept says what became of the acknowledged entities.
func kept(f *Figures) string {
	switch {
	case f.Lost > 0 && f.Altered > 0:
		return fmt.Sprintf(", %s of them are not there, %s not as they were written", check.Count(f.Lost), check.Count(f.Altered))
	case f.Lost > 0:
		return fmt.Sprintf(", %s of them are not there", check.Count(f.Lost))
	case f.Altered > 0:
		return fmt.Sprintf(", all are there, %s of them not as they were written", check.Count(f.Altered))
	}
	return ", all are there as they were written"
}

// finding is a kind of evidence.
type finding string

const (
	lostRow    finding = "lost"
	foreignRow finding = "foreign"
	doubledRow finding = "doubled"
	failedRow  finding = "failed"
	alteredRow finding = "altered"
)

// describe says who wrote a key.
func describe(key int64) string {
	client, seq := SplitKey(key)
	if client == loader {
		return fmt.Sprintf("entity %d (number %d of those loaded)", key, seq)
	}
	return fmt.Sprintf("entity %d (client %d, operation %d)", key, client, seq)
}

func (f finding) of(key int64, what string) check.Evidence {
	return check.Evidence{Kind: string(f), Text: describe(key) + " " + what, Fields: map[string]int64{"key": key}}
}

func stranger(row Row) check.Evidence {
	return check.Evidence{Kind: string(foreignRow),
		Text:   fmt.Sprintf("the entity whose id begins with %016x is there, and no operation of this run has that id", uint64(row.High)),
		Fields: map[string]int64{"id_high": row.High, "id_low": row.Low}}
}

func altered(key int64, got, want Sum, what string) check.Evidence {
	e := alteredRow.of(key, fmt.Sprintf("%s with another %s than was written", what, strings.Join(differing(got.Parts, want.Parts), ", ")))
	e.Fields["sum"], e.Fields["want"] = got.All, want.All
	return e
}

func alteredRead(op *history.Op, key int64, got, want Sum) check.Evidence {
	e := altered(key, got, want, fmt.Sprintf("was returned at %.3f s by operation %d of client %d", seconds(op.End), op.Seq, op.Client))
	e.Fields["client"], e.Fields["seq"] = int64(op.Client), int64(op.Seq)
	e.Fields["start_ns"], e.Fields["end_ns"] = op.Start, op.End
	return e
}

func lost(op *history.Op, key int64) check.Evidence {
	e := lostRow.of(key, fmt.Sprintf("was acknowledged at %.3f s and is not there", seconds(op.End)))
	e.Fields["acknowledged_ns"] = op.End
	return e
}

func stale(op *history.Op, key, age int64) check.Evidence {
	since := "before the run began"
	if age >= 0 {
		since = fmt.Sprintf("%.3f s before", seconds(age))
	}
	return check.Evidence{Kind: "stale",
		Text: fmt.Sprintf("at %.3f s operation %d of client %d did not find %s, acknowledged %s and there in the end",
			seconds(op.Start), op.Seq, op.Client, describe(key), since),
		Fields: map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "start_ns": op.Start, "end_ns": op.End,
			"key": key, "age_ns": age}}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
