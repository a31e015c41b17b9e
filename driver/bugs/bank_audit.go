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
	s.spoilAudit(func(a bankActions) bool { return a.audit != nil && a.audit(s, ids, states) })
	s.previous = seen{append(s.previous.ids[:0], ids...), append(s.previous.states[:0], states[:len(ids)]...)}
	return nil
}

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
	s.spoilAudit(func(a bankActions) bool { return a.total != nil && a.total(s, &t) })
	return t, nil
}

// spoilAudit lets at most one bug change what an audit read.
func (s *bankStore) spoilAudit(change func(bankActions) bool) {
	b := s.draw(func(a bankActions) bool { return a.audit != nil || a.total != nil })
	if b != nil && change(b.acts) {
		b.strikes++
	}
	s.audited = s.calls
}

// both returns where two accounts are among ids, and false if one of them is not.
func both(ids []int64, source, destination int64) (i, k int, ok bool) {
	i, k = slices.Index(ids, source), slices.Index(ids, destination)
	return i, k, i >= 0 && k >= 0
}

// between returns the last transfer between two accounts that are audited.
func (s *bankStore) between(ids []int64) (last *commit, source, destination int, ok bool) {
	for c := range s.log.recent(occasions) {
		if source, destination, ok := both(ids, c.writes[0].key, c.writes[1].key); ok {
			return c, source, destination, true
		}
	}
	return nil, 0, 0, false
}

// auditInTheMiddle sees the last transfer between two accounts that it reads in
// the middle: the debit done and the credit not; or the debit itself half done,
// with the balance changed and not yet the version.
func auditInTheMiddle(s *bankStore, ids []int64, states []bank.State) bool {
	last, source, destination, ok := s.between(ids)
	if !ok {
		return false
	}
	debit := last.writes[0]
	if s.coin() {
		states[source] = bank.State{Balance: debit.after.number, Version: debit.before.version}
	} else {
		states[source], states[destination] = debit.after.state(), last.writes[1].before.state()
	}
	return true
}

// lastAmount is what the last transfer moved; 0 if none is remembered.
func (s *bankStore) lastAmount() int64 {
	for c := range s.log.recent(1) {
		return c.writes[0].before.number - c.writes[0].after.number
	}
	return 0
}

// totalInTheMiddle sees the last transfer without its credit.
func totalInTheMiddle(s *bankStore, t *bank.Totals) bool {
	amount := s.lastAmount()
	if amount != 0 {
		t.Balance -= amount
		t.Versions--
	}
	return amount != 0
}

// auditWithoutSnapshot reads the accounts one after the other, as they are at
// that moment, and a transfer comes after the first of its two accounts and
// before the second.
func auditWithoutSnapshot(s *bankStore, ids []int64, states []bank.State) bool {
	last, source, destination, ok := s.between(ids)
	if ok {
		first := max(source, destination)
		s.showBefore(last.at, ids[:first], states[:first])
	}
	return ok
}

// showBefore has accounts as they were before a transfer.
func (s *bankStore) showBefore(at int64, ids []int64, states []bank.State) {
	for i, id := range ids {
		states[i] = s.log.before(at, accountOf(id), valueOf(states[i])).state()
	}
}

// totalWithoutSnapshot comes to the source of the last transfer before it and
// to the destination after it, or the other way round.
func totalWithoutSnapshot(s *bankStore, t *bank.Totals) bool {
	if s.coin() {
		t.Balance += 2 * s.lastAmount()
	}
	return totalInTheMiddle(s, t)
}

// auditOfThePast sees all accounts as they were before a transfer of one of them,
// whose client knew of it before the audit began.
func auditOfThePast(s *bankStore, ids []int64, states []bank.State) bool {
	for c := range s.log.back() {
		changed := slices.ContainsFunc(ids, func(id int64) bool { return c.wrote(accountOf(id)) != nil })
		if changed && *c.answered > 0 && *c.answered <= s.audited {
			s.showBefore(c.at, ids, states)
			return true
		}
	}
	return false
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
		source, _, ok := both(ids, g.Source, g.Destination)
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
		c, first := s.log.last(accountOf(id))
		earlier, known := s.previous.of(id)
		if first == nil || !known || earlier != states[i] || first.after.state() != states[i] {
			continue
		}
		other := &c.writes[0]
		if other.key == id {
			other = &c.writes[1]
		}
		news := slices.ContainsFunc(ids, func(id int64) bool {
			earlier, known := s.previous.of(id)
			return known && c.wrote(accountOf(id)) == nil && states[slices.Index(ids, id)].Version > earlier.Version
		})
		if !news || s.log.latest(other.object) != c.at {
			continue
		}
		states[i] = first.before.state()
		if k := slices.Index(ids, other.key); k >= 0 {
			states[k] = other.before.state()
		}
		return true
	}
	return false
}
