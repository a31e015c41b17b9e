// Package mem is a reference database in memory. It is strictly serializable:
// for the bank a mutex lets one transaction in at a time, for workload
// isolation transactions run at the same time on many versions and are
// validated when they commit. And it can be told to break its
// word in one of many ways (Bugs), with a probability and a seed, so that the
// checks can be shown to notice: a checker is believed only if it convicts.
//
// It must not know the load engine, the checks or any other driver.
package mem

import (
	"time"

	"assay/history"
	"assay/workload/bank"
)

// Options is what a Database does beside its duty.
type Options struct {
	// Seed feeds all chance: the same seed and the same order of calls give
	// the same run.
	Seed uint64
	// Inject lists the bugs to switch on. A transaction or a Read suffers at
	// most one of them; they are tried in the order of their list.
	Inject []Injection
	// Timeout is the probability, 0 to 1, that a transaction is answered as
	// Unknown; with equal chance it is then applied or not. That is no bug.
	Timeout float64
	// Latency is how long each transaction takes before it is done.
	Latency time.Duration
}

// Injection is one bug switched on.
type Injection struct {
	// Name is a Bug's.
	Name string
	// Probability is from 0 to 1, for each occasion.
	Probability float64
}

// Database is one database of the bank's. It is safe for concurrent use. All
// Stores that Bank returns share it.
type Database struct {
	*site
	bank books
	late []late
	// doomed takes back the last transfer, if that is to be lost.
	doomed func()
}

// New returns an empty database of the bank's. It returns
// *workload.OptionError for a bug that does not exist or a value out of range.
func New(o Options) (*Database, error) {
	s, err := newSite(o, Bugs())
	if err != nil {
		return nil, err
	}
	return &Database{site: s}, nil
}

// Bank returns a Store on this database.
func (d *Database) Bank() bank.Store { return &store{d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Database) reset() {
	d.bank = books{}
	d.calls, d.late, d.doomed = 0, nil, nil
}

// transfer is one transaction, from the order to the answer.
func (d *Database) transfer(t bank.Transfer) bank.Reply {
	d.calls++
	d.pass(d.calls)
	refusal := d.bank.refusal(t)
	if refusal.Duplicate {
		return refusal
	}
	if d.hits(d.timeout) {
		if refusal.Class == "" && d.chance.Uint64()&1 == 0 {
			d.bank.apply(t)
		}
		return bank.Reply{Class: bank.ClassTimeout}
	}
	for _, bug := range d.armed {
		if bug.transfer == nil || !bug.suits(refusal) || !d.hits(bug.probability) {
			continue
		}
		return bug.transfer(d, t, refusal)
	}
	if refusal.Class != "" {
		return refusal
	}
	return d.bank.apply(t)
}

// suits reports whether the bug can strike at a transfer that would honestly
// be answered so.
func (b Bug) suits(refusal bank.Reply) bool {
	return refusal.Class == "" || b.refused && refusal.Class == bank.ClassNoFunds
}

// pass brings about what earlier transfers left for later, up to the given
// call.
func (d *Database) pass(call uint64) {
	if d.doomed != nil {
		d.doomed()
		d.doomed = nil
	}
	kept := d.late[:0]
	for _, l := range d.late {
		switch {
		case l.due > call:
			kept = append(kept, l)
		case d.bank.refusal(l.transfer).Class == "":
			d.bank.apply(l.transfer)
		}
	}
	d.late = kept
}

// committed is the reply that acknowledges these states.
func committed(source, destination bank.State) bank.Reply {
	return bank.Reply{Outcome: history.Committed, Source: source, Destination: destination}
}
