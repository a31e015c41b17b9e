package ledger

import (
	"fmt"

	"assay/check"
)

// balances follows each account through its versions and compares the balance of each version
// with the acknowledged balances and with audits.
type balances struct {
	*versionOrder
	audits *auditCheck // nil if there are none
	agreed int64

	account uint32 // id-1
	// balance is the balance at the current version; other is the balance as if the last wrong
	// acknowledgment had not counted.
	balance, other int64
	past           past
	// known is false after a gap or a repeated version, until the next acknowledgment. From then
	// on exact is false, because only the lowest 32 bits of an acknowledgment are known.
	known, exact bool
	// unreliable is true if rows of the account have no slot.
	unreliable bool
	next       uint32 // the reading that comes next, over all accounts
}

func (b *balances) followAll() {
	for account := range b.j.accounts {
		b.account = uint32(account)
		b.follow()
	}
}

func (b *balances) follow() {
	from, to := b.bounds[b.account], b.bounds[b.account+1]
	b.unreliable = b.j.entries.excluded.has(b.account) || b.impossible.has(b.account)
	b.balance, b.known, b.exact = b.j.config.Opening(int64(b.account)+1), !b.unreliable, true
	b.other = b.balance
	b.past = past{}
	b.keep(0)
	b.checkReadings(0, versionState{exists: true})
	for at := from; at < to; at++ {
		state := b.apply(at)
		b.checkReadings(b.version(b.account, at), state)
		b.keep(b.version(b.account, at))
	}
	b.checkReadingsAbove()
}

type versionState struct{ exists, ambiguous bool }

func (b *balances) apply(at uint32) versionState {
	if b.slots[at] == 0 {
		b.known = false
		return versionState{}
	}
	n := b.slots[at] - 1
	_, _, amount := b.j.config.Expect(b.j.id(n))
	told, acknowledged := b.j.acknowledgedBalances(n)
	side := credit
	if b.j.entry(n).account[debit] == b.account+1 {
		side, amount = debit, -amount
	}
	b.balance += amount
	b.other += amount
	if b.ambiguous.has(at) {
		b.known = false
		return versionState{exists: true, ambiguous: true}
	}
	if acknowledged && !b.unreliable {
		b.compareAcknowledged(n, at, told[side])
	}
	return versionState{exists: true}
}

// compareAcknowledged compares the lowest 32 bits of an acknowledged balance with the balance.
func (b *balances) compareAcknowledged(n, at, told uint32) {
	off := int64(int32(told - uint32(b.balance))) // the nearest with these bits
	switch {
	case b.known && off == 0:
		b.agreed++
	case !b.known:
		b.balance += off
		b.other = b.balance
		b.known, b.exact = true, false
	case told == uint32(b.other):
		b.balance = b.other
	default:
		b.addMismatch(n, at, off)
		b.other = b.balance
		b.balance += off
		b.exact = false
	}
}

func (b *balances) addMismatch(n, at uint32, off int64) {
	b.found.Add(KindAcknowledgedBalance, func() check.Evidence {
		id, account, version := b.j.id(n), int64(b.account)+1, b.version(b.account, at)
		return check.Evidence{
			Text: fmt.Sprintf("%s was acknowledged with %d in account %d at version %d; the %s before and the transfer make it %d: off by %d",
				b.j.transfer(id), b.balance+off, account, version, check.Counted(version-1, "version", "versions"), b.balance, off),
			Fields: map[string]int64{"id": id, "account": account, "version": version, "acknowledged": b.balance + off,
				"expected": b.balance, "off": off},
		}
	})
}

func (j *Judge) acknowledgedBalances(n uint32) (balances [sides]uint32, ok bool) {
	b, i := j.operation(n)
	if b == nil || !b.states[i].has(acknowledged) {
		return balances, false
	}
	return b.page[i].balances, true
}
