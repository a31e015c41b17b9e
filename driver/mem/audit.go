package mem

import (
	"context"
	"fmt"

	"assay/workload/bank"
)

// Audit implements bank.Auditor, under the lock, unless a bug strikes.
func (s *store) Audit(_ context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("mem: audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	if err := s.d.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	for i, id := range ids {
		states[i] = bank.State{}
		if a := s.d.bank.account(id); a != nil {
			states[i] = bank.State{Balance: a.balance, Version: int64(a.version)}
		}
	}
	s.d.strikeAudit(func(b *armed) bool { return b.audit != nil && b.audit(s.d, ids, states) })
	s.d.previous = seen{append(s.d.previous.ids[:0], ids...), append(s.d.previous.states[:0], states[:len(ids)]...)}
	return nil
}

// AuditAll implements bank.Auditor, under the lock, unless a bug strikes.
func (s *store) AuditAll(context.Context) (bank.Totals, error) {
	if err := s.d.guard(true); err != nil {
		return bank.Totals{}, err
	}
	defer s.d.mu.Unlock()
	t := bank.Totals{Accounts: s.d.bank.loaded}
	for i := range s.d.bank.accounts {
		t.Balance += s.d.bank.accounts[i].balance
		t.Versions += int64(s.d.bank.accounts[i].version)
	}
	s.d.strikeAudit(func(b *armed) bool { return b.total != nil && b.total(s.d, &t) })
	return t, nil
}

// strikeAudit lets at most one bug strike at an audit.
func (d *Database) strikeAudit(strike func(*armed) bool) {
	for i := range d.armed {
		if bug := &d.armed[i]; (bug.audit != nil || bug.total != nil) && d.hits(bug.probability) && strike(bug) {
			bug.strikes++
			break
		}
	}
	if d.looksBack {
		d.past = d.past.audited()
	}
}
