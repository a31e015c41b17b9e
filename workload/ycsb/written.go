package ycsb

import (
	"math"

	"assay/history"
)

// decoded is an understood operation, with scanned keys turned into numbers.
func (p *pass) decoded(op *history.Op) access {
	a, _ := p.decode(op, p.into) // it was understood before
	if p.into = a.found; op.Kind == KindScan && p.keys.texts {
		for i := range a.found {
			a.found[i].number = p.numberOf(a.found[i].number)
		}
	}
	return a
}

// wrote enters what an attempt may have written.
func (p *pass) wrote(op *history.Op) {
	if len(op.Values) == 0 || !p.mine(op.Values[0]) {
		return
	}
	a := p.decoded(op)
	v, ok := versionOf(op.Client, op.Seq, op.Attempt)
	if !ok || !a.writes {
		return
	}
	w := write{version: v, start: op.Start + a.began, ends: never, firstBy: v, lastBy: v}
	w.begins = w.start
	switch {
	case op.Outcome == history.Committed:
		w.acknowledged, w.ends = true, op.End
	case op.Last && op.Final == history.Committed && op.Attempt > 1:
		// This attempt found the record that an earlier one inserted.
		w.failed = true
	case op.Outcome != history.Unknown:
		w.failed = true
	}
	if p.fixed {
		p.insertedFixed(op, a.number, w)
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
	if w.failed && op.Final == history.Committed {
		p.insertedBefore(c, op)
	}
	for unit := a.writeFrom; unit < a.writeTo; unit++ {
		w.unit = a.number*p.units() + unit
		c.writes = append(c.writes, w)
	}
}

// insertedFixed enters all attempts of an insert with fixed content as one write.
func (p *pass) insertedFixed(op *history.Op, number int64, w write) {
	w.version, w.unit = fixed, number
	before := p.inserts[number]
	done := op.Last && op.Final == history.Committed
	switch {
	case before == nil:
		p.inserts[number] = &w
	case done:
		before.acknowledged, before.failed, before.ends = true, false, min(before.ends, op.End)
	default:
		before.failed = before.failed && w.failed
	}
}

// insertedBefore acknowledges the only unknown attempt of an operation that turned out done.
func (p *pass) insertedBefore(c *clientWrites, op *history.Op) {
	first := int(c.at[op.Seq]) - 1
	var one version
	for i := first; i < len(c.writes); i++ {
		if w := &c.writes[i]; !w.failed {
			if one != 0 && one != w.version {
				return
			}
			one = w.version
		}
	}
	for i := first; one != 0 && i < len(c.writes); i++ {
		if w := &c.writes[i]; w.version == one {
			w.acknowledged, w.ends = true, op.End
		}
	}
}

// find is the write of a version; nil if no attempt of this run can have made it.
func (p *pass) find(v version, unit int64) *write {
	if v == fixed {
		return p.inserts[unit]
	}
	client, seq, _ := v.split()
	if c := p.clients[client]; c != nil && seq < uint64(len(c.at)) && c.at[seq] > 0 {
		for i := int(c.at[seq]) - 1; i < len(c.writes); i++ {
			w := &c.writes[i]
			if w.version == v && w.unit == unit {
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
	// Without a record, a version belongs to one record, or one field, alone.
	key := possible{version: v}
	if p.units() > 1 {
		key.unit = unit
	}
	w := p.possible[key]
	if w == nil {
		w = &write{version: v, unit: unit, start: math.MinInt64, begins: math.MinInt64, ends: never, firstBy: v, lastBy: v}
		p.possible[key] = w
	}
	if w.unit != unit {
		return nil
	}
	return w
}
