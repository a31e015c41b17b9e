package mem

import (
	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// Bugs in what is answered.

// lostAck is a failover that loses what only the old primary had: nothing
// comes between the commit and its loss, so that taking it back is exact.
func lostAck(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	source, destination := d.bank.state(t.Source), d.bank.state(t.Destination)
	d.doomed = func() {
		d.bank.strike()
		d.bank.restore(t.Source, source)
		d.bank.restore(t.Destination, destination)
	}
	return d.bank.apply(t)
}

func reportedNeverApplied(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	source, destination := d.bank.state(t.Source), d.bank.state(t.Destination)
	return committed(
		bank.State{Balance: source.Balance - t.Amount, Version: source.Version + 1},
		bank.State{Balance: destination.Balance + t.Amount, Version: destination.Version + 1})
}

func failedButApplied(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	d.bank.apply(t)
	return bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}}
}

// late is a transfer that will be applied at the call numbered due, if nothing
// speaks against it then.
type late struct {
	transfer bank.Transfer
	due      uint64
}

// maxLate bounds how many calls later a transfer is applied, and so how many
// can be waiting.
const maxLate = 64

func lateApply(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	d.late = append(d.late, late{t, d.calls + 1 + d.chance.Uint64N(maxLate)})
	return bank.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
}
