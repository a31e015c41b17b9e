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
	accounts []account // the judge's, each with how far it has come
	// read are the accounts as audits read them, and index the readings by account and
	// version; both are nil if no audits are judged.
	read  []readAccount
	index []uint32
	// parked are entries, by an account and the version that they gave it, for which it
	// has not come far enough.
	parked map[accountVersion]uint32
	// ready are those to be looked at again.
	ready []uint32
	// waiting is for how many accounts each audit waits, unseen how many audits do.
	waiting []uint32
	unseen  int
	agreed  int64  // acknowledged balances
	passed  uint32 // entries
	failed  bool
	// crowded is true if it failed since too many entries wait.
	crowded bool
}

// transfer is an entry, by its owner, and what was asked for.
type transfer struct {
	owner                       uint32
	source, destination, amount int64
}

type accountVersion struct{ account, version uint32 }

// provenAccount is how far the proof has come on an account.
type provenAccount struct {
	balance int64
	// latest is the latest start of the entries that came before, and of the audits before
	// the next entry.
	latest  int64
	version uint32
	// pending is how many audits of the present version were not passed, parked how many
	// entries wait for the account.
	pending, parked uint32
	// next is the version of the next reading; noReading if there is none.
	next uint32
}

// readAccount is what audits read of an account.
type readAccount struct {
	// version is that of the account when an audit that reads it was passed last, and before is
	// what provenAccount.latest was when the first audit of this version was passed. Several
	// audits may read one version. The next entry comes after all of them, so latest counts
	// their starts; but they are in no order among themselves, so that an audit is compared
	// with before.
	version uint32
	before  int64
	// reading is the first reading, in orderProof.index, that was not reached; last is where
	// the readings of the account end.
	reading, last uint32
}

// noReading is a version that no account reaches.
const noReading = math.MaxUint32

// maxParked bounds the entries that wait. If more wait, the journal's order says nothing
// about the order of the commits.
const maxParked = 1 << 16

// proveOrder returns how many acknowledged balances agreed, and true if nothing is wrong.
func (j *Judge) proveOrder() (agreed int64, proven bool) {
	for _, kind := range j.order {
		if kind.found > 0 {
			return 0, false
		}
	}
	if j.entries.excluded != nil || len(j.entries.unrecorded) > 0 || j.incomplete[Journal] != "" {
		return 0, false
	}
	// A table gives its rows in the order of writing, which is about the order of the commits,
	// or in the order of their key, or in none.
	p := j.proof
	if p == nil || p.crowded {
		p = newOrderProof(j)
		p.enterAll(j.ops.byStart())
	}
	return p.agreed, p.done()
}

// enterAll enters the entries of these owners.
func (p *orderProof) enterAll(owners iter.Seq[uint32]) {
	for owner := range owners {
		if p.enter(p.transfer(owner)); p.failed {
			return
		}
	}
}

// done reports whether all was passed, and nothing was wrong.
func (p *orderProof) done() bool {
	return !p.failed && len(p.parked) == 0 && p.unseen == 0 && p.passed == p.j.entries.len()
}

// newOrderProof begins a proof, which takes the place of the judge's one before.
func newOrderProof(j *Judge) *orderProof {
	p := &orderProof{j: j, accounts: j.accounts, parked: map[accountVersion]uint32{}}
	for i := range p.accounts {
		p.accounts[i].proven = provenAccount{balance: j.config.Opening(int64(i) + 1), latest: math.MinInt64, next: noReading}
	}
	if !j.audited() {
		return p
	}
	var start []uint32
	p.index, start = j.audits.byAccount(len(j.accounts))
	p.unseen = len(j.audits.partial)
	p.waiting = make([]uint32, p.unseen)
	for i := range p.waiting {
		p.waiting[i] = j.audits.partial[i].count
	}
	p.read = make([]readAccount, len(j.accounts))
	for i := range p.read {
		p.read[i] = readAccount{before: math.MinInt64, reading: start[i], last: start[i+1]}
		p.accounts[i].proven.next = p.next(&p.read[i])
	}
	for i := range p.accounts {
		p.arrive(uint32(i) + 1)
	}
	return p
}

// transfer is what the owner of an entry was asked for.
func (p *orderProof) transfer(owner uint32) transfer {
	b, i := p.j.ops.at(owner)
	source, destination, amount := p.j.config.Expect(p.j.config.ID(b.key.client(), b.key.seq(i)))
	return transfer{owner, source, destination, amount}
}

