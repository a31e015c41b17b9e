package mem

import (
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// Bugs in what an audit reads while transfers go on. They look for an occasion
// on which what they read differs from what may be read, so that each strike
// leaves something to be found.

// both returns where the two accounts of a transfer are among ids, and false if
// one of them is not.
func both(ids []int64, t bank.Transfer) (source, destination int, ok bool) {
	source, destination = slices.Index(ids, t.Source), slices.Index(ids, t.Destination)
	return source, destination, source >= 0 && destination >= 0
}

// auditInTheMiddle sees the last transfer between two accounts that it reads in
// the middle: the debit done and the credit not; or the debit itself half done,
// with the balance changed and not yet the version.
func auditInTheMiddle(d *Database, ids []int64, states []bank.State) bool {
	for i := len(d.trail) - 1; i >= max(0, len(d.trail)-occasions); i-- {
		a := &d.trail[i]
		source, destination, ok := both(ids, a.Transfer)
		switch {
		case !ok:
			continue
		case d.chance.Uint64()&1 == 0:
			states[source] = bank.State{Balance: a.became[0].Balance, Version: a.was[0].Version}
		default:
			states[source], states[destination] = a.became[0], a.was[1]
		}
		return true
	}
	return false
}

// totalInTheMiddle sees the last transfer without its credit.
func totalInTheMiddle(d *Database, t *bank.Totals) bool {
	if len(d.trail) == 0 {
		return false
	}
	t.Balance -= d.trail[len(d.trail)-1].Amount
	t.Versions--
	return true
}

// auditWithoutSnapshot reads the accounts one after the other, as they are at
// that moment, and a transfer comes after the first of its two accounts and
// before the second.
func auditWithoutSnapshot(d *Database, ids []int64, states []bank.State) bool {
	for i := len(d.trail) - 1; i >= max(0, len(d.trail)-occasions); i-- {
		source, destination, ok := both(ids, d.trail[i].Transfer)
		if !ok {
			continue
		}
		for k := range ids[:max(source, destination)] {
			states[k] = d.trail.before(i, ids[k], states[k])
		}
		return true
	}
	return false
}

// totalWithoutSnapshot comes to the source of the last transfer before it and
// to the destination after it, or the other way round.
func totalWithoutSnapshot(d *Database, t *bank.Totals) bool {
	if len(d.trail) == 0 {
		return false
	}
	amount := d.trail[len(d.trail)-1].Amount
	if d.chance.Uint64()&1 == 0 {
		amount = -amount
	}
	t.Balance += amount
	t.Versions--
	return true
}

// auditOfThePast sees all accounts as they were at an earlier moment, if one of
// them has changed since by a transfer whose client knew that before the audit
// began.
func auditOfThePast(d *Database, ids []int64, states []bank.State) bool {
	if !slices.ContainsFunc(ids, func(id int64) bool { return d.past.due[id] }) {
		return false
	}
	for i, id := range ids {
		if was, changed := d.past.was[id]; changed {
			states[i] = was
		}
	}
	return true
}

// ghost is the debit of a transfer that was rolled back.
type ghost struct {
	bank.Transfer
	was bank.State // of the source
}

// maxGhosts bounds how many wait for an audit.
const maxGhosts = 64

// abort makes a transfer fail after its debit.
func abort(d *Database, t bank.Transfer, _ bank.Reply) bank.Reply {
	if len(d.ghosts) == maxGhosts {
		d.ghosts = slices.Delete(d.ghosts, 0, 1)
	}
	d.ghosts = append(d.ghosts, ghost{t, d.bank.state(t.Source)})
	return bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}}
}

// appear takes a ghost whose source is as it was, and that suits.
func (d *Database) appear(suits func(ghost) bool) (ghost, bool) {
	d.ghosts = slices.DeleteFunc(d.ghosts, func(g ghost) bool { return d.bank.state(g.Source) != g.was })
	i := slices.IndexFunc(d.ghosts, suits)
	if i < 0 {
		return ghost{}, false
	}
	g := d.ghosts[i]
	d.ghosts = slices.Delete(d.ghosts, i, i+1)
	return g, true
}

// auditOfAborted sees the debit of a transfer that was rolled back. It sees
// both accounts, so that it is wrong even if the client tries again and the
// transfer is then done.
func auditOfAborted(d *Database, ids []int64, states []bank.State) bool {
	g, ok := d.appear(func(g ghost) bool {
		_, _, ok := both(ids, g.Transfer)
		return ok
	})
	if ok {
		states[slices.Index(ids, g.Source)] = bank.State{Balance: g.was.Balance - g.Amount, Version: g.was.Version + 1}
	}
	return ok
}

func totalOfAborted(d *Database, t *bank.Totals) bool {
	g, ok := d.appear(func(ghost) bool { return true })
	if ok {
		t.Balance -= g.Amount
		t.Versions++
	}
	return ok
}

// seen is what an audit read.
type seen struct {
	ids    []int64
	states []bank.State
}

func (s *seen) of(id int64) (bank.State, bool) {
	i := slices.Index(s.ids, id)
	if i < 0 {
		return bank.State{}, false
	}
	return s.states[i], true
}

// auditOfAFork looks for a transfer that the audit before has seen and that is
// still the last on both its accounts, and for another one that the audit
// before has not seen. It sees the second and not the first.
func auditOfAFork(d *Database, ids []int64, states []bank.State) bool {
	for i, id := range ids {
		first, side, ok := d.trail.last(id)
		other := [2]int64{first.Destination, first.Source}[side]
		if earlier, known := d.previous.of(id); !ok || !known || earlier != states[i] ||
			first.became[side] != states[i] || d.bank.state(other) != first.became[1-side] {
			continue
		}
		news := slices.ContainsFunc(ids, func(id int64) bool {
			earlier, known := d.previous.of(id)
			return known && first.side(id) < 0 && d.bank.state(id).Version > earlier.Version
		})
		if !news {
			continue
		}
		states[i] = first.was[side]
		if k := slices.Index(ids, other); k >= 0 {
			states[k] = first.was[1-side]
		}
		return true
	}
	return false
}
