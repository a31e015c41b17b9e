package candles

import (
	"fmt"

	"assay/check"
	"assay/history"
)

// concludeIngest holds what is there against what was acknowledged.
func (j *judge) concludeIngest() {
	r := &j.ingest
	if j.state == nil {
		r.Detail = "nothing can be said: " + j.missing
		return
	}
	j.wrongRows(wrongAltered, "altered", "is not as it was written")
	j.wrongRows(wrongDoubled, "doubled", "is there more than once")
	j.wrongRows(wrongForeign, "foreign", "is there, and no candle of this run has such an id")
	var altered, doubled, unknownThere int64
	for i, b := range j.state.batches {
		altered, doubled = altered+b.altered, doubled+b.doubled
		first, end := j.config.batch(int64(i))
		switch outcome := j.batches[i]; {
		case outcome == history.Committed && b.rows < end-first && j.missing == "":
			r.Add(j.batchEvidence("lost", int64(i), b.rows, fmt.Sprintf("was acknowledged and only %s of its %s candles are there; %d is the first that is not",
				check.Count(b.rows), check.Count(end-first), j.state.missing[i])))
		case outcome == history.Failed && b.rows > 0:
			r.Add(j.batchEvidence("failed", int64(i), b.rows, fmt.Sprintf("had certainly failed, and %s of its candles are there", check.Count(b.rows))))
		case outcome == history.Unknown:
			unknownThere += b.rows
		}
	}
	r.Found = max(r.Found, altered+doubled+j.state.foreign)
	r.Detail = fmt.Sprintf("%s acknowledged and %s there, %s of them of a batch without an answer; ", check.Counted(j.acknowledged, "candle was", "candles were"),
		check.Counted(j.state.rows, "is", "are"), check.CountOrNone(unknownThere))
	if altered+doubled+j.state.foreign == 0 {
		r.Detail += "none is altered, doubled or foreign"
	} else {
		r.Detail += fmt.Sprintf("altered %s, doubled %s, foreign %s", check.Count(altered), check.Count(doubled), check.Count(j.state.foreign))
	}
	switch {
	case r.Verdict == check.Violated:
	case j.missing != "":
		r.Detail += "; " + j.missing
	case j.acknowledged == 0:
		r.Detail = "nothing was acknowledged, so that nothing can be said"
	default:
		r.Verdict = check.Valid
	}
}

func (j *judge) wrongRows(which int, kind, what string) {
	for _, id := range j.state.wrong[which] {
		j.ingest.Add(check.Evidence{Kind: kind, Text: fmt.Sprintf("candle %d %s", id, what), Fields: map[string]int64{"id": id}})
	}
}

func (j *judge) batchEvidence(kind string, batch, rows int64, what string) check.Evidence {
	first, end := j.config.batch(batch)
	return check.Evidence{Kind: kind, Text: fmt.Sprintf("batch %d (candles %d to %d) %s", batch, first, end-1, what),
		Fields: map[string]int64{"batch": batch, "first": first, "rows": rows, "due": end - first, "missing": j.state.missing[batch]}}
}

// concludeAnswers says what came of the queries.
func (j *judge) concludeAnswers() {
	r := &j.answers
	r.Detail = fmt.Sprintf("%s of %s answered; ", check.Count(j.answered), check.Counted(j.asked, "query was", "queries were"))
	if r.Found > 0 {
		r.Detail += check.Counted(r.Found, "answer is", "answers are") + " not what was written"
	} else {
		r.Detail += "no answer is other than what was written"
	}
	if j.figures.Unsure > 0 {
		r.Detail += fmt.Sprintf("; of %s nothing can be said, since batches without an answer may belong to them", check.Count(j.figures.Unsure))
	}
	if j.figures.Behind > 0 {
		r.Detail += fmt.Sprintf("; %s rows that were acknowledged, which this database may do at this consistency", check.Counted(j.figures.Behind, "lacks", "lack"))
	}
	switch {
	case r.Verdict == check.Violated:
	case j.answered == 0:
		r.Detail = check.Counted(j.asked, "query was", "queries were") + " made and none was answered, so that nothing can be said"
	case j.acknowledged == 0:
		r.Detail += "; nothing had been acknowledged before, so that nothing can be said"
	case j.figures.Unsure > 0 || j.figures.Behind > 0:
	default:
		r.Verdict = check.Valid
	}
}
