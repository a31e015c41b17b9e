package ycsb

import (
	"slices"

	"assay/history"
)

func (p *pass) sortKeys() {
	if !p.shares.has(KindScan) {
		return
	}
	p.sorted = make([]int64, p.core.records+int64(len(p.inserted)))
	for i := range p.sorted {
		p.sorted[i] = int64(i)
	}
	slices.SortFunc(p.sorted, p.before)
}

func (p *pass) before(a, b int64) int { return p.keys.compare(p.keys.keyOf(a), p.keys.keyOf(b)) }

// scan judges a scan. In existing tables it skips foreign records.
func (p *pass) scan(op *history.Op, a *access) {
	p.figures.Scans++
	below, wrong := int64(-1), false
	for _, r := range a.found {
		switch number := r.number; {
		case (number < 0 || number >= p.limit) && p.existing:
		case number < 0 || number >= p.limit:
			p.scanned.Add(p.scanEvidence(kindForeign, op, number, "returned a record that no client of this run has begun to write"))
			return
		case number == below:
			p.scanned.Add(p.scanEvidence(kindDoubled, op, number, "returned it twice"))
			wrong = true
		case below >= 0 && p.before(number, below) < 0 || p.before(number, a.number) < 0:
			p.scanned.Add(p.scanEvidence(kindOrder, op, number, "returned it out of the order of keys"))
			wrong = true
		default:
			below = number
		}
	}
	if int64(len(a.found)) > a.limit {
		p.scanned.Add(p.scanEvidence(kindSurplus, op, a.number, "returned more records than it had asked for, from there on"))
		wrong = true
	}
	if !wrong {
		p.complete(op, a)
	}
}

// complete looks for a record that the scan left out: between the returned ones or, if these are
// fewer than the limit, behind them.
func (p *pass) complete(op *history.Op, a *access) {
	at, _ := slices.BinarySearchFunc(p.sorted, a.number, p.before)
	own := a.found[:0:0]
	for _, r := range a.found {
		if r.number >= 0 && r.number < p.limit {
			own = append(own, r)
		}
	}
	next := 0
	for ; at < len(p.sorted) && (next < len(own) || int64(len(a.found)) < a.limit); at++ {
		number := p.sorted[at]
		if next < len(own) && own[next].number == number {
			next++
			continue
		}
		if p.loaded(number) || number >= p.core.records && p.inserted[number-p.core.records] < op.Start {
			p.figures.Incomplete++
			p.scanned.AddIf(p.promised, p.scanEvidence(kindDropped, op, number, "left it out, though it was there before the scan began"))
			return
		}
	}
}
