package ycsb

import (
	"math"

	"assay/check/register"
)

func (p *pass) finish() {
	first, ordered := p.byRecord()
	var zones []register.Zone
	for i := range p.openings {
		o, of := &p.openings[i], ordered[first[i]:first[i+1]]
		unit := p.unitAt(int64(i))
		if p.missing == "" {
			p.keeps(unit, o, of)
		}
		zones = zones[:0]
		if o.begins != unread {
			zones = append(zones, register.Zone{Ends: math.MinInt64, Begins: o.begins})
		}
		known := of[:0]
		for _, w := range of {
			if w.certain() {
				zones = append(zones, register.Zone{Ends: w.ends, Begins: w.begins})
				known = append(known, w)
			}
		}
		if len(zones) > 1 {
			p.conflicts(unit, o, zones, known)
		}
	}
}

// byRecord groups writes that did not fail, in linear time: those of place i are
// ordered[first[i]:first[i+1]].
func (p *pass) byRecord() (first []uint32, ordered []*write) {
	each := func(use func(at int64, w *write)) {
		for _, c := range p.clients {
			for i := range c.writes {
				if w := &c.writes[i]; !w.failed {
					use(p.place(w.unit), w)
				}
			}
		}
		for _, w := range p.possible {
			use(p.place(w.unit), w)
		}
		for _, w := range p.inserts {
			if !w.failed {
				use(p.place(w.unit), w)
			}
		}
	}
	first = make([]uint32, len(p.openings)+2)
	count := 0
	each(func(at int64, _ *write) { first[at+2]++; count++ })
	for i := 2; i < len(first); i++ {
		first[i] += first[i-1]
	}
	ordered = make([]*write, count)
	each(func(at int64, w *write) {
		ordered[first[at+1]] = w
		first[at+1]++
	})
	return first, ordered
}

// conflicts reports the first two versions by which a record's history is not linearizable.
func (p *pass) conflicts(unit int64, o *opening, zones []register.Zone, of []*write) {
	found := false
	register.Conflicts(zones, func(a, b int) {
		if found {
			return
		}
		found = true
		p.figures.Disordered++
		shift := len(zones) - len(of)
		known := func(at int) *write {
			if at < shift {
				return &write{version: p.initial(unit), unit: unit, start: math.MinInt64, ends: math.MinInt64,
					begins: o.begins, firstBy: p.initial(unit), lastBy: o.by}
			}
			return of[at-shift]
		}
		p.linearizable.AddIf(p.promised, p.conflictEvidence(unit, known(a), known(b)))
	})
}

// keeps requires that a unit is not older in the end than an acknowledged write. It reports a
// missing record once.
func (p *pass) keeps(unit int64, o *opening, of []*write) {
	var last, holds *write
	for _, w := range of {
		if w.acknowledged && (last == nil || w.start > last.start) {
			last = w
		}
		if w.version == o.final {
			holds = w
		}
	}
	number := unit / p.units()
	switch {
	case o.final == garbled: // it is a finding already
	case o.final == unread && (last != nil || p.loaded(number)):
		if p.gone != number+1 {
			p.gone = number + 1
			p.figures.Lost++
			p.kept.Add(p.lostEvidence(unit, last))
		}
	case o.final != unread && last != nil && holds == nil && !(p.fixed && o.final == fixed):
		p.figures.Lost++
		p.kept.Add(p.oldEvidence(unit, o.final, last))
	case holds != nil && last != nil && holds.ends < last.start:
		p.figures.Lost++
		p.kept.Add(p.oldEvidence(unit, o.final, last))
	}
}
