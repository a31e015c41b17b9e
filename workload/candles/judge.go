package candles

import (
	"fmt"

	"assay/check"
	"assay/history"
	"assay/store"
	"assay/workload/definition"
)

// The checks; Definition says what each asserts.
const (
	CheckIngest  = "ingest"
	CheckAnswers = "answers"
)

// Figures are counts beside the verdicts.
type Figures struct {
	// Outcomes counts operations of all kinds.
	Outcomes history.Counts
	// RawBytes are the rows' bare values; Size is what the database says that they take.
	Rows, RawBytes int64
	Size           store.Size
	// Unsure counts answers that a write of unknown outcome makes undecidable.
	Unsure int64
	// Cold is true if a round of queries began with empty caches.
	Cold bool
	// Rounds are by name.
	Rounds map[string]RoundFigures
}

// RoundFigures are of a round's answered operations.
type RoundFigures struct {
	Answers, Rows, Bytes int64
	// Nanos is from the first start to the last end, Busy the sum of times.
	Nanos, Busy int64
	first, last int64
}

// Judgement is the judgement of a run.
type Judgement struct {
	Results []check.Result
	Figures Figures
}

// Judge judges a run by its files alone. It reads the history twice. A missing or cut state
// gives an unknown verdict, malformed files a *history.FormatError.
func Judge(config Config, seed uint64, e definition.Evidence) (Judgement, error) {
	j := &judge{
		config: config, evidence: e, queries: queries{NewGenerator(config, seed), config},
		batches: make([]history.Outcome, config.batches()), recorded: make([]bool, config.batches()),
		ingest: check.Result{Name: CheckIngest}, answers: check.Result{Name: CheckAnswers},
		figures: Figures{Rounds: map[string]RoundFigures{}},
	}
	for _, step := range []func() error{j.readWrites, j.readState, j.readAnswers} {
		if err := step(); err != nil {
			return Judgement{}, err
		}
	}
	j.concludeIngest()
	j.concludeAnswers()
	return Judgement{Results: []check.Result{j.ingest, j.answers}, Figures: j.figures}, nil
}

type judge struct {
	config   Config
	evidence definition.Evidence
	queries  queries
	// batches are the writes' outcomes; a killed tester's write is unknown.
	batches  []history.Outcome
	recorded []bool
	state    *state
	// missing says why rows may be missing; empty if none are.
	missing string

	ingest, answers check.Result
	acknowledged    int64 // candles
	asked, answered int64
	figures         Figures
}

func (j *judge) malformed(op *history.Op, what string) error {
	return &history.FormatError{Path: j.evidence.History,
		Reason: fmt.Sprintf("operation %d of client %d %s", op.Seq, op.Client, what)}
}

func (j *judge) readWrites() error {
	_, err := history.Read(j.evidence.History, history.Visitor{Op: func(op *history.Op) error {
		if !op.Last {
			return j.malformed(op, "was repeated, which this workload does not do")
		}
		j.figures.Outcomes.Add(op.Final, 1)
		if op.Kind != KindInsert {
			return nil
		}
		if len(op.Values) != 1 || op.Values[0] < 0 || op.Values[0] >= int64(len(j.batches)) || j.recorded[op.Values[0]] {
			return j.malformed(op, "is no write that can be understood")
		}
		task := op.Values[0]
		j.batches[task], j.recorded[task] = op.Final, true
		if op.Final == history.Committed {
			first, end := j.config.batch(task)
			j.acknowledged += end - first
			j.enter(roundName(KindInsert, 0), op, Tally{Rows: end - first})
		}
		return nil
	}})
	return err
}

func (j *judge) enter(name string, op *history.Op, t Tally) {
	r, known := j.figures.Rounds[name]
	if !known {
		r.first = op.Start
	}
	r.first, r.last = min(r.first, op.Start), max(r.last, op.End)
	r.Answers, r.Rows, r.Bytes = r.Answers+1, r.Rows+t.Rows, r.Bytes+t.Bytes
	r.Nanos, r.Busy = r.last-r.first, r.Busy+op.End-op.Start
	j.figures.Rounds[name] = r
}

func (j *judge) readState() error {
	s, err := loadState(j.evidence.State, j.config)
	why, err := history.WhyMissing(err)
	if why != "" || err != nil {
		j.missing = why
		return err
	}
	j.state, j.missing = s, j.evidence.InFlight
	j.figures.Rows, j.figures.RawBytes, j.figures.Size = s.rows, s.bytes, s.size
	return nil
}

