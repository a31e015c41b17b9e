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
	"assay/workload"
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
	// copy is the second member's; copied is how many of the rows it has.
	copy   books
	copied int64

	// What bugs leave for later, and what they look back at.

	late []late
	// doomed takes back the last transfer, if that is to be lost.
	doomed func()
	ghosts []ghost
	// trail and past are kept if looksBack.
	looksBack bool
	trail     trail
	past      *past
	// previous is what the last audit read.
	previous seen
}

// New returns an empty database of the bank's. It returns
// *workload.OptionError for a bug that does not exist or a value out of range.
func New(o Options) (*Database, error) {
	s, err := newSite(o, Bugs())
	if err != nil {
		return nil, err
	}
	d := &Database{site: s}
	for _, bug := range s.armed {
		d.looksBack = d.looksBack || bug.looksBack
	}
	d.reset()
	return d, nil
}

// Bank returns a Store on this database.
func (d *Database) Bank() bank.Store { return &store{newShell(d.site, d), d} }

// reset empties the schema. The caller holds the lock, as for all methods
// below.
func (d *Database) reset() {
	d.bank, d.copy, d.copied = books{}, books{}, 0
	d.calls, d.late, d.doomed, d.ghosts = 0, nil, nil, nil
	d.trail, d.past, d.previous = nil, newPast(1), seen{}
	d.forgetStrikes()
	if d.looksBack {
		d.bank.watch = func(a applied) {
			d.trail.add(a)
			d.past.add(a)
		}
	}
}

func (d *Database) count() int64 { return d.bank.loaded }

func (d *Database) settle() { d.pass(d.calls + maxLate) }

// transfer is one transaction, from the order to the answer.
func (d *Database) transfer(t bank.Transfer) bank.Reply {
	d.calls++
	d.pass(d.calls)
	defer d.replicate()
	refusal := d.bank.refusal(t)
	if refusal.Duplicate {
		return refusal
	}
	if d.hits(d.timeout) {
		if refusal.Class == "" && d.chance.Uint64()&1 == 0 {
			d.bank.apply(t)
		}
		return bank.Reply{Reply: workload.Reply{Class: workload.ClassTimeout}}
	}
	for i := range d.armed {
		bug := &d.armed[i]
		if bug.transfer == nil || !bug.suits(d, t, refusal) || !d.hits(bug.probability) {
			continue
		}
		if bug.audit == nil { // else it is none until somebody sees it
			bug.strikes++
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
func (b *Bug) suits(d *Database, t bank.Transfer, refusal bank.Reply) bool {
	if refusal.Class != "" {
		return b.refused && refusal.Class == bank.ClassNoFunds
	}
	return !b.onlyRefused && (b.occasion == nil || b.occasion(d, t))
}

// pass brings about what earlier transfers left for later, up to the given
// call.
func (d *Database) pass(call uint64) {
	defer d.replicate()
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
	return bank.Reply{Reply: workload.Reply{Outcome: history.Committed}, Source: source, Destination: destination}
}
