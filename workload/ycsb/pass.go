package ycsb

import (
	"math"

	"assay/history"
	"assay/store"
	"assay/workload/keyvalue"
)

// write is one version that was written, and what is known of it: with the initial
// versions these are the values whose zones decide (register.Zone).
type write struct {
	version version
	record  int64
	// start is when its write began, ends when the first of the operations that wrote
	// or read it ended (never if none did), begins when the last of them began.
	start, ends, begins int64
	// firstBy and lastBy are these two operations, as versions.
	firstBy, lastBy             version
	acknowledged, failed, there bool
}

// certain reports whether the version was the record's at some time.
func (w *write) certain() bool { return w.ends != never }

// opening is what is known of the version that a record had before the run.
type opening struct {
	begins int64 // when the last operation began that read it
	by     version
	// final is the version at the end; unread if no record was read back.
	final version
}

// unread is the version of a record that was not read back.
const unread = math.MinInt64

// pass judges the records whose number is index modulo of.
type pass struct {
	*judge
	index, of int64
	clients   map[int]*clientWrites
	// possible are versions without a record in the history that somebody read.
	possible map[version]*write
	openings []opening
	// newest is the newest version that a client has read or written of a record,
	// where sessions are looked at.
	newest map[session]newest
	// sorted are the numbers of all records by their keys, in the first pass over a
	// run that scans.
	sorted []int64
}

// clientWrites are the writes of one client, in their order.
type clientWrites struct {
	writes []write
	// at is for each operation one more than where its first write is; 0 if it has
	// none.
	at []uint32
}

type session struct{ client, record int64 }

// newest is a version, nil for the initial one, and whether the client wrote it.
type newest struct {
	write *write
	own   bool
}

func newPass(j *judge, index, of int64) *pass {
	p := &pass{judge: j, index: index, of: of, clients: map[int]*clientWrites{}, possible: map[version]*write{},
		openings: make([]opening, (j.limit-index+of-1)/of)}
	for i := range p.openings {
		p.openings[i] = opening{begins: unread, final: unread}
	}
	if !j.promised {
		p.newest = map[session]newest{}
	}
	return p
}

// mine reports whether this pass judges a record.
func (p *pass) mine(number int64) bool {
	return number >= 0 && number < p.limit && number%p.of == p.index
}

func (p *pass) opening(number int64) *opening { return &p.openings[number/p.of] }

// run does all that is to be done. What is read twice is counted the first time.
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
	if err := p.readState(); err != nil {
		return err
	}
	p.finish()
	return nil
}

// wrote enters what an attempt may have written.
func (p *pass) wrote(op *history.Op) {
	if len(op.Values) == 0 || !writes(op) || !p.mine(op.Values[0]) {
		return
	}
	v, ok := versionOf(op.Client, op.Seq, op.Attempt)
	if !ok {
		return
	}
	c := p.clients[op.Client]
	if c == nil {
		c = &clientWrites{}
		p.clients[op.Client] = c
	}
	for uint64(len(c.at)) <= op.Seq {
		c.at = append(c.at, 0)
	}
	if c.at[op.Seq] == 0 {
		c.at[op.Seq] = uint32(len(c.writes) + 1)
	}
	w := write{version: v, record: op.Values[0], start: op.Start, ends: never, firstBy: v, lastBy: v}
	if op.Kind == KindReadModifyWrite {
		w.start += op.Values[2]
	}
	w.begins = w.start
	switch {
	case op.Outcome == history.Committed:
		w.acknowledged, w.ends = true, op.End
	case op.Last && op.Final == history.Committed && op.Attempt > 1:
		// This attempt found the record that an earlier one has inserted.
		w.failed = true
		p.insertedBefore(c, op)
	case op.Outcome != history.Unknown:
		w.failed = true
	}
	c.writes = append(c.writes, w)
}

// insertedBefore acknowledges the one unknown attempt of an operation that has turned
// out done. Of several it is not known which.
func (p *pass) insertedBefore(c *clientWrites, op *history.Op) {
	var one *write
	for i := int(c.at[op.Seq]) - 1; i < len(c.writes); i++ {
		if w := &c.writes[i]; !w.failed {
			if one != nil {
				return
			}
			one = w
		}
	}
	if one != nil {
		one.acknowledged, one.ends = true, op.End
	}
}

// find is the write of a version of a record; nil if no attempt of this run can have
// made it.
func (p *pass) find(v version, number int64) *write {
	client, seq, _ := v.split()
	if c := p.clients[client]; c != nil && seq < uint64(len(c.at)) && c.at[seq] > 0 {
		for i := int(c.at[seq]) - 1; i < len(c.writes); i++ {
			w := &c.writes[i]
			if w.version == v && w.record == number {
				return w
			}
			if w.version>>attemptBits != v>>attemptBits {
				break
			}
		}
	}
	if !p.unrecorded(v) {
		return nil
	}
	w := p.possible[v]
	if w == nil {
		w = &write{version: v, record: number, start: math.MinInt64, begins: math.MinInt64, ends: never, firstBy: v, lastBy: v}
		p.possible[v] = w
	}
	if w.record != number {
		return nil
	}
	return w
}