func (j *judge) readAnswers() error {
	expectations := newExpectations(j.queries, j.batches)
	_, err := history.Read(j.evidence.History, history.Visitor{Op: func(op *history.Op) error {
		if op.Kind != KindLatest && op.Kind != KindInterval && op.Kind != KindDay {
			return nil
		}
		v := op.Values
		answered := op.Final == history.Committed
		if len(v) < 2 || answered && len(v) != 5 || v[0] < passFirst || v[0] > passWarm || v[1] < 0 || v[1] >= j.queries.tasks(op.Kind) {
			return j.malformed(op, "is no query that can be understood")
		}
		j.figures.Cold = j.figures.Cold || v[0] == passCold
		j.asked++
		if !answered {
			return nil
		}
		j.answered++
		got := Tally{Rows: v[2], Sum: uint64(v[3]), Bytes: v[4]}
		j.enter(roundName(op.Kind, v[0]), op, got)
		q := j.queries.at(op.Kind, v[1])
		want := expectations.expectedOf(q)
		switch found := want.judge(got); found {
		case answerRight:
		case answerUnsure:
			j.figures.Unsure++
		case answerCut, answerOther:
			j.answers.AddIf(j.evidence.Promise != PromiseEventual, j.wrong(op, found, q, want, got))
		default:
			j.answers.Add(j.wrong(op, found, q, want, got))
		}
		return nil
	}})
	return err
}

func (j *judge) wrong(op *history.Op, found verdict, q query, want expected, got Tally) check.Evidence {
	what := map[verdict]string{
		answerCut:     "fewer rows than were acknowledged, and no error",
		answerForeign: "more rows than were written",
		answerAltered: "as many rows as were written, but not the same",
		answerOther:   "as many rows as are due, but not the same: a row is altered, or one is missing and another is in its place",
	}[found]
	asked := fmt.Sprintf("all candles of day %d", op.Values[1])
	fields := map[string]int64{"client": int64(op.Client), "seq": int64(op.Seq), "task": op.Values[1], "start_ns": op.Start, "end_ns": op.End,
		"rows": got.Rows, "least_rows": want.least.Rows, "most_rows": want.most.Rows, "sum": int64(got.Sum), "from": q.from, "to": q.to}
	switch q.kind {
	case KindLatest:
		asked = fmt.Sprintf("the last %s of %s", check.Counted(q.limit, "candle", "candles"), j.queries.Ticker(q.ticker))
	case KindInterval:
		asked = fmt.Sprintf("the candles of %s from %d to %d", j.queries.Ticker(q.ticker), q.from, q.to)
	}
	expected := check.Count(want.least.Rows)
	if want.most.Rows > want.least.Rows {
		expected += " to " + check.Count(want.most.Rows)
	}
	return check.Evidence{Kind: string(found), Fields: fields,
		Text: fmt.Sprintf("at %.3f s query %d (%s) for %s returned %s where %s are due: %s",
			float64(op.Start)/1e9, op.Values[1], roundName(op.Kind, op.Values[0]), asked, check.Counted(got.Rows, "row", "rows"), expected, what)}
}

// concludeIngest compares the rows with the acknowledged batches.
func (j *judge) concludeIngest() {
	r := &j.ingest
	if j.state == nil {
		r.Detail = "nothing can be said: " + j.missing
		return
	}
	var altered, doubled, unknownThere int64
	for _, b := range j.state.batches {
		altered, doubled = altered+b.altered, doubled+b.doubled
	}
	j.wrongRows(wrongAltered, altered, "altered", "is not as it was written")
	j.wrongRows(wrongDoubled, doubled, "doubled", "is there more than once")
	j.wrongRows(wrongForeign, j.state.foreign, "foreign", "is there, and no candle of this run has such an id")
	for i, b := range j.state.batches {
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

// wrongRows adds the found rows of a kind, of which the state names a few.
func (j *judge) wrongRows(which int, found int64, kind, what string) {
	for _, id := range j.state.wrong[which] {
		j.ingest.Add(check.Evidence{Kind: kind, Text: fmt.Sprintf("candle %d %s", id, what), Fields: map[string]int64{"id": id}})
	}
	j.ingest.AddUnlisted(kind, found-int64(len(j.state.wrong[which])))
}

func (j *judge) batchEvidence(kind string, batch, rows int64, what string) check.Evidence {
	first, end := j.config.batch(batch)
	return check.Evidence{Kind: kind, Text: fmt.Sprintf("batch %d (candles %d to %d) %s", batch, first, end-1, what),
		Fields: map[string]int64{"batch": batch, "first": first, "rows": rows, "due": end - first, "missing": j.state.missing[batch]}}
}

func (j *judge) concludeAnswers() {
	r := &j.answers
	r.Detail = fmt.Sprintf("%s of %s answered; ", check.Count(j.answered), check.Counted(j.asked, "query was", "queries were"))
	if r.Found > 0 {
		r.Detail += check.Counted(r.Found, "answer is", "answers are") + " not what was written"
	} else {
		r.Detail += "no answer is other than what was written"
	}
	unsure := ""
	if j.figures.Unsure > 0 {
		unsure = fmt.Sprintf("of %s nothing can be said, since batches without an answer may belong to them", check.Count(j.figures.Unsure))
	}
	if j.answered == 0 {
		r.Detail = check.Counted(j.asked, "query was", "queries were") + " made"
		r.Finish("", true, "none was answered, so that nothing can be said")
		return
	}
	r.Finish(unsure, j.acknowledged == 0, "nothing had been acknowledged before, so that nothing can be said")
}