// enter passes an entry, and those that waited for it.
func (p *orderProof) enter(t transfer) {
	if p.failed {
		return
	}
	p.pass(t)
	for len(p.ready) > 0 && !p.failed {
		owner := p.ready[len(p.ready)-1]
		p.ready = p.ready[:len(p.ready)-1]
		p.pass(p.transfer(owner))
	}
}

// pass passes an entry, or parks it.
func (p *orderProof) pass(t transfer) {
	b, i := p.j.ops.at(t.owner)
	page := b.pages[i/pageOps]
	if page == nil { // its row is no entry
		p.failed = true
		return
	}
	o := &page[i%pageOps]
	for side, id := range [sides]int64{debit: t.source, credit: t.destination} {
		version := o.versions[side]
		if version == 0 || p.j.account(id) == nil { // the side is left out
			p.failed = true
			return
		}
		switch a := &p.accounts[id-1].proven; {
		case version <= a.version:
			p.failed = true
			return
		case version > a.version+1 || a.pending > 0:
			p.park(t.owner, accountVersion{uint32(id), version})
			return
		}
	}
	source, destination := &p.accounts[t.source-1].proven, &p.accounts[t.destination-1].proven
	first, end := b.span(i)
	if !apply(source, destination, t.amount, first, end) {
		p.failed = true
		return
	}
	if b.states[i].has(acknowledged) {
		p.agreed += sides
		p.failed = o.balances != [sides]uint32{uint32(source.balance), uint32(destination.balance)}
	}
	p.passed++
	p.arrive(uint32(t.source))
	p.arrive(uint32(t.destination))
}

func (p *orderProof) park(owner uint32, until accountVersion) {
	other, there := p.parked[until]
	p.crowded = len(p.parked) == maxParked
	if p.failed = there && other != owner || p.crowded; p.failed || there {
		return
	}
	p.parked[until] = owner
	p.accounts[until.account-1].proven.parked++
}

// apply moves both accounts of an entry on, and reports whether that agrees with real time.
func apply(source, destination *provenAccount, amount, first, end int64) bool {
	latest := max(source.latest, destination.latest)
	if latest > end {
		return false
	}
	latest = max(latest, first)
	source.balance -= amount
	destination.balance += amount
	for _, a := range [sides]*provenAccount{source, destination} {
		a.version++
		a.latest = latest
	}
	return true
}

// arrive does what can be done when an account, by id, has come to a version.
func (p *orderProof) arrive(id uint32) {
	if a := &p.accounts[id-1].proven; a.next <= a.version {
		p.reach(a, &p.read[id-1])
	}
	p.release(id)
}

// reach passes the audits of which the last reading is one of those of the account's version.
func (p *orderProof) reach(a *provenAccount, read *readAccount) {
	for read.reading < read.last && !p.failed {
		r := &p.j.audits.readings[p.index[read.reading]]
		if r.version > int64(a.version) {
			break
		}
		if r.version < int64(a.version) || r.balance != a.balance {
			p.failed = true
			return
		}
		read.reading++
		a.pending++
		if p.waiting[r.audit]--; p.waiting[r.audit] == 0 {
			p.passAudit(r.audit)
		}
	}
	a.next = p.next(read)
}

// next is the version of an account's next reading, or the nearest that can be one.
func (p *orderProof) next(read *readAccount) uint32 {
	if read.reading == read.last {
		return noReading
	}
	return uint32(min(max(p.j.audits.readings[p.index[read.reading]].version, 0), noReading))
}

// release has the next entry of an account looked at again, if it is parked.
func (p *orderProof) release(id uint32) {
	a := &p.accounts[id-1].proven
	if a.parked == 0 {
		return
	}
	next := accountVersion{id, a.version + 1}
	if owner, there := p.parked[next]; there {
		delete(p.parked, next)
		a.parked--
		p.ready = append(p.ready, owner)
	}
}

func (p *orderProof) passAudit(n uint32) {
	audit, latest := &p.j.audits.partial[n], int64(math.MinInt64)
	readings := p.j.audits.of(n)
	for i := range readings {
		a, read := &p.accounts[readings[i].account-1].proven, &p.read[readings[i].account-1]
		if read.version != a.version {
			read.before, read.version = a.latest, a.version
		}
		latest = max(latest, read.before)
	}
	if latest > audit.end {
		p.failed = true
		return
	}
	latest = max(latest, audit.first)
	p.unseen--
	for i := range readings {
		a := &p.accounts[readings[i].account-1].proven
		a.latest = max(a.latest, latest)
		a.pending--
		p.release(readings[i].account)
	}
}
