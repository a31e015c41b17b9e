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

const (
	// CheckAcknowledged: every acknowledged record is there.
	CheckAcknowledged = "acknowledged"
	// CheckRows: an operation that did not fail inserted each record, once and as it is.
	CheckRows = "rows"
	// CheckReads: a read returns a record whose insert began before the read ended. If the
	// database promises it, no read misses a record acknowledged before it began.
	CheckReads = "reads"
)

// Checks describes the checks; one is the noun for a record, article its article.
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

// Figures are counts beside the verdicts.
type Figures struct {
	// Acknowledged includes loaded records; of them Lost are missing and Altered differ.
	Rows, Acknowledged, Lost, Altered int64
	// Duplicates counts operations with several records, Surplus the further records.
	Duplicates, Surplus int64
	// UnknownDone and FailedDone count unknown and failed operations that have a record.
	UnknownDone, FailedDone int64
	// Met counts operations whose retry met its own row, MetGone those whose row is gone.
	Met, MetGone int64
	// Answered counts reads of acknowledged records, Wrong answers that no client wrote.
	Answered, Wrong int64
	// Stale counts reads that missed a record acknowledged before and there in the end. StaleBy
	// is the longest time since such an acknowledgement, in nanoseconds. Missed counts reads of
	// lost records, Unsure reads of records that may be lost.
	Stale, StaleBy, Missed, Unsure int64
	// Missing says why records may be missing from what was read back, so that what was lost, done
	// twice or stale is not known; empty if none are.
	Missing string
}

// Observe returns a visitor that computes a workload's own figures for this scope. It gets every
// attempt and event in the order of the history.
type Observe func(measure.Scope) history.Visitor

// Judge judges a run by its files alone: CheckAcknowledged, CheckRows and CheckReads. It reads
// the history twice and keeps no state in memory. A missing or cut state gives unknown verdicts,
// malformed files a *history.FormatError.
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
	preset     *Preset
	evidence   definition.Evidence
	observe    Observe
	observer   history.Visitor
	operations *operations
	// missing says why rows of the state may be missing; empty if none are.
	missing string

	acknowledged, rows, reads check.Result
	figures                   Figures
}

// firstReading learns which operations began and how they ended.
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

func (j *judge) readState() error {
	why, err := history.WhyMissing(Replay(j.evidence.State, j.preset, func(got Observed) error {
		j.row(got)
		return nil
	}))
	j.missing = cmp.Or(why, j.evidence.InFlight)
	j.figures.Missing = j.missing
	return err
}

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

// secondReading names lost records, judges reads and feeds the workload's own figures.
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

// insert looks for the record that this attempt was acknowledged for.
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

// get judges an answered read.
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

// answer judges a record that a read returned.
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

// notFound judges a read that missed a record. CheckAcknowledged reports lost records.
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
