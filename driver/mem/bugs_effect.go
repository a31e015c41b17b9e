package mem

import (
	"assay/history"
	"assay/workload"
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
		answer = bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}}
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

// duplicateApply does the transfer a second time, if there are funds for it, or
// enters its row a second time.
func duplicateApply(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	r := d.bank.apply(t)
	if d.chance.Uint64()&1 == 0 && r.Source.Balance >= t.Amount {
		d.bank.apply(t)
	} else {
		d.bank.record(t, r.Source.Version, r.Destination.Version)
	}
	return r
}

// canMoveTwice says that there are funds for it.
func canMoveTwice(d *Database, t bank.Transfer) bool {
	return d.bank.state(t.Source).Balance >= 2*t.Amount
}

func moveTwice(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	r := d.bank.apply(t)
	d.bank.move(t.Source, -t.Amount)
	d.bank.move(t.Destination, t.Amount)
	return r
}

// overwrites looks for an update that the transfer can overwrite: of one of its
// accounts, by the last transfer that touched it, and without which there are
// funds.
func (d *Database) overwrites(t bank.Transfer) (account int64, was bank.State, ok bool) {
	for _, id := range []int64{t.Source, t.Destination} {
		last, side, ok := d.trail.last(id)
		if ok && last.became[side] == d.bank.state(id) && (id != t.Source || last.was[side].Balance >= t.Amount) {
			return id, last.was[side], true
		}
	}
	return 0, bank.State{}, false
}

func canOverwrite(d *Database, t bank.Transfer) bool {
	_, _, ok := d.overwrites(t)
	return ok
}

// lostUpdate does the transfer as if it had read one of its accounts before the
// last transfer that touched it: both give it the same version.
func lostUpdate(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	account, was, _ := d.overwrites(t)
	d.bank.restore(account, was)
	return d.bank.apply(t)
}

// splitBrain does the transfer on one of the two members only.
func splitBrain(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	if d.chance.Uint64()&1 == 0 && d.copy.state(t.Source).Balance >= t.Amount {
		source, destination := d.copy.move(t.Source, -t.Amount), d.copy.move(t.Destination, t.Amount)
		d.copy.add(newRow(t, source.Version, destination.Version))
		d.copy.changed = d.copy.changed[:0]
		return committed(source, destination)
	}
	r := d.bank.apply(t)
	d.part()
	return r
}

func negativeBalance(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	return d.bank.apply(t)
}
