package ledger

import (
	"iter"
	"math"
)

// orderProof goes through the entries once, in about the order in which they were
// committed, and shows that nothing is wrong with order and snapshots, or that it cannot
// show it; versionOrder and what builds on it then say what is wrong, and take a slot for
// each version to do so. The proof takes nothing for an entry but a place in parked while
// it waits for another.
//
// It follows each account from its opening on. An entry is passed when both its accounts
// are at the version before, an audit when all its accounts are at the versions that it
// read, and what it did not see only after it. If all are passed, each account was given
// the versions from 1 on once each, and the order of passing is one that all agree on. On
// the way each acknowledged balance and each one that was read is compared with that of
// its version, and each end with the latest start of what came before (see
// topologicalSort).
type orderProof struct {
	j        *Judge
	audits   *auditCheck // nil if there are none
	accounts []provenAccount
	// parked are entries by an account and the version that they gave it, for which it
	// has not come far enough.
	parked map[accountVersion]uint32
	// ready are those to be looked at again.
	ready []uint32
	// waiting is for how many accounts each audit waits, unseen how many audits do.
	waiting []uint32
	unseen  int
	agreed  int64 // acknowledged balances
	failed  bool
	// crowded is true if it failed since too many entries wait.
	crowded bool
}

type accountVersion struct{ account, version uint32 }

// provenAccount is how far the proof has come on an account.
type provenAccount struct {
	balance int64
	// start is the latest start of the entries that came before, and of the audits
	// before these; read that of the audits of the present version, which come before
	// the next entry only.
	start, read int64
	version     uint32
	// pending is how many audits of the present version were not passed.
	pending uint32
	// reading is the first reading, in auditCheck.index, that was not reached, last where
	// those of the account end.
	reading, last uint32
}

// maxParked bounds the entries that wait. Beyond it the journal is in an order that says
// nothing of that of the commits.
const maxParked = 1 << 16

// proveOrder returns how many acknowledged balances agreed, and true if nothing is wrong.
// a is nil if there are no audits.
func (j *Judge) proveOrder(a *auditCheck) (agreed int64, proven bool) {
	for _, kind := range j.order {
		if kind.found > 0 {
			return 0, false
		}
	}
	if j.entries.excluded != nil || len(j.entries.unrecorded) > 0 || j.incomplete[Journal] != "" {
		return 0, false
	}
	p := newOrderProof(j, a)
	p.enterAll(j.entries.byTime(j))
	if p.crowded {
		p = newOrderProof(j, a)
		p.enterAll(j.entries.byOperation(j))
	}
	return p.agreed, !p.failed && len(p.parked) == 0 && p.unseen == 0
}

func (p *orderProof) enterAll(entries iter.Seq[uint32]) {
	for n := range entries {
		if p.enter(n); p.failed {
			return
		}
	}
}

func newOrderProof(j *Judge, a *auditCheck) *orderProof {
	p := &orderProof{j: j, audits: a, accounts: make([]provenAccount, len(j.accounts)), parked: map[accountVersion]uint32{}}
	for i := range p.accounts {
		p.accounts[i] = provenAccount{balance: j.config.Opening(int64(i) + 1), start: math.MinInt64, read: math.MinInt64}
	}
	if a == nil {
		return p
	}
	p.unseen = len(a.audits.partial)
	p.waiting = make([]uint32, p.unseen)
	for i := range p.waiting {
		p.waiting[i] = a.audits.partial[i].count
	}
	for i := range p.accounts {
		p.accounts[i].reading, p.accounts[i].last = a.start[i], a.start[i+1]
	}
	for i := range p.accounts {
		p.arrive(uint32(i) + 1)
	}
	return p
}

// enter passes an entry, and those that waited for it.
func (p *orderProof) enter(n uint32) {
	p.pass(n)
	for len(p.ready) > 0 && !p.failed {
		n = p.ready[len(p.ready)-1]
		p.ready = p.ready[:len(p.ready)-1]
		p.pass(n)
	}
}

// pass passes an entry, or parks it.
func (p *orderProof) pass(n uint32) {
	e := p.j.entries.at(n)
	for side := range sides {
		id, version := e.account[side], e.version[side]
		if id == 0 || version == 0 {
			p.failed = true
			return
		}
		switch a := &p.accounts[id-1]; {
		case version <= a.version:
			p.failed = true
			return
		case version > a.version+1 || a.pending > 0:
			p.park(n, accountVersion{id, version})
			return
		}
	}
	b, i := p.j.operation(n)
	if !p.apply(e, b, i) {
		p.failed = true
		return
	}
	p.arrive(e.account[debit])
	p.arrive(e.account[credit])
}

func (p *orderProof) park(n uint32, until accountVersion) {
	other, there := p.parked[until]
	p.crowded = len(p.parked) == maxParked
	if p.failed = there && other != n || p.crowded; p.failed {
		return
	}
	p.parked[until] = n
}

// apply moves both accounts of an entry on, and reports whether all is as it has to be.
func (p *orderProof) apply(e *entry, b *block, i int) bool {
	source, destination := &p.accounts[e.account[debit]-1], &p.accounts[e.account[credit]-1]
	first, end := b.span(i)
	latest := max(source.start, source.read, destination.start, destination.read)
	if latest > end {
		return false
	}
	latest = max(latest, first)
	_, _, amount := p.j.config.Expect(p.j.config.ID(b.key.client(), b.key.seq(i)))
	source.balance -= amount
	destination.balance += amount
	for _, a := range [sides]*provenAccount{source, destination} {
		a.version++
		a.start, a.read = latest, math.MinInt64
	}
	if !b.states[i].has(acknowledged) {
		return true
	}
	p.agreed += sides
	told := b.times[i/timesOps].balances[i%timesOps]
	return told == [sides]uint32{uint32(source.balance), uint32(destination.balance)}
}

// arrive does what can be done when an account, by id, has come to a version.
func (p *orderProof) arrive(id uint32) {
	a := &p.accounts[id-1]
	for a.reading < a.last && !p.failed {
		r := &p.audits.audits.readings[p.audits.index[a.reading]]
		if r.version > int64(a.version) {
			break
		}
		if r.version < int64(a.version) || r.balance != a.balance {
			p.failed = true
			return
		}
		a.reading++
		a.pending++
		if p.waiting[r.audit]--; p.waiting[r.audit] == 0 {
			p.passAudit(r.audit)
		}
	}
	p.release(id)
}

// release has the next entry of an account looked at again, if it is parked.
func (p *orderProof) release(id uint32) {
	if len(p.parked) == 0 {
		return
	}
	next := accountVersion{id, p.accounts[id-1].version + 1}
	if n, there := p.parked[next]; there {
		delete(p.parked, next)
		p.ready = append(p.ready, n)
	}
}

func (p *orderProof) passAudit(n uint32) {
	audit, before := &p.audits.audits.partial[n], int64(math.MinInt64)
	readings := p.audits.audits.of(n)
	for i := range readings {
		before = max(before, p.accounts[readings[i].account-1].start)
	}
	if before > audit.end {
		p.failed = true
		return
	}
	before = max(before, audit.first)
	p.unseen--
	for i := range readings {
		a := &p.accounts[readings[i].account-1]
		a.read = max(a.read, before)
		a.pending--
		p.release(readings[i].account)
	}
}
