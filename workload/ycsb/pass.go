package ycsb

import (
	"math"

	"assay/history"
)

// write is a version. With initial versions, writes have the zones that decide (register.Zone).
type write struct {
	version version
	unit    int64
	// start is the write's begin. Of the operations that wrote or read the version, ends is the
	// first end (never if none did) and begins the last begin.
	start, ends, begins int64
	// firstBy and lastBy are these two operations.
	firstBy, lastBy             version
	acknowledged, failed, there bool
	// origin is nil unless sessions are judged and the writing session is known.
	origin *origin
}

// certain reports whether the version was certainly the record's at some time.
func (w *write) certain() bool { return w.ends != never }

// opening describes the version that a unit had before the run.
type opening struct {
	begins int64 // when the last operation began that read it
	by     version
	// final is the version at the end, or unread.
	final version
}

// unread: no record was read back.
const unread = math.MinInt64

// pass judges the records whose number is index modulo of.
type pass struct {
	*judge
	index, of int64
	clients   map[int]*clientWrites
	// possible are versions that were read but have no record in the history.
	possible map[possible]*write
	openings []opening
	// sessions is nil if linearizability is promised.
	sessions *sessions
	// sorted are all records' numbers by key, in the first pass over a run with scans.
	sorted []int64
	// inserts are the writes of records with fixed content.
	inserts map[int64]*write
	// gone is one above the number of the missing record reported last.
	gone int64
}

type clientWrites struct {
	writes []write
	// at is, by operation, one above the index of its first write; 0 if there is none.
	at []uint32
}

type possible struct {
	version version
	unit    int64
}

func newPass(j *judge, index, of int64) *pass {
	p := &pass{judge: j, index: index, of: of, clients: map[int]*clientWrites{}, possible: map[possible]*write{}, inserts: map[int64]*write{},
		openings: make([]opening, (j.limit-index+of-1)/of*j.units())}
	for i := range p.openings {
		p.openings[i] = opening{begins: unread, final: unread}
	}
	p.sessions = newSessions(p)
	return p
}

func (p *pass) mine(number int64) bool {
	return number >= 0 && number < p.limit && number%p.of == p.index
}

// place is the index of a unit among those of this pass; unitAt is its inverse.
func (p *pass) place(unit int64) int64 {
	units := p.units()
	return unit/units/p.of*units + unit%units
}

func (p *pass) unitAt(place int64) int64 {
	units := p.units()
	return (place/units*p.of+p.index)*units + place%units
}

func (p *pass) opening(unit int64) *opening { return &p.openings[p.place(unit)] }

// run judges. Figures of reads that occur in two readings count in the first.
func (p *pass) run() error {
	if _, err := history.Read(p.evidence.History, history.Visitor{Op: func(op *history.Op) error {
		p.wrote(op)
		return nil
	}}); err != nil {
		return err
	}
	if p.index == 0 {
		p.sortKeys()
	}
	if _, err := history.Read(p.evidence.History, history.Visitor{Op: func(op *history.Op) error {
		p.returned(op)
		return nil
	}}); err != nil {
		return err
	}
	p.sessions.judgeAll()
	if err := p.readState(); err != nil {
		return err
	}
	p.finish()
	return nil
}

func (p *pass) returned(op *history.Op) {
	if p.index == 0 && op.Last {
		p.figures.Outcomes.Add(op.Final, 1)
		if op.Kind != KindRead && op.Kind != KindScan {
			p.figures.Writes.Add(op.Final, 1)
		}
	}
	if op.Outcome != history.Committed {
		p.sessions.endOf(op.Client)
	}
	if len(op.Values) == 0 {
		return
	}
	a := p.decoded(op)
	if op.Kind == KindScan && !a.answered {
		return
	}
	if op.Kind == KindScan && p.index == 0 {
		p.scan(op, &a)
	}
	for _, f := range a.found {
		p.observe(op, f, op.Start, op.End-a.since)
	}
	if op.Outcome == history.Committed && a.writes && p.mine(a.number) {
		v, ok := versionOf(op.Client, op.Seq, op.Attempt)
		if p.figures.Acknowledged++; ok && !p.fixed {
			for unit := a.writeFrom; unit < a.writeTo; unit++ {
				w := p.find(v, a.number*p.units()+unit)
				p.sessions.enter(op, w.unit, w, w.start, op.End, true)
			}
		}
	}
}

// observe judges what an operation found of a record. Absence is one version for all units.
func (p *pass) observe(op *history.Op, f found, start, end int64) {
	if !p.mine(f.number) {
		return
	}
	p.figures.Compared++
	if p.fixed && p.existing && f.number < p.core.records {
		return // what was there says nothing
	}
	units := p.units()
	if version(f.versions[0]) == absent {
		p.observeAbsent(op, f.number, start, end)
		return
	}
	for i, v := range f.versions {
		p.observeUnit(op, f.number*units+f.first+int64(i), version(v), start, end)
	}
}

func (p *pass) observeAbsent(op *history.Op, number, start, end int64) {
	if p.loaded(number) {
		p.figures.Missing++
		p.linearizable.AddIf(p.promised, p.readEvidence(kindMissing, op, number*p.units(), absent, "although it was loaded, and nothing removes records"))
		return
	}
	for unit := range p.units() {
		p.observeUnit(op, number*p.units()+unit, absent, start, end)
	}
}

// isInitial reports whether a unit may have had a version before the run. An existing table may
// hold what this run writes later, from a run with the same seed.
func (p *pass) isInitial(unit int64, v version, end int64) bool {
	if !p.existing {
		return v == p.initial(unit)
	}
	if v == others || v == absent {
		return true
	}
	w := (*write)(nil)
	if v >= 0 {
		w = p.find(v, unit)
	}
	return v >= 0 && (w == nil || w.start > end)
}

func (p *pass) observeUnit(op *history.Op, unit int64, v version, start, end int64) {
	by, _ := versionOf(op.Client, op.Seq, op.Attempt)
	if p.isInitial(unit, v, end) {
		o := p.opening(unit)
		if start > o.begins {
			o.begins, o.by = start, by
		}
		p.sessions.enter(op, unit, nil, start, end, false)
		return
	}
	kind, why, w := p.wrong(v, unit)
	if kind == "" && w.start > end {
		kind, why = kindEarly, "the write of which began only afterwards"
	}
	if kind != "" {
		p.figures.Wrong++
		p.reads.Add(p.readEvidence(kind, op, unit, v, why))
		return
	}
	if end < w.ends {
		w.ends, w.firstBy = end, by
	}
	if start > w.begins {
		w.begins, w.lastBy = start, by
	}
	p.sessions.enter(op, unit, w, start, end, false)
}

// wrong judges a version that is not initial; kind is empty if it is right, and w is its write.
func (p *pass) wrong(v version, unit int64) (kind, why string, w *write) {
	switch {
	case v == mixed:
		return kindMixed, "whose fields are of several versions, though each write writes all", nil
	case v < 0:
		return kindGarbage, "with fields that nobody has written", nil
	}
	w = p.find(v, unit)
	switch {
	case w == nil:
		return kindForeign, "which no operation of this run has begun to write", nil
	case w.failed:
		return kindFailed, "the write of which had certainly failed", nil
	}
	return "", "", w
}
