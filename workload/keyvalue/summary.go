package keyvalue

import (
	"fmt"

	"assay/check"
	"assay/history"
)

// count counts all operations, once the existing records are known.
func (j *judge) count() {
	f := &j.figures
	for _, c := range j.operations.clients {
		if c.reads {
			continue
		}
		for seq := range c.Count {
			first, end := c.span(seq)
			rows := int64(0)
			outcome := history.Failed
			for _, s := range c.records[first:end] {
				outcome = outcome.Then(s.outcome())
				if s.acknowledged() {
					f.Acknowledged++
				}
				if s.there() {
					rows++
				}
			}
			switch {
			case rows > 0 && outcome == history.Unknown:
				f.UnknownDone++
			case rows > 0 && outcome != history.Committed:
				f.FailedDone++
			}
			if rows > 1 {
				f.Duplicates++
				f.Surplus += rows - 1
			}
		}
	}
}

// summarize completes verdicts and details.
func (j *judge) summarize() {
	f, words := &j.figures, j.preset.Words
	j.acknowledged.Detail = check.Counted(f.Acknowledged, words.One+" was", words.Many+" were") + " acknowledged"
	if j.missing == "" && f.Acknowledged > 0 {
		j.acknowledged.Detail += j.preserved()
	}
	j.acknowledged.Finish(j.missing, f.Acknowledged == 0, "nothing was acknowledged")

	j.rows.Detail = check.Counted(f.Rows, words.One+" was", words.Many+" were") + " read back, "
	if j.rows.Found > 0 {
		j.rows.Detail += check.Count(j.rows.Found) + " of them should not be there or not be so"
	} else {
		j.rows.Detail += "none of them foreign, doubled or altered"
	}
	j.rows.Finish(j.missing, f.Rows == 0, "there are no "+words.Many)

	j.reads.Detail = fmt.Sprintf("%s of acknowledged %s compared, %s with what nobody had written",
		check.Counted(f.Answered, "answered read", "answered reads"), words.Many, check.CountOrNone(f.Wrong))
	if f.Stale > 0 {
		j.reads.Detail += fmt.Sprintf("; %s missed one that was there in the end, acknowledged up to %.3f s before",
			check.Count(f.Stale), seconds(max(f.StaleBy, 0)))
	}
	if f.Missed > 0 {
		j.reads.Detail += "; " + check.Count(f.Missed) + " missed one that was lost"
	}
	why := ""
	if f.Unsure > 0 {
		why = fmt.Sprintf("%s missed one, and it is not known whether that was lost: %s",
			check.Counted(f.Unsure, "read", "reads"), j.missing)
	}
	j.reads.Finish(why, f.Answered == 0, "no read of what was acknowledged was answered")
}

func (j *judge) preserved() string {
	lost, altered := j.figures.Lost, j.figures.Altered
	switch {
	case lost > 0 && altered > 0:
		return fmt.Sprintf(", %s of them are not there, %s not as they were written", check.Count(lost), check.Count(altered))
	case lost > 0:
		return fmt.Sprintf(", %s of them are not there", check.Count(lost))
	case altered > 0:
		return fmt.Sprintf(", all are there, %s of them not as they were written", check.Count(altered))
	case j.preset.AsWritten:
		return ", all are there as they were written"
	}
	return ", and all are there"
}

const (
	kindLost    = "lost"
	kindStale   = "stale"
	kindForeign = "foreign"
	kindDoubled = "doubled"
	kindFailed  = "failed"
	kindAltered = "altered"
	kindOther   = "other row"
	kindEarly   = "too early"
)

func (j *judge) describe(number int64) string {
	client, seq, attempt, ok := j.preset.Split(number)
	switch one := j.preset.Words.One; {
	case !ok:
		return fmt.Sprintf("%s %d (no client's)", one, number)
	case client == j.preset.Loader:
		return fmt.Sprintf("%s %d (number %d of those loaded)", one, number, seq)
	case attempt == 0:
		return fmt.Sprintf("%s %d (client %d, operation %d)", one, number, client, seq)
	default:
		return fmt.Sprintf("%s %d (client %d, operation %d, attempt %d)", one, number, client, seq, attempt)
	}
}

func (j *judge) evidenceOf(kind string, number int64, what string) check.Evidence {
	return check.Evidence{Kind: kind, Text: j.describe(number) + " " + what, Fields: map[string]int64{"key": number}}
}

func (j *judge) rowEvidence(kind string, got Observed, what string) check.Evidence {
	e := j.evidenceOf(kind, got.Number, what)
	e.Fields[j.preset.Words.Digest] = got.Digest[0]
	return e
}

func wanted(e check.Evidence, want Digest) check.Evidence {
	e.Fields["want"] = want[0]
	return e
}

func (j *judge) unnumbered(got Observed) check.Evidence {
	key := j.preset.Schema.Tables[0].Columns[0].Name
	return check.Evidence{Kind: kindForeign,
		Text: fmt.Sprintf("the %s whose %s begins with %016x is there, and no operation of this run has that %s",
			j.preset.Words.One, key, uint64(got.Key[0]), key),
		Fields: map[string]int64{key + "_high": got.Key[0], key + "_low": got.Key[1]}}
}

func (j *judge) readEvidence(kind string, op *history.Op, got Observed, what string) check.Evidence {
	return check.Evidence{Kind: kind,
		Text: fmt.Sprintf("at %.3f s operation %d of client %d returned %s, %s",
			seconds(op.Start), op.Seq, op.Client, j.describe(got.Number), what),
		Fields: map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "start_ns": op.Start, "end_ns": op.End,
			"key": got.Number, j.preset.Words.Digest: got.Digest[0]}}
}

func (j *judge) lost(op *history.Op, number int64) check.Evidence {
	if op == nil {
		return j.evidenceOf(kindLost, number, "was acknowledged before the run began and is not there")
	}
	return check.Evidence{Kind: kindLost,
		Text: fmt.Sprintf("%s was acknowledged at %.3f s and is not there", j.describe(number), seconds(op.End)),
		Fields: map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "attempt": int64(op.Attempt),
			"key": number, "acknowledged_ns": op.End}}
}

// stale takes the age in nanoseconds; -1 means acknowledged before the run.
func (j *judge) stale(op *history.Op, number, age int64) check.Evidence {
	since := "before the run began"
	if age >= 0 {
		since = fmt.Sprintf("%.3f s before", seconds(age))
	}
	return check.Evidence{Kind: kindStale,
		Text: fmt.Sprintf("at %.3f s operation %d of client %d did not find %s, acknowledged %s and there in the end",
			seconds(op.Start), op.Seq, op.Client, j.describe(number), since),
		Fields: map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "start_ns": op.Start, "end_ns": op.End,
			"key": number, "age_ns": age}}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }
