package candles

import (
	"math/rand/v2"

	"assay/history"
)

// The kinds of operations. Values begin with the pass of a query and the task, from 0.
const (
	KindInsert uint8 = 1
	// KindLatest, KindInterval and KindDay add, if answered, rows, sum of hashes and bytes.
	KindLatest   uint8 = 2
	KindInterval uint8 = 3
	KindDay      uint8 = 4
)

// Each kind of query has two passes with the same tasks.
const (
	// passFirst has caches in any state, passCold empty ones.
	passFirst int64 = iota
	passCold
	passWarm
)

// query is decided by configuration, seed and task.
type query struct {
	kind uint8
	// ticker is a number; -1 for all.
	ticker int64
	// limit bounds the rows, the latest first; 0 for all.
	limit    int
	from, to int64
}

type queries struct {
	*Generator
	config Config
}

func (q queries) tasks(kind uint8) int64 {
	switch kind {
	case KindLatest:
		return int64(q.config.Queries)
	case KindInterval:
		return int64(q.config.Intervals) * int64(q.config.Repeats)
	case KindDay:
		return int64(q.config.Days)
	default:
		return 0
	}
}

func (q queries) at(kind uint8, task int64) query {
	end := q.start + q.days*dayMicros
	switch kind {
	case KindLatest:
		r := q.random(kind, task)
		return query{kind: kind, ticker: r.Int64N(q.tickers), limit: q.config.Latest, from: q.start, to: end}
	case KindInterval:
		from, to := q.interval(task % int64(q.config.Intervals))
		r := q.random(kind, task)
		return query{kind: kind, ticker: r.Int64N(q.tickers), from: from, to: to}
	default:
		return query{kind: kind, ticker: -1, from: q.start + task*dayMicros, to: q.start + (task+1)*dayMicros}
	}
}

// interval is one of Config.Intervals, half an hour to six hours long.
func (q queries) interval(number int64) (from, to int64) {
	r := q.random(0, number)
	length := dayMicros/48 + r.Int64N(dayMicros/4-dayMicros/48)
	from = q.start + r.Int64N(q.days*dayMicros-length)
	return from, from + length
}

func (q queries) random(kind uint8, number int64) *rand.Rand {
	return rand.New(rand.NewPCG(q.seed, uint64(kind)<<56|uint64(number)))
}

// rows calls each with a query's candles, the latest first, until each returns false.
func (q queries) rows(x query, each func(n int64) (more bool)) {
	first, last := q.slotAt(x.from), q.slotAt(x.to)-1
	for slot := last; slot >= first; slot-- {
		from, to := x.ticker, x.ticker+1
		if x.ticker < 0 {
			from, to = 0, q.tickers
		}
		for k := from; k < to; k++ {
			n := slot*q.tickers + k
			if n < q.candles && !each(n) {
				return
			}
		}
	}
}

// expected bounds an answer. The bounds are equal if every write had an answer.
type expected struct {
	least, most Tally
	// unordered: with unknown writes, which rows are a ticker's last depends on which are there.
	unordered bool
	// replaceable: in an old state of the database, other rows can take the place of missing ones.
	replaceable bool
}

// expectations computes expected answers after the writes. It keeps those of repeated queries.
type expectations struct {
	queries
	batches []history.Outcome
	kept    map[query]expected
}

const keptExpectations = 100_000

func newExpectations(q queries, batches []history.Outcome) *expectations {
	return &expectations{queries: q, batches: batches, kept: map[query]expected{}}
}

func (x *expectations) expectedOf(q query) expected {
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
	e.replaceable = e.most.Rows > e.least.Rows || q.limit > 0 && e.least.Rows == int64(q.limit)
	return e
}

type verdict string

const (
	answerRight   verdict = ""
	answerUnsure  verdict = "unsure"
	answerCut     verdict = "cut short"
	answerForeign verdict = "foreign"
	answerAltered verdict = "altered"
	// answerOther has as many rows as are due. Either one is altered, or one is missing, as an old
	// state lacks it, and another row takes its place.
	answerOther verdict = "other rows"
)

func (e expected) judge(got Tally) verdict {
	switch {
	case got.Rows < e.least.Rows:
		return answerCut
	case got.Rows > e.most.Rows:
		return answerForeign
	case e.unordered:
		return answerUnsure
	case e.replaceable && got.Rows == e.least.Rows && got.Sum != e.least.Sum:
		return answerOther
	case got.Rows == e.least.Rows && got.Sum != e.least.Sum, got.Rows == e.most.Rows && got.Sum != e.most.Sum:
		return answerAltered
	case got.Rows == e.least.Rows, got.Rows == e.most.Rows:
		return answerRight
	default:
		return answerUnsure
	}
}
