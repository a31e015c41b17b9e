package ycsb

import (
	"assay/history"
	"assay/store"
	"assay/workload/keyvalue"
)

func (p *pass) readState() error {
	var err error
	if p.keys.texts {
		err = textRows().Replay(p.evidence.State, func(_ int, v []int64) error {
			return p.readText(v[0], v[1], version(v[2]))
		})
	} else {
		err = keyvalue.Replay(p.evidence.State, preset(store.Schema{}, p.keys, p.contents), func(got keyvalue.Observed) error {
			p.readRow(got.Number, 0, version(got.Digest[0]), got)
			return nil
		})
	}
	why, err := history.WhyMissing(err)
	if p.missing == "" {
		p.missing = why
	}
	return err
}

func (p *pass) readText(key, unit int64, v version) error {
	if unit < 0 || unit >= p.units() {
		return &history.FormatError{Path: p.evidence.State, Reason: "a field that no record has"}
	}
	number := p.numberOf(key)
	if p.existing && (number < 0 || number >= p.limit) {
		return nil // it is another's
	}
	p.readRow(number, unit, v, keyvalue.Observed{Number: number, Key: keyvalue.Digest{key}})
	return nil
}

func (p *pass) readRow(number, unit int64, v version, got keyvalue.Observed) {
	if p.index == 0 && unit == 0 {
		p.figures.Records++
	}
	switch {
	case number >= 0 && number < p.limit:
		if p.mine(number) {
			p.row(number*p.units()+unit, v)
		}
	case p.index == 0 && unit == 0:
		p.kept.Add(p.foreignRecord(got))
	}
}

func (p *pass) row(unit int64, v version) {
	o := p.opening(unit)
	if o.final != unread {
		if unit%p.units() == 0 {
			p.kept.Add(p.recordEvidence(kindDoubled, unit, "is there more than once"))
		}
		return
	}
	o.final = v
	if p.isInitial(unit, v, never) || p.existing && p.fixed && unit < p.core.records {
		return
	}
	kind, why, w := p.wrong(v, unit)
	switch {
	case kind != "":
		p.kept.Add(p.recordEvidence(kind, unit, "holds "+v.String()+", "+why))
		o.final = garbled
	case !w.acknowledged && !w.there:
		p.figures.UnknownDone++
	}
	if w != nil {
		w.there = true
	}
}
