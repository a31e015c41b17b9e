package candles

import "assay/history"

// expected bounds an answer: what must be in it, and what may. The two are the
// same where every write ended with an answer.
type expected struct {
	least, most Tally
	// unordered is true if the rows of neither can be named: of the last rows
	// of a ticker, those that are there push others out.
	unordered bool
}

// expectations are the answers to queries, by the state that the writing left.
// Answers that are asked for again are kept, so many of them.
type expectations struct {
	queries
	batches []history.Outcome
	kept    map[query]expected
}

const keptExpectations = 100_000

func newExpectations(q queries, batches []history.Outcome) *expectations {
	return &expectations{queries: q, batches: batches, kept: map[query]expected{}}
}

func (x *expectations) of(q query) expected {
	if e, known := x.kept[q]; known {
		return e
	}
	e := x.compute(q)
	if len(x.kept) >= keptExpectations {
		clear(x.kept)
	}
	x.kept[q] = e
	return e
}

func (x *expectations) compute(q query) expected {
	var e expected
	x.rows(q, func(n int64) bool {
		outcome := x.batches[n/int64(x.config.Batch)]
		if outcome == history.Failed {
			return true
		}
		candle := x.Candle(n)
		e.most.Add(&candle)
		if outcome == history.Committed {
			e.least.Add(&candle)
		}
		return q.limit == 0 || e.least.Rows < int64(q.limit)
	})
	if q.limit > 0 && e.most.Rows > e.least.Rows {
		e.unordered = true
		e.most.Rows = min(e.most.Rows, int64(q.limit))
	}
	return e
}

// verdict is what an answer is.
type verdict string

const (
	answerRight   verdict = ""
	answerUnsure  verdict = "unsure"
	answerCut     verdict = "cut short"
	answerForeign verdict = "foreign"
	answerAltered verdict = "altered"
)

// judge holds an answer against what is expected.
func (e expected) judge(got Tally) verdict {
	switch {
	case got.Rows < e.least.Rows:
		return answerCut
	case got.Rows > e.most.Rows:
		return answerForeign
	case e.unordered:
		return answerUnsure
	case got.Rows == e.least.Rows && got.Sum != e.least.Sum, got.Rows == e.most.Rows && got.Sum != e.most.Sum:
		return answerAltered
	case got.Rows == e.least.Rows, got.Rows == e.most.Rows:
		return answerRight
	default:
		return answerUnsure
	}
}
