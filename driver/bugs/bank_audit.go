package bugs

import (
	"context"
	"slices"

	"assay/workload"
	"assay/workload/bank"
)

// Bugs in what an audit reads while transfers go on. They look for an occasion
// on which what they read differs from what may be read, so that each time leaves
// something to be found.

// occasions is how many transfers or commits are looked at.
const occasions = 64

// Audit implements bank.Auditor.
func (s *bankStore) Audit(ctx context.Context, ids []int64, states []bank.State) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	if err := s.auditor.Audit(ctx, ids, states); err != nil {
		return err
	}
	for i, id := range ids {
		states[i] = s.primary.state(id, states[i])
	}
	s.audited(func(a bankActions) bool { return a.audit != nil && a.audit(s, ids, states) })
	s.previous = seen{append(s.previous.ids[:0], ids...), append(s.previous.states[:0], states[:len(ids)]...)}
	return nil
}

// AuditAll implements bank.Auditor.
func (s *bankStore) AuditAll(ctx context.Context) (bank.Totals, error) {
	if err := s.take(ctx); err != nil {
		return bank.Totals{}, err
	}
	defer s.done()
	t, err := s.auditor.AuditAll(ctx)
	if err != nil {
		return t, err
	}
	t.Balance += s.primary.sum.Balance
	t.Versions += s.primary.sum.Version
	s.audited(func(a bankActions) bool { return a.total != nil && a.total(s, &t) })
	return t, nil
}

// audited lets at most one bug change what an audit read.
func (s *bankStore) audited(change func(bankActions) bool) {
	b := s.draw(func(a bankActions) bool { return a.audit != nil || a.total != nil })
	if b != nil && change(b.acts) {
		b.strikes++
	}
	if s.looksBack {
		s.past = s.past.audited()
	}
}

// both returns where the two accounts of a transfer are among ids, and false if
// one of them is not.
func both(ids []int64, t bank.Transfer) (source, destination int, ok bool) {
	source, destination = slices.Index(ids, t.Source), slices.Index(ids, t.Destination)
	return source, destination, source >= 0 && destination >= 0
}

// between returns the last transfers between two accounts that are audited.
func (s *bankStore) between(ids []int64) (at, source, destination int, ok bool) {
	for i := len(s.trail) - 1; i >= max(0, len(s.trail)-occasions); i-- {
		if source, destination, ok := both(ids, s.trail[i].Transfer); ok {
			return i, source, destination, true
		}
	}
	return 0, 0, 0, false
}

// auditInTheMiddle sees the last transfer between two accounts that it reads in
// the middle: the debit done and the credit not; or the debit itself half done,
// with the balance changed and not yet the version.
func auditInTheMiddle(s *bankStore, ids []int64, states []bank.State) bool {
	at, source, destination, ok := s.between(ids)
	if !ok {
		return false
	}
	a := &s.trail[at]
	if s.coin() {
		states[source] = bank.State{Balance: a.became[0].Balance, Version: a.was[0].Version}
	} else {
		states[source], states[destination] = a.became[0], a.was[1]
	}
	return true
}

// totalInTheMiddle sees the last transfer without its credit.
func totalInTheMiddle(s *bankStore, t *bank.Totals) bool {
	if len(s.trail) == 0 {
		return false
	}
	t.Balance -= s.trail[len(s.trail)-1].Amount
	t.Versions--
	return true
}

// auditWithoutSnapshot reads the accounts one after the other, as they are at
// that moment, and a transfer comes after the first of its two accounts and
// before the second.
func auditWithoutSnapshot(s *bankStore, ids []int64, states []bank.State) bool {
	at, source, destination, ok := s.between(ids)
	if !ok {
		return false
	}
	for k := range ids[:max(source, destination)] {
		states[k] = s.trail.before(at, ids[k], states[k])
	}
	return true
}

// totalWithoutSnapshot comes to the source of the last transfer before it and
// to the destination after it, or the other way round.
func totalWithoutSnapshot(s *bankStore, t *bank.Totals) bool {
	if len(s.trail) == 0 {
		return false
	}
	amount := s.trail[len(s.trail)-1].Amount
	if s.coin() {
		amount = -amount
	}
	t.Balance += amount
	t.Versions--
	return true
}

// auditOfThePast sees all accounts as they were at an earlier moment, if one of
// them has changed since by a transfer whose client knew that before the audit
// began.
func auditOfThePast(s *bankStore, ids []int64, states []bank.State) bool {
	if !slices.ContainsFunc(ids, func(id int64) bool { return s.past.due[id] }) {
		return false
	}
	for i, id := range ids {
		if was, changed := s.past.was[id]; changed {
			states[i] = was
		}
	}
	return true
}

// maxGhosts bounds how many transfers that were rolled back wait for somebody to
// read of them.
const maxGhosts = 64

// abort makes a transfer fail after its debit, which is none until somebody sees
// it.
func abort(s *bankStore, _ *active[bankActions], t bank.Transfer) workload.Reply {
	if len(s.ghosts) == maxGhosts {
		s.ghosts = slices.Delete(s.ghosts, 0, 1)
	}
	s.ghosts = append(s.ghosts, t)
	return failed()
}

// auditOfAborted sees the debit of a transfer that was rolled back. It sees
// both accounts, so that it is wrong even if the client tries again and the
// transfer is then done.
func auditOfAborted(s *bankStore, ids []int64, states []bank.State) bool {
	for i, g := range s.ghosts {
		source, _, ok := both(ids, g)
		if !ok || states[source].Balance < g.Amount {
			continue
		}
		states[source].Balance -= g.Amount
		states[source].Version++
		s.ghosts = slices.Delete(s.ghosts, i, i+1)
		return true
	}
	return false
}

func totalOfAborted(s *bankStore, t *bank.Totals) bool {
	if len(s.ghosts) == 0 {
		return false
	}
	t.Balance -= s.ghosts[0].Amount
	t.Versions++
	s.ghosts = slices.Delete(s.ghosts, 0, 1)
	return true
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
func auditOfAFork(s *bankStore, ids []int64, states []bank.State) bool {
	for i, id := range ids {
		first, side, ok := s.trail.last(id)
		other := [2]int64{first.Destination, first.Source}[side]
		same, _, _ := s.trail.last(other)
		if earlier, known := s.previous.of(id); !ok || !known || earlier != states[i] || first.became[side] != states[i] || same.ID != first.ID {
			continue
		}
		news := slices.ContainsFunc(ids, func(id int64) bool {
			earlier, known := s.previous.of(id)
			return known && first.side(id) < 0 && states[slices.Index(ids, id)].Version > earlier.Version
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
