package mem

import "assay/workload/bank"

// Bugs in the journal and in reading it.

func alteredRow(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	r := d.bank.apply(t)
	last := d.bank.row(d.bank.rows - 1)
	if d.chance.Uint64()&1 == 0 {
		last.amount++
	} else {
		last.destination = last.source
	}
	return r
}

// nobody is a client that no run has: load.MaxClients is far below.
const nobody = 1 << 22

// extraRow takes a unit back under an id of nobody's, which the destination
// can afford as it has just been paid.
func extraRow(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	r := d.bank.apply(t)
	d.bank.apply(bank.Transfer{
		ID: bank.TransferID(nobody, d.calls), Source: t.Destination, Destination: t.Source, Amount: 1,
	})
	return r
}

// truncatedRead leaves out at least the last of the accounts or of the rows,
// but not all accounts: who reads nothing knows that.
func truncatedRead(d *Database, accounts, rows int64) (int64, int64) {
	if rows == 0 || accounts > 1 && d.chance.Uint64()&1 == 0 {
		return min(accounts, 1+d.chance.Int64N(max(accounts-1, 1))), rows
	}
	return accounts, d.chance.Int64N(rows)
}
