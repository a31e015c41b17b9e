package mem

import (
	"assay/history"
	"assay/workload/bank"
)

// Bugs in what is done to the accounts.

func tornTransfer(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	r := d.bank.apply(t)
	d.bank.account(t.Destination).balance -= t.Amount
	return r
}

// partialRollback takes only a part back, or not all of what a rejection found
// done already.
func partialRollback(d *Database, t bank.Transfer, refusal bank.Reply) bank.Reply {
	b := &d.bank
	source, destination := b.state(t.Source), b.state(t.Destination)
	answer := refusal
	remains := 1 + d.chance.IntN(2) // the credit or the row
	if refusal.Class == "" {
		answer = bank.Reply{Outcome: history.Failed, Class: bank.ClassSerialization}
		remains = d.chance.IntN(3) // or the debit, for which there are funds
	}
	switch remains {
	case 0:
		b.move(t.Source, -t.Amount)
	case 1:
		b.move(t.Destination, t.Amount)
	case 2:
		b.record(t, source.Version+1, destination.Version+1)
	}
	return answer
}

// duplicateApply doubles the row, or the balances if there are funds for it.
func duplicateApply(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	r := d.bank.apply(t)
	if d.chance.Uint64()&1 == 0 && r.Source.Balance >= t.Amount {
		d.bank.move(t.Source, -t.Amount)
		d.bank.move(t.Destination, t.Amount)
	} else {
		d.bank.record(t, r.Source.Version, r.Destination.Version)
	}
	return r
}

// lostUpdate leaves one account as it was, as if a transaction that had read
// it before had now written it.
func lostUpdate(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	victim := t.Source
	if d.chance.Uint64()&1 == 0 {
		victim = t.Destination
	}
	before := d.bank.state(victim)
	r := d.bank.apply(t)
	d.bank.restore(victim, before)
	return r
}

func negativeBalance(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	return d.bank.apply(t)
}
