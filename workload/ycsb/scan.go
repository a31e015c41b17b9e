package ycsb

import (
	"cmp"
	"slices"

	"assay/history"
)

// sortKeys sorts the numbers of all records by their keys, if the run scans.
func (p *pass) sortKeys() {
	if m, _ := p.config.shares(); !m.has(KindScan) {
		return
	}
	p.sorted = make([]int64, p.config.Records+int64(len(p.inserted)))
	for i := range p.sorted {
		p.sorted[i] = p.keys.of(int64(i))
	}
	slices.Sort(p.sorted)
	for i, key := range p.sorted {
		p.sorted[i] = p.keys.number(key)
	}
}

// scan judges a scan for so many records, from record op.Values[0] on, that returned
// these numbers and versions.
func (p *pass) scan(op *history.Op, limit int64, returned []int64) {
	p.figures.Scans++
	from := p.keys.of(op.Values[0])
	below, wrong := from-1, false
	for i := 0; i < len(returned); i += 2 {
		number := returned[i]
		if number < 0 || number >= p.limit {
			p.scans.Add(p.scanEvidence(kindForeign, op, number, "returned a record that no client of this run has begun to write"))
			return
		}
		switch key := p.keys.of(number); {
		case key == below && i > 0:
			p.scans.Add(p.scanEvidence(kindDoubled, op, number, "returned it twice"))
			wrong = true
		case key <= below:
			p.scans.Add(p.scanEvidence(kindOrder, op, number, "returned it out of the order of keys"))
			wrong = true
		default:
			below = key
		}
	}
	if int64(len(returned)/2) > limit {
		p.scans.Add(p.scanEvidence(kindSurplus, op, op.Values[0], "returned more records than it had asked for, from there on"))
		wrong = true
	}
	if !wrong {
		p.complete(op, limit, returned)
	}
}

// complete looks for a record that a scan left out although it was there before the
// scan began: between those that it returned or, if these are fewer than it had asked
// for, behind them.
func (p *pass) complete(op *history.Op, limit int64, returned []int64) {
	at, _ := slices.BinarySearchFunc(p.sorted, p.keys.of(op.Values[0]), func(number, key int64) int {
		return cmp.Compare(p.keys.of(number), key)
	})
	next := 0
	for ; at < len(p.sorted) && (next < len(returned) || int64(next/2) < limit); at++ {
		number := p.sorted[at]
		if next < len(returned) && returned[next] == number {
			next += 2
			continue
		}
		if number < p.config.Records || p.inserted[number-p.config.Records] < op.Start {
			p.figures.Incomplete++
			if p.promised {
				p.scans.Add(p.scanEvidence(kindDropped, op, number, "left it out, though it was there before the scan began"))
			}
			return
		}
	}
}
