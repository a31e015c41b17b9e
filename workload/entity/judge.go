package entity

import (
	"cmp"

	"assay/check"
	"assay/history"
)

// The checks of this workload, as in a result.
const (
	// CheckAcknowledged: every entity that was acknowledged is there, and all
	// seven fields are as they were written.
	CheckAcknowledged = "acknowledged"
	// CheckRows: every entity that is there was written by an operation of this
	// run that did not fail, once and as it is.
	CheckRows = "rows"
	// CheckReads: every read returned what was written; and where the database
	// promises it, none missed what was acknowledged before it began.
	CheckReads = "reads"
)

// Evidence names the files that a run is judged by, and what is known beside
// them.
type Evidence struct {
	// History and State are paths; State is what Save wrote.
	History, State string
	// Promise is what Work.Promise said.
	Promise string
	// InFlight, if not empty, says why writes may have been in flight when the
	// state was read, or why it may not be all.
	InFlight string
}

// Judgement is what the files of one run say.
type Judgement struct {
	// Results are those of CheckAcknowledged, CheckRows and CheckReads, the
	// last only if the mix has reads.
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
		config: config, seed: seed, evidence: e, books: newBooks(config.Entities),
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
	if config.WriteShare < 1 {
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
	// from and to bound the measured part.
	from, to int64

	acknowledged, rows, reads check.Result
	figures                   Figures
}

// firstReading learns what was begun and how it ended.
func (j *judge) firstReading() error {
	last := int64(0)
	ending, err := history.Read(j.evidence.History, history.Visitor{
		Op: func(op *history.Op) error {
			last = max(last, op.End)
			if err := j.books.op(op); err != nil {
				return &history.FormatError{Path: j.evidence.History, Reason: err.Error()}
			}
			return nil
		},
		Reservation: func(r history.Reservation) error {
			j.books.client(r.Client).reserved = r.UpTo
			return nil
		},
		Event: func(e history.Event) error {
			switch e.Name {
			case history.EventMeasureStart:
				j.from = e.At
			case history.EventMeasureEnd:
				j.to = e.At
			}
			return nil
		},
	})
	if j.to == 0 { // it was cut
		j.to = last
	}
	j.books.close(ending.Whole)
	return err
}

// readState goes through the entities.
func (j *judge) readState() error {
	why, err := history.WhyMissing(Replay(j.evidence.State, func(row Row) error {
		j.row(row)
		return nil
	}))
	j.missing = cmp.Or(why, j.evidence.InFlight)
	return err
}

// row judges one entity as read back.
func (j *judge) row(row Row) {
	j.figures.Rows++
	if row.Key < 0 {
		j.rows.Add(stranger(row))
		return
	}
	p, s := j.books.find(row.Key)
	before := p == recorded && *s&thereBit != 0 || p == unrecorded && j.books.unrecorded[row.Key]
	switch {
	case p == foreign:
		j.rows.Add(foreignRow.of(row.Key, "is there, and no client of this run has begun to write it"))
		return
	case before:
		j.rows.Add(doubledRow.of(row.Key, "is there more than once"))
	case p == recorded && s.without():
		j.rows.Add(failedRow.of(row.Key, "is there, although its write had certainly failed"))
	}
	want := SumOf(Make(j.seed, row.Key))
	if row.Sum != want {
		j.rows.Add(altered(row.Key, row.Sum, want, "is there"))
	}
	if p == unrecorded {
		j.books.unrecorded[row.Key] = true
		return
	}
	*s |= thereBit
	if row.Sum != want {
		*s |= wrongBit
	}
}

// secondReading knows what is there: it judges the reads and takes the figures.
func (j *judge) secondReading() error {
	writes, reads := newPace(j.from, j.to), newPace(j.from, j.to)
	_, err := history.Read(j.evidence.History, history.Visitor{Op: func(op *history.Op) error {
		switch op.Kind {
		case KindPut:
			writes.op(op)
			j.put(op)
		case KindGet:
			reads.op(op)
			if op.Outcome == history.Committed {
				return j.get(op)
			}
		}
		return nil
	}})
	j.figures.Writes, j.figures.Reads = writes.flow(), reads.flow()
	return err
}

// put looks whether what an operation was acknowledged for is there.
func (j *judge) put(op *history.Op) {
	if !op.Last || op.Final != history.Committed || j.missing != "" {
		return
	}
	key, _ := Key(op.Client, op.Seq)
	_, s := j.books.find(key)
	switch {
	case *s&thereBit == 0:
		j.figures.Lost++
		j.acknowledged.Add(lost(op, key))
	case *s&wrongBit != 0:
		j.figures.Altered++
		j.acknowledged.Add(alteredRow.of(key, "was acknowledged and is not there as it was written"))
	}
}

// loaded looks whether what was there before the run still is.
func (j *judge) loaded() {
	for seq, s := range j.books.clients[loader].ops {
		key, _ := Key(loader, uint64(seq))
		switch {
		case j.missing != "":
			return
		case s&thereBit == 0:
			j.figures.Lost++
			j.acknowledged.Add(lostRow.of(key, "was acknowledged before the run began and is not there"))
		case s&wrongBit != 0:
			j.figures.Altered++
			j.acknowledged.Add(alteredRow.of(key, "was acknowledged before the run began and is not there as it was written"))
		}
	}
}

// get judges one read that was answered.
func (j *judge) get(op *history.Op) error {
	v := op.Values
	if len(v) != 2 && len(v) != 4 || v[0] < 0 || v[0] >= 1<<keyBits {
		return &history.FormatError{Path: j.evidence.History, Reason: "a read that cannot be understood"}
	}
	j.figures.Answered++
	if len(v) == 2 {
		j.notFound(op, v[0], v[1])
		return nil
	}
	got, want := Sum{All: v[2], Parts: v[3]}, SumOf(Make(j.seed, v[0]))
	if got != want {
		j.figures.Wrong++
		j.reads.Add(alteredRead(op, v[0], got, want))
	}
	return nil
}

// notFound judges a read that missed an entity acknowledged age nanoseconds
// before it began. One that is not there in the end either was lost, which is
// another check's finding.
func (j *judge) notFound(op *history.Op, key, age int64) {
	switch {
	case j.missing != "":
		j.figures.Unsure++
		return
	case !j.books.there(key):
		j.figures.Missed++
		return
	}
	j.figures.Stale++
	j.figures.StaleBy = max(j.figures.StaleBy, age)
	if j.evidence.Promise == PromiseLinearizable {
		j.reads.Add(stale(op, key, age))
	}
}
