package ledger

import (
	"fmt"

	"assay/check"
)

// balances follows each account through its chain and holds what was
// acknowledged and what audits read against the balance at each version.
type balances struct {
	*chains
	audits *auditing // nil if there are none
	// agreed is how many acknowledged balances were as they had to be.
	agreed int64

	account uint32 // id-1
	// balance is what the account holds at the place that was reached; other is
	// what it would hold if the last acknowledgment that was wrong had not been.
	balance, other int64
	// sure is false after a gap or a version that was given twice, until the
	// next acknowledgment; exact is false from then on, because only the lowest
	// 32 bits of what was acknowledged are known.
	sure, exact bool
	// blind is true if rows of the account have no place.
	blind bool
	next  uint32 // the reading that comes next, over all accounts
}

func (b *balances) followAll() {
	for account := range b.j.sheet {
		b.account = uint32(account)
		b.follow()
	}
}

func (b *balances) follow() {
	from, to := b.bounds[b.account], b.bounds[b.account+1]
	b.blind = b.j.entries.excused.has(b.account) || b.beyond.has(b.account)
	b.balance, b.sure, b.exact = b.j.books.Opening(int64(b.account)+1), !b.blind, true
	b.other = b.balance
	b.readAt(0, place{there: true})
	for at := from; at < to; at++ {
		b.readAt(b.version(b.account, at), b.step(at))
	}
	b.readBeyond()
}

// place is what there is of a version.
type place struct{ there, doubted bool }

// step takes the account on to a place.
func (b *balances) step(at uint32) place {
	if b.places[at] == 0 {
		b.sure = false
		return place{}
	}
	n := b.places[at] - 1
	_, _, amount := b.j.books.Expect(b.j.id(n))
	told, acknowledged := b.j.told(n)
	side := credit
	if b.j.entries.at(n).account[debit] == b.account+1 {
		side, amount = debit, -amount
	}
	b.balance += amount
	b.other += amount
	if b.doubted.has(at) {
		b.sure = false
		return place{there: true, doubted: true}
	}
	if acknowledged && !b.blind {
		b.hear(n, at, told[side])
	}
	return place{there: true}
}

// hear holds the lowest 32 bits of an acknowledged balance against the balance.
func (b *balances) hear(n, at, told uint32) {
	off := int64(int32(told - uint32(b.balance))) // the nearest with these bits
	switch {
	case b.sure && off == 0:
		b.agreed++
	case !b.sure:
		b.balance += off
		b.other = b.balance
		b.sure, b.exact = true, false
	case told == uint32(b.other):
		b.balance = b.other
	default:
		b.tell(n, at, off)
		b.other = b.balance
		b.balance += off
		b.exact = false
	}
}

func (b *balances) tell(n, at uint32, off int64) {
	b.found.add(KindAcknowledgedBalance, func() check.Evidence {
		id, account, version := b.j.id(n), int64(b.account)+1, b.version(b.account, at)
		return check.Evidence{
			Text: fmt.Sprintf("%s was acknowledged with %d in account %d at version %d; the %s before and the transfer make it %d: off by %d",
				b.j.transfer(id), b.balance+off, account, version, check.Counted(version-1, "version", "versions"), b.balance, off),
			Fields: map[string]int64{"id": id, "account": account, "version": version, "acknowledged": b.balance + off,
				"expected": b.balance, "off": off},
		}
	})
}

// told is what was acknowledged with entry n, see part.told.
func (j *Judge) told(n uint32) (balances [sides]uint32, ok bool) {
	b, i := j.operation(n)
	if b == nil || !b.marks[i].has(acknowledged) {
		return balances, false
	}
	return b.parts[i/partOps].told[i%partOps], true
}
