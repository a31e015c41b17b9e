package bugs

import (
	"slices"

	"assay/workload/bank"
)

// maxTrail is how many transfers are remembered.
const maxTrail = 1024

// trail has the last transfers that were applied, for the bugs that look for
// an occasion.
type trail []applied

func (t *trail) add(a applied) {
	if len(*t) >= 2*maxTrail {
		*t = slices.Clone((*t)[maxTrail:])
	}
	*t = append(*t, a)
}

// last is the last transfer of an account and the account's side of it.
func (t trail) last(id int64) (a applied, side int, ok bool) {
	for i := len(t) - 1; i >= max(0, len(t)-maxTrail); i-- {
		if side := t[i].side(id); side >= 0 {
			return t[i], side, true
		}
	}
	return applied{}, 0, false
}

// before returns the state that an account had before transfer i, if it is now
// in this one.
func (t trail) before(i int, id int64, now bank.State) bank.State {
	for k := len(t) - 1; k >= i; k-- {
		if side := t[k].side(id); side >= 0 {
			now = t[k].was[side]
		}
	}
	return now
}

// past is a moment to which audits can be put back, and what they may then not
// miss.
type past struct {
	// number tells the moments apart.
	number int64
	// was has the accounts that have changed since, as they were.
	was map[int64]bank.State
	// answered has the accounts that have changed by a transfer after which its
	// client has made another call, so that it knew the answer; due those of
	// them that had when the last audit was done.
	answered, due map[int64]bool
	audits        int
}

// maxPast is how many audits the moment lasts.
const maxPast = 8

func newPast(number int64) *past {
	return &past{number: number, was: map[int64]bank.State{}, answered: map[int64]bool{}, due: map[int64]bool{}}
}

func (p *past) add(a applied) {
	for side, id := range [2]int64{a.Source, a.Destination} {
		if _, there := p.was[id]; !there {
			p.was[id] = a.was[side]
		}
	}
}

// done is a committed transfer and the moment after which it was done.
type done struct {
	source, destination, moment int64
}

// acknowledged is told of a client's last committed transfer, when the client
// makes its next call.
func (p *past) acknowledged(d done) {
	if d.moment == p.number {
		p.answered[d.source], p.answered[d.destination] = true, true
	}
}

// audited goes on after an audit: the next one will have begun after it.
func (p *past) audited() *past {
	if p.audits++; p.audits >= maxPast {
		return newPast(p.number + 1)
	}
	for id := range p.answered {
		p.due[id] = true
	}
	return p
}
