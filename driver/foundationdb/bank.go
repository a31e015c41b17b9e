//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/history"
	"assay/workload"
	"assay/workload/bank"
)

// bankStore is a bank.Store, under ("assay", "bank"):
//
//	("account", id) = balance, version
//	("journal", id) = source, destination, amount, source version, destination version
//
// each integer as eight bytes, big endian.
type bankStore struct{ *schema }

var _ bank.Auditor = (*bankStore)(nil)

// OpenBank connects to the cluster and returns its Store. It returns
// *workload.OptionError or *workload.UnreachableError.
func OpenBank(ctx context.Context, target workload.Target) (bank.Store, error) {
	p, err := openSchema(ctx, target, "bank", tableAccount, tableJournal)
	if err != nil {
		return nil, err
	}
	return &bankStore{p}, nil
}

// LoadAccounts implements bank.Store. A batch of bank.MaxBatch accounts with its
// conflict ranges is some 150 kB.
func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	return load(ctx, s.schema, "load accounts", batch, bank.MaxBatch, func(t *transaction, a bank.Account) {
		t.Set(fdb.Key(s.key(tableAccount, a.ID)), appendWords(nil, a.Balance, a.Version))
	})
}

func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.read(ctx, rows(tableAccount, s.account, account), rows(tableJournal, s.entry, entry))
}

func (s *bankStore) account(key, value []byte, a *bank.Account) error {
	return errors.Join(s.ids(tableAccount, key, &a.ID), readWords(tableAccount, value, &a.Balance, &a.Version))
}

func (s *bankStore) entry(key, value []byte, e *bank.Entry) error {
	return errors.Join(s.ids(tableJournal, key, &e.ID),
		readWords(tableJournal, value, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion))
}

// Audit implements bank.Auditor. All reads of a transaction are of its one
// read version, and one that writes nothing need not be committed (manual,
// "Developer Guide", "Transaction basics").
func (s *bankStore) Audit(ctx context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("foundationdb: audit: %d accounts and room for %d, at most %d", len(ids), len(states), bank.MaxAudited)
	}
	t, err := begin(ctx, s.db)
	if err != nil {
		return explain(ctx, "audit", err)
	}
	defer t.end()
	found := make([]fdb.FutureByteSlice, len(ids))
	for i, id := range ids {
		found[i] = t.Get(fdb.Key(s.key(tableAccount, id)))
	}
	for i, f := range found {
		if states[i], _, err = stateOf(f); err != nil {
			return explain(ctx, "audit", err)
		}
	}
	return nil
}

// stateOf waits for an account; one that is not there has the zero State.
func stateOf(f fdb.FutureByteSlice) (state bank.State, exists bool, err error) {
	value, err := f.Get()
	if err != nil || value == nil {
		return state, false, err
	}
	err = readWords(tableAccount, value, &state.Balance, &state.Version)
	return state, true, err
}

// AuditAll implements bank.Auditor. More accounts than can be read in the five
// seconds of a transaction give an error.
func (s *bankStore) AuditAll(ctx context.Context) (bank.Totals, error) {
	r := reader{ctx: ctx, db: s.db, single: true}
	defer r.close()
	var all bank.Totals
	err := r.open()
	if err == nil {
		begin, end := s.rows(tableAccount)
		err = r.table(begin, end, rows(tableAccount, s.account, func(a bank.Account) error {
			all.Accounts++
			all.Balance += a.Balance
			all.Versions += a.Version
			return nil
		}).row)
	}
	switch {
	case codeOf(err) == codeTooOld:
		return bank.Totals{}, fmt.Errorf("foundationdb: audit all accounts: more than one transaction can read in five seconds, audit fewer: %w", err)
	case err != nil:
		return bank.Totals{}, explain(ctx, "audit all accounts", err)
	}
	return all, nil
}

// bankSession is a bank.Session.
type bankSession struct{ session }

func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	n, err := s.session(ctx)
	return &bankSession{n}, err
}

// Transfer implements bank.Session. What it refuses it has read at one version,
// and it commits nothing then.
func (n *bankSession) Transfer(ctx context.Context, x bank.Transfer) (reply bank.Reply) {
	var source, destination bank.State
	reply.Reply = n.transact(ctx, "transfer", func(t *transaction) (r workload.Reply, err error) {
		r, source, destination, err = n.move(t, x)
		return r, err
	})
	if reply.Outcome == history.Committed {
		reply.Source, reply.Destination = source, destination
	}
	return reply
}

// move reads the three rows at the same time and writes them, unless it replies why
// nothing is to be written.
func (n *bankSession) move(t *transaction, x bank.Transfer) (reply workload.Reply, from, to bank.State, err error) {
	journal, source, destination := n.key(tableJournal, x.ID), n.key(tableAccount, x.Source), n.key(tableAccount, x.Destination)
	entry, debit, credit := t.Get(fdb.Key(journal)), t.Get(fdb.Key(source)), t.Get(fdb.Key(destination))
	before, err := entry.Get()
	if err != nil {
		return reply, from, to, err
	}
	if before != nil {
		return duplicate(), from, to, nil
	}
	from, haveFrom, err := stateOf(debit)
	if err != nil {
		return reply, from, to, err
	}
	to, haveTo, err := stateOf(credit)
	switch {
	case err != nil:
		return reply, from, to, err
	case !haveFrom || !haveTo:
		return workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoAccount}, from, to, nil
	case from.Balance < x.Amount:
		return workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoFunds}, from, to, nil
	case x.Source == x.Destination || x.Amount < 0 || to.Balance > math.MaxInt64-x.Amount:
		return reply, from, to, fmt.Errorf("no transfer: %+v onto a balance of %d", x, to.Balance)
	}
	from = bank.State{Balance: from.Balance - x.Amount, Version: from.Version + 1}
	to = bank.State{Balance: to.Balance + x.Amount, Version: to.Version + 1}
	t.Set(fdb.Key(journal), appendWords(nil, x.Source, x.Destination, x.Amount, from.Version, to.Version))
	t.Set(fdb.Key(source), appendWords(nil, from.Balance, from.Version))
	t.Set(fdb.Key(destination), appendWords(nil, to.Balance, to.Version))
	return committed(), from, to, nil
}
