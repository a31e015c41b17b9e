package mem

import (
	"context"
	"fmt"

	"assay/workload/bank"
)

// Audit implements bank.Auditor, under the lock.
func (s *store) Audit(_ context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("mem: audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	if err := s.guard(true); err != nil {
		return err
	}
	defer s.d.mu.Unlock()
	for i, id := range ids {
		states[i] = bank.State{}
		if a := s.d.bank.account(id); a != nil {
			states[i] = bank.State{Balance: a.balance, Version: int64(a.version)}
		}
	}
	return nil
}

// AuditAll implements bank.Auditor, under the lock.
func (s *store) AuditAll(context.Context) (bank.Totals, error) {
	if err := s.guard(true); err != nil {
		return bank.Totals{}, err
	}
	defer s.d.mu.Unlock()
	t := bank.Totals{Accounts: s.d.bank.loaded}
	for i := range s.d.bank.accounts {
		t.Balance += s.d.bank.accounts[i].balance
		t.Versions += int64(s.d.bank.accounts[i].version)
	}
	return t, nil
}
