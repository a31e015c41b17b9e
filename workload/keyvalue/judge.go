package keyvalue

import (
	"cmp"

	"assay/check"
	"assay/history"
	"assay/measure"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

// The checks, as in a result.
const (
	// CheckAcknowledged: every record that was acknowledged is there.
	CheckAcknowledged = "acknowledged"
	// CheckRows: every record was inserted by an operation of this run that did
	// not fail, once and as it is.
	CheckRows = "rows"
	// CheckReads: what a read returned is a record of this run that was being
	// inserted before the read ended; and where the database promises it, no
	// read misses what was acknowledged before it began.
	CheckReads = "reads"
)

// Checks are these, of a workload whose records are called one, with its article.
func Checks(article, one string) []definition.Check {
	return []definition.Check{
		{Name: CheckAcknowledged, Asserts: "Every " + one + " that was acknowledged is there in the end, as it was written.",
			Kinds: map[string]promise.Property{"lost": promise.Durability}},
		{Name: CheckRows, Asserts: "Every " + one + " that is there was written by an operation of this run that did not fail, once.",
			Kinds: map[string]promise.Property{"failed": promise.Atomicity}},
		{Name: CheckReads, Asserts: "A read returns " + article + " " + one + " that this run had begun to write before the read ended. Where the database promises it, no read misses what was acknowledged before it began.",
			Kinds: map[string]promise.Property{"stale": promise.Recency}},
	}
}

// Figures are what is counted beside the verdicts.
type Figures struct {
	// Rows is how many records were read back, Acknowledged how many were
	// acknowledged, those that were loaded included. Of these Lost are not
	// there and Altered not as they were inserted.
	Rows, Acknowledged, Lost, Altered int64
	// Duplicates counts operations with more than one record, and Surplus the
	// records beyond the first of each.
	Duplicates, Surplus int64
	// UnknownDone counts operations that ended unknown and have a record;
	// FailedDone those that ended as failed and have one all the same.
	UnknownDone, FailedDone int64
	// Met counts operations that a repetition ended by meeting its own row, and MetGone
	// those whose row is not there in the end.
	Met, MetGone int64
	// Answered counts the reads of acknowledged records that were answered,
	// Wrong the answers that nobody had written.
	Answered, Wrong int64
	// Stale counts reads that missed a record acknowledged before they began
	// and there in the end; StaleBy is the longest that such a record had then
	// been acknowledged, in nanoseconds. Missed counts reads that missed a
	// record that was lost, and Unsure those of which that cannot be told
	// apart.
	Stale, StaleBy, Missed, Unsure int64
}

// Observe returns what takes a workload's own figures while a run is judged, whose
// scope was this: every attempt and every event, in the order of their records.
type Observe func(measure.Scope) history.Visitor

// Judge judges a run by its files alone, so that it can be done again at any
// time. It returns the results of CheckAcknowledged, CheckRows and CheckReads. It
// reads the history twice; the state is gone through and not kept. A missing or
// cut state gives verdicts of unknown; files that are malformed give a
// *history.FormatError.
func Judge(p *Preset, e definition.Evidence, observe Observe) ([]check.Result, Figures, error) {
	j := &judge{
		preset: p, evidence: e, observe: observe, operations: newOperations(p),
		acknowledged: check.Result{Name: CheckAcknowledged},
		rows:         check.Result{Name: CheckRows},
		reads:        check.Result{Name: CheckReads},
	}
	for _, step := range []func() error{j.firstReading, j.readState, j.secondReading} {
		if err := step(); err != nil {
			return nil, Figures{}, err
		}
	}
	j.loaded()
	j.count()
	j.summarize()
	return []check.Result{j.acknowledged, j.rows, j.reads}, j.figures, nil
}

type judge struct {
	preset   *Preset
	evidence definition.Evidence
	observe  Observe
	// observer is what observe returned.
	observer   history.Visitor
	operations *operations
	// missing says why the state is not all there is to know; empty if it is.
	missing string

	acknowledged, rows, reads check.Result
	figures                   Figures
}

// firstReading learns what was begun and how it ended.
func (j *judge) firstReading() error {
	var scope measure.ScopeFinder
	ending, err := history.Read(j.evidence.History, history.Visitor{
		Op: func(op *history.Op) error {
			scope.Ended(op.End)
			if op.Kind != KindInsert && op.Kind != KindGet && op.Kind != KindProbe {
				return nil
			}
			if err := j.operations.enter(op); err != nil {
				return &history.FormatError{Path: j.evidence.History, Reason: err.Error()}
			}
			return nil
		},
		Reservation: func(r history.Reservation) error {
			j.operations.client(r.Client).Reserved = r.UpTo
			return nil
		},
		Event: scope.Event,
	})
	j.operations.close(ending.Whole)
	j.observer = j.observe(scope.Scope())
	return err
}

// readState goes through the records.
func (j *judge) readState() error {
	why, err := history.WhyMissing(Replay(j.evidence.State, j.preset, func(got Observed) error {
		j.row(got)
		return nil
	}))
	j.missing = cmp.Or(why, j.evidence.InFlight)
	return err
}

// row judges one record as read back.
func (j *judge) row(got Observed) {
	j.figures.Rows++
	if j.preset.Unnumbered && got.Number < 0 {
		j.rows.Add(j.unnumbered(got))
		return
	}
	from, c, at := j.operations.find(got.Number)
	before := from == recorded && c.records[at].there() || from == unrecorded && j.operations.unrecorded[got.Number]
	switch {
	case from == foreign:
		j.rows.Add(j.rowEvidence(kindForeign, got, "is there, and no client of this run has begun to write it"))
		return
	case before:
		j.rows.Add(j.rowEvidence(kindDoubled, got, "is there more than once"))
	case from == recorded && c.records[at].noEffect():
		j.rows.Add(j.rowEvidence(kindFailed, got, "is there, although its write had certainly failed"))
	}
	want := j.preset.Digest(got.Number)
	altered := got.Digest != want
	if altered {
		j.rows.Add(wanted(j.rowEvidence(kindAltered, got, "is there "+j.preset.Difference(got.Digest, want)), want))
	}
	if from == unrecorded {
		j.operations.unrecorded[got.Number] = true
		return
	}
	c.records[at] |= thereBit
	if altered {
		c.records[at] |= alteredBit
	}
}

// secondReading knows what is there: it names what was lost, judges the reads
// and has the workload's own figures taken.
func (j *judge) secondReading() error {
	_, err := history.Read(j.evidence.History, history.Visitor{
		Op: func(op *history.Op) error {
			if err := j.observer.Op(op); err != nil {
				return err
			}
			switch op.Kind {
			case KindInsert:
				j.insert(op)
			case KindGet, KindProbe:
				if op.Outcome == history.Committed {
					return j.get(op)
				}
			}
			return nil
		},
		Event: j.observer.Event,
	})
	return err
}

// insert looks whether what this attempt was acknowledged for is there.
func (j *judge) insert(op *history.Op) {
	done := op.Last && op.Final == history.Committed && !j.preset.PerAttempt
	met := op.Error == store.ClassMet
	if op.Outcome != history.Committed && !done && !met {
		return
	}
	number, ok := j.preset.number(op.Client, op.Seq, op.Attempt)
	from, c, at := j.operations.find(number)
	switch {
	case !ok || from != recorded:
	case !met:
		j.kept(op, number, c.records[at])
	case j.missing == "" && !c.records[at].there():
		j.figures.MetGone++
		fallthrough
	default:
		j.figures.Met++
	}
}

// loaded looks whether what was there before the run still is.
func (j *judge) loaded() {
	if j.preset.Loaded == 0 {
		return
	}
	for seq, s := range j.operations.clients[j.preset.Loader].records {
		number, _ := j.preset.number(j.preset.Loader, uint64(seq), 0)
		j.kept(nil, number, s)
	}
}

// kept judges an acknowledged record; op is nil if it was loaded.
func (j *judge) kept(op *history.Op, number int64, s status) {
	switch {
	case j.missing != "":
	case !s.there():
		j.figures.Lost++
		var began, acknowledged int64 // before the run, if it was loaded
		if op != nil {
			began, acknowledged = op.Start, op.End
		}
		if _, allowed := j.evidence.Losses.Add(began, acknowledged); !allowed {
			j.acknowledged.Add(j.lost(op, number))
		}
	case s&alteredBit != 0 && j.preset.AsWritten:
		j.figures.Altered++
		j.acknowledged.Add(j.evidenceOf(kindAltered, number, "was acknowledged and is not there as it was written"))
	}
}

// get judges one read that was answered.
func (j *judge) get(op *history.Op) error {
	v := op.Values
	if len(v) != 2 && len(v) != 4 || j.preset.Unnumbered && !j.preset.numbered(v[0]) {
		return &history.FormatError{Path: j.evidence.History, Reason: "a read that cannot be understood"}
	}
	if op.Kind == KindGet {
		j.figures.Answered++
	}
	if len(v) == 2 {
		if op.Kind == KindGet {
			j.notFound(op, v[0], v[1])
		}
		return nil
	}
	got := Observed{Number: v[0], Digest: Digest{v[2], v[3]}}
	if !j.preset.Hashed {
		got = Observed{Number: v[2], Digest: Digest{v[3]}}
	}
	if e, wrong := j.answer(op, v[0], got); wrong {
		j.figures.Wrong++
		j.reads.Add(e)
	}
	return nil
}

// answer judges what a read for a number returned.
func (j *judge) answer(op *history.Op, asked int64, got Observed) (e check.Evidence, wrong bool) {
	from, c, at := j.operations.find(got.Number)
	if from == foreign {
		return j.readEvidence(kindForeign, op, got, "which no client of this run has begun to write"), true
	}
	want := j.preset.Digest(got.Number)
	switch {
	case got.Number != asked:
		return j.readEvidence(kindOther, op, got, "although it had asked for another key"), true
	case got.Digest != want:
		return wanted(j.readEvidence(kindAltered, op, got, j.preset.Difference(got.Digest, want)), want), true
	case from == recorded && c.records[at].noEffect():
		return j.readEvidence(kindFailed, op, got, "the write of which had certainly failed"), true
	case from == recorded && c.starts != nil && int64(c.starts[at]) > op.End/1e6:
		return j.readEvidence(kindEarly, op, got, "the write of which began only afterwards"), true
	}
	return check.Evidence{}, false
}

// notFound judges a read that missed a record acknowledged age nanoseconds before
// it began. One that is not there in the end either was lost, which is another
// check's finding.
func (j *judge) notFound(op *history.Op, number, age int64) {
	switch {
	case j.missing != "":
		j.figures.Unsure++
		return
	case !j.operations.there(number):
		j.figures.Missed++
		return
	}
	j.figures.Stale++
	j.figures.StaleBy = max(j.figures.StaleBy, age)
	j.reads.AddIf(j.preset.Linearizable && j.evidence.Promise == store.Linearizable, j.stale(op, number, age))
}