// returned judges what an attempt returned, and counts it.
func (p *pass) returned(op *history.Op) {
	if p.index == 0 && op.Last {
		p.figures.Outcomes.Add(op.Final, 1)
		if op.Kind != KindRead && op.Kind != KindScan {
			p.figures.Writes.Add(op.Final, 1)
		}
	}
	values := op.Values
	if len(values) == 0 {
		return
	}
	switch op.Kind {
	case KindRead, KindUpdate:
		if len(values) == 2 {
			p.observe(op, values[0], version(values[1]), op.Start, op.End)
		}
	case KindReadModifyWrite:
		if len(values) == 2 {
			p.observe(op, values[0], version(values[1]), op.Start, op.End)
		} else if len(values) == 4 {
			p.observe(op, values[0], version(values[1]), op.Start, op.End-values[3])
		}
	case KindScan:
		if len(values) < 2 || op.Outcome != history.Committed {
			return
		}
		if p.index == 0 {
			p.scan(op, values[1], values[2:])
		}
		for i := 2; i < len(values); i += 2 {
			p.observe(op, values[i], version(values[i+1]), op.Start, op.End)
		}
	}
	if op.Outcome == history.Committed && writes(op) && p.mine(values[0]) {
		if v, ok := versionOf(op.Client, op.Seq, op.Attempt); ok {
			p.figures.Acknowledged++
			p.remember(op, p.find(v, values[0]), true)
		}
	}
}

// observe judges what an operation that lasted from start to end found of a record.
func (p *pass) observe(op *history.Op, number int64, v version, start, end int64) {
	if !p.mine(number) {
		return
	}
	p.figures.Answered++
	by, _ := versionOf(op.Client, op.Seq, op.Attempt)
	if v == p.initial(number) {
		o := p.opening(number)
		if start > o.begins {
			o.begins, o.by = start, by
		}
		p.look(op, number, nil)
		return
	}
	if v == absent {
		p.figures.Missing++
		if p.promised {
			p.linearizable.Add(p.readEvidence(kindMissing, op, number, v, "although it was loaded, and nothing removes records"))
		}
		return
	}
	kind, why, w := p.wrong(v, number)
	if kind == "" && w.start > end {
		kind, why = kindEarly, "the write of which began only afterwards"
	}
	if kind != "" {
		p.figures.Wrong++
		p.reads.Add(p.readEvidence(kind, op, number, v, why))
		return
	}
	if end < w.ends {
		w.ends, w.firstBy = end, by
	}
	if start > w.begins {
		w.begins, w.lastBy = start, by
	}
	p.look(op, number, w)
}

// wrong says what is wrong with a version of a record that is not its initial one; kind
// is empty if nothing is, and w is its write.
func (p *pass) wrong(v version, number int64) (kind, why string, w *write) {
	switch {
	case v == mixed:
		return kindMixed, "whose fields are of several versions, though each write writes all", nil
	case v < 0:
		return kindGarbage, "with fields that nobody has written", nil
	}
	w = p.find(v, number)
	switch {
	case w == nil:
		return kindForeign, "which no operation of this run has begun to write", nil
	case w.failed:
		return kindFailed, "the write of which had certainly failed", nil
	}
	return "", "", w
}

// look counts a version that is older than what the same client has read or written
// before: written, or read by somebody, before the write of that began.
func (p *pass) look(op *history.Op, number int64, w *write) {
	if p.newest == nil {
		return
	}
	last, known := p.newest[session{int64(op.Client), number}]
	if known && last.write != nil && (w == nil || w.ends < last.write.start) {
		if last.own {
			p.figures.OwnWrites++
		} else {
			p.figures.Monotonic++
		}
		return
	}
	p.remember(op, w, false)
}

// remember keeps the newest version that a client knows.
func (p *pass) remember(op *history.Op, w *write, own bool) {
	if p.newest == nil || w == nil {
		return
	}
	at := session{int64(op.Client), w.record}
	if last, known := p.newest[at]; !known || last.write == nil || last.write.start < w.start {
		p.newest[at] = newest{w, own}
	}
}

// readState goes through the records that were read back.
func (p *pass) readState() error {
	err := keyvalue.Replay(p.evidence.State, preset(store.Schema{}, p.keys, p.contents), func(got keyvalue.Observed) error {
		if p.index == 0 {
			p.figures.Rows++
		}
		if got.Number < 0 || got.Number >= p.limit {
			if p.index == 0 {
				p.records.Add(p.foreignRecord(got))
			}
			return nil
		}
		if p.mine(got.Number) {
			p.row(got.Number, version(got.Digest[0]))
		}
		return nil
	})
	why, err := history.WhyMissing(err)
	if p.missing == "" {
		p.missing = why
	}
	return err
}

// row judges one record as it was read back.
func (p *pass) row(number int64, v version) {
	o := p.opening(number)
	if o.final != unread {
		p.records.Add(p.recordEvidence(kindDoubled, number, "is there more than once"))
		return
	}
	o.final = v
	if v == p.initial(number) {
		return
	}
	kind, why, w := p.wrong(v, number)
	switch {
	case kind != "":
		p.records.Add(p.recordEvidence(kind, number, "holds "+v.String()+", "+why))
		o.final = garbled
	case !w.acknowledged && !w.there:
		p.figures.UnknownDone++
	}
	if w != nil {
		w.there = true
	}
}
