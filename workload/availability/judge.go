package availability

import (
	"cmp"

	"assay/check"
	"assay/history"
)

// The checks of this workload, as in a result.
const (
	// CheckAcknowledged: every insert that was acknowledged is there.
	CheckAcknowledged = "acknowledged"
	// CheckRows: every row was written by an insert of this run that did not
	// fail, once and as it is.
	CheckRows = "rows"
	// CheckReads: what a read returned is a row of this run's that was being
	// written before the read ended; and where the database promises it, no
	// read misses what was acknowledged before it began.
	CheckReads = "reads"
)

// Evidence names the files that a run is judged by, and what is known beside
// them.
type Evidence struct {
	// History and State are paths; State is what Save wrote.
	History, State string
	// Promise is what Work.Promise said.
	Promise string
	// InFlight, if not empty, says why inserts may have been in flight when
	// the state was read, or why it may not be all.
	InFlight string
}

// Judgement is what the files of one run say.
type Judgement struct {
	// Results are those of CheckAcknowledged, CheckRows and, if there were
	// readers, CheckReads.
	Results []check.Result
	Figures Figures
}

// Judge judges a run by its files alone, so that it can be done again at any
// time. It reads the history twice. A missing or cut state gives verdicts of
// unknown; files that are malformed give a *history.FormatError.
func Judge(config Config, seed uint64, e Evidence) (Judgement, error) {
	if err := config.Validate(); err != nil {
		return Judgement{}, err
	}
	j := &judge{
		config: config, seed: seed, evidence: e, books: newBooks(config.Policy),
		acknowledged: check.Result{Name: CheckAcknowledged},
		rows:         check.Result{Name: CheckRows},
		reads:        check.Result{Name: CheckReads},
	}
	for _, step := range []func() error{j.firstReading, j.readState, j.secondReading} {
		if err := step(); err != nil {
			return Judgement{}, err
		}
	}
	j.count()
	j.conclude()
	out := Judgement{Results: []check.Result{j.acknowledged, j.rows}, Figures: j.figures}
	if config.reads() {
		out.Results = append(out.Results, j.reads)
	}
	return out, nil
}

type judge struct {
	config   Config
	seed     uint64
	evidence Evidence
	books    *books
	// missing says why the state is not all there is to know; empty if it is.
	missing string

	acknowledged, rows, reads check.Result
	figures                   Figures
	writing, reading          flow
}

// firstReading learns what was begun and how it ended.
func (j *judge) firstReading() error {
	ending, err := history.Read(j.evidence.History, history.Visitor{
		Op: func(op *history.Op) error {
			if op.Kind == KindGet || op.Kind == KindProbe {
				j.books.writer(op.Client).reads = true
				return nil
			}
			if op.Kind != KindInsert {
				return nil
			}
			if err := j.books.insert(op); err != nil {
				return &history.FormatError{Path: j.evidence.History, Reason: err.Error()}
			}
			return nil
		},
		Reservation: func(r history.Reservation) error {
			j.books.writer(r.Client).reserved = r.UpTo
			return nil
		},
	})
	j.books.close(ending.Whole)
	return err
}

// readState goes through the rows.
func (j *judge) readState() error {
	why, err := history.WhyMissing(Replay(j.evidence.State, func(row Row) error {
		j.row(row)
		return nil
	}))
	j.missing = cmp.Or(why, j.evidence.InFlight)
	return err
}

// row judges one row as read back.
func (j *judge) row(row Row) {
	j.figures.Rows++
	p, w, at := j.books.find(row.Key)
	before := p == recorded && w.keys[at].there() || p == unrecorded && j.books.unrecorded[row.Key]
	switch {
	case p == foreign:
		j.rows.Add(foreignRow.of(row, "is there, and no client of this run has begun to insert it"))
		return
	case before:
		j.rows.Add(doubledRow.of(row, "is there more than once"))
	case p == recorded && w.keys[at].without():
		j.rows.Add(failedRow.of(row, "is there, although its insert had certainly failed"))
	}
	if want := Value(j.seed, row.Key); row.Value != want {
		j.rows.Add(alteredRow.wanted(row, want, "is there"))
	}
	if p == recorded {
		w.keys[at] |= thereBit
	} else {
		j.books.unrecorded[row.Key] = true
	}
}

// secondReading knows what is there: it names what was lost, judges the reads
// and takes the figures.
func (j *judge) secondReading() error {
	_, err := history.Read(j.evidence.History, history.Visitor{
		Op: func(op *history.Op) error {
			switch op.Kind {
			case KindInsert:
				j.figures.write(op)
				j.insert(op)
				j.writing.op(op)
			case KindGet, KindProbe:
				j.figures.read(op)
				j.reading.op(op)
				if op.Outcome == history.Committed {
					return j.get(op)
				}
			}
			return nil
		},
		Event: func(e history.Event) error {
			if e.Name == history.EventMeasureEnd {
				j.writing.end(e.At)
				j.reading.end(e.At)
			}
			return nil
		},
	})
	j.figures.WriteOutage, j.figures.ReadOutage = j.writing.longest, j.reading.longest
	return err
}

// insert looks whether what this attempt was acknowledged for is there.
func (j *judge) insert(op *history.Op) {
	done := op.Last && op.Final == history.Committed && j.config.Policy == PolicyIdempotent
	if op.Outcome != history.Committed && !done {
		return
	}
	key, _ := j.config.Policy.key(op.Client, op.Seq, op.Attempt)
	if j.missing != "" || j.books.there(key) {
		return
	}
	j.figures.Lost++
	j.acknowledged.Add(lostRow(op, key))
}

// get judges one read that was answered.
func (j *judge) get(op *history.Op) error {
	v := op.Values
	if len(v) != 2 && len(v) != 4 {
		return &history.FormatError{Path: j.evidence.History, Reason: "a read that cannot be understood"}
	}
	if op.Kind == KindProbe {
		j.figures.Probes++
	}
	if len(v) == 2 {
		if op.Kind == KindGet {
			j.notFound(op, v[0], v[1])
		}
		return nil
	}
	row := Row{Key: v[2], Value: v[3]}
	p, w, at := j.books.find(row.Key)
	switch {
	case p == foreign:
		j.reads.Add(foreignRow.read(op, row, "which no client of this run has begun to insert"))
	case row.Key != v[0]:
		j.reads.Add(otherRow.read(op, row, "although it had asked for another key"))
	case row.Value != Value(j.seed, row.Key):
		j.reads.Add(alteredRow.read(op, row, "which was never written so"))
	case p == recorded && w.keys[at].without():
		j.reads.Add(failedRow.read(op, row, "the insert of which had certainly failed"))
	case p == recorded && int64(w.starts[at]) > op.End/1e6:
		j.reads.Add(earlyRow.read(op, row, "the insert of which began only afterwards"))
	}
	return nil
}

// notFound judges a read that missed a row acknowledged age nanoseconds before
// it began. A row that is not there in the end either was lost, which is
// another check's finding.
func (j *judge) notFound(op *history.Op, key, age int64) {
	if j.missing != "" {
		j.figures.Unsure++
		return
	}
	if !j.books.there(key) {
		j.figures.Missed++
		return
	}
	j.figures.stale(age)
	if j.fresh() {
		j.reads.Add(staleRead(op, key, age))
	}
}
