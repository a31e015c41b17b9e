package ledger

import (
	"iter"
	"math"
)

// orderProof proves that nothing is wrong with order and snapshots. It replays the journal, as a
// database replays its log, and keeps the balance and the version of each account.
//
// A row is applied when both its accounts have the version before the one that the row gave. Until
// then the row is parked. An audit is applied when each account that it read has the version that
// it read; until then no account moves past such a version. If every row and every audit was
// applied in the end, each account got the versions from 1 on once each, and the order of
// applying is a serial order of all transfers and audits. The replay also checks that:
//
//   - Each balance that was acknowledged or read is that of its version.
//   - The serial order agrees with real time. Each account keeps the latest start of all that
//     precedes it in that order. If a row or an audit ended before that start, it should have
//     come first.
//
// The replay only says whether everything is right. If not, versionOrder and its users look for
// the error. They would also do for a right journal, but take eight times the time and half as
// much memory again.
type orderProof struct {
	j        *Judge
	accounts []account // the judge's, each with how far it has come
	// read holds the accounts as audits read them, index the readings in order; nil without audits.
	read  []readAccount
	index []uint32
	// parked are rows that cannot be applied yet, by the account and version that they wait for.
	parked map[accountVersion]uint32
	ready  []uint32
	// waiting is how many accounts each audit waits for, unseen how many audits wait.
	waiting []uint32
	unseen  int
	agreed  int64  // acknowledged balances
	passed  uint32 // rows that were applied
	failed  bool
	// crowded is true if it failed because too many rows are parked.
	crowded bool
}

// transfer is a row by its operation (see entries.owners), with the request.
type transfer struct {
	owner                       uint32
	source, destination, amount int64
}

type accountVersion struct{ account, version uint32 }

type provenAccount struct {
	balance int64
	// latest is the latest start of all that precedes the account's next row.
	latest  int64
	version uint32
	// pending counts the unapplied audits of the current version, parked the rows that wait.
	pending, parked uint32
	// next is the version of the next reading, or noReading.
	next uint32
}

// readAccount holds the audits' readings of an account.
//
// Several audits may read one version of an account, at different times. None precedes another,
// but all precede the account's next row. So the row is compared with the starts of these audits
// too (provenAccount.latest), and an audit only with the starts before all of them (before).
type readAccount struct {
	// version is the version at which an audit was last applied. before is provenAccount.latest
	// as it was when the first audit of that version was applied.
	version uint32
	before  int64
	// reading is the first reading in orderProof.index of a version not reached, and last is
	// where the account's readings end.
	reading, last uint32
}

// noReading is a version that no account reaches.
const noReading = math.MaxUint32

// maxParked bounds the parked rows. With more, the journal's order is unlike the order of commits.
const maxParked = 1 << 16

// proveOrder returns how many acknowledged balances agreed, and true if nothing is wrong.
func (j *Judge) proveOrder() (agreed int64, proven bool) {
	if j.order.Count() > 0 || j.entries.excluded != nil || len(j.entries.unrecorded) > 0 || j.incomplete[Journal] != "" {
		return 0, false
	}
	// A table returns its rows in the order of writing, which resembles the order of the commits,
	// or in the order of their key, or in no order.
	p := j.proof
	if p == nil || p.crowded {
		p = newOrderProof(j)
		p.enterAll(j.ops.byStart())
	}
	return p.agreed, p.done()
}

func (p *orderProof) enterAll(owners iter.Seq[uint32]) {
	for owner := range owners {
		if p.enter(p.transfer(owner)); p.failed {
			return
		}
	}
}

func (p *orderProof) done() bool {
	return !p.failed && len(p.parked) == 0 && p.unseen == 0 && p.passed == p.j.entries.len()
}

// newOrderProof begins a replay. It replaces the one before, which shares its accounts.
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

func (p *orderProof) transfer(owner uint32) transfer {
	b, i := p.j.ops.at(owner)
	source, destination, amount := p.j.config.Expect(p.j.config.ID(b.key.client(), b.key.seq(i)))
	return transfer{owner, source, destination, amount}
}

// enter applies a row, and the parked rows that become ready.
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

func (p *orderProof) pass(t transfer) {
	b, i := p.j.ops.at(t.owner)
	o := &b.page[i]
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
	first, end := o.span()
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

func (p *orderProof) arrive(id uint32) {
	if a := &p.accounts[id-1].proven; a.next <= a.version {
		p.reach(a, &p.read[id-1])
	}
	p.release(id)
}

// reach takes the readings of the account's version and applies the audits that are then complete.
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

// next returns the version of an account's next reading, limited to 0 to noReading.
func (p *orderProof) next(read *readAccount) uint32 {
	if read.reading == read.last {
		return noReading
	}
	return uint32(min(max(p.j.audits.readings[p.index[read.reading]].version, 0), noReading))
}

// release makes the next row of an account ready, if it is parked.
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
