//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

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

var (
	_ bank.Store   = (*bankStore)(nil)
	_ bank.Auditor = (*bankStore)(nil)
)

// OpenBank connects to the cluster and returns its Store. It returns
// *workload.OptionError or *workload.UnreachableError.
func OpenBank(ctx context.Context, target workload.Target) (bank.Store, error) {
	p, err := openSchema(ctx, target, "bank", tableAccount, tableJournal)
	if err != nil {
		return nil, err
	}
	return &bankStore{p}, nil
}

// LoadAccounts implements bank.Store. A batch of bank.MaxBatch accounts with
// its conflict ranges is some 150 kB: far below the limit of 10 MB, and below
// the 1 MB from which on a transaction is to be avoided (manual, "Known
// Limitations", "Large transactions").
func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	for part := range slices.Chunk(batch, bank.MaxBatch) {
		_, err := s.change(ctx, "load accounts", func(t *transaction) error {
			if _, err := s.ours(t); err != nil {
				return err
			}
			for _, a := range part {
				t.Set(fdb.Key(s.key(tableAccount, a.ID)), appendWords(nil, a.Balance, a.Version))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FinishLoad implements bank.Store. There is nothing to build.
func (s *bankStore) FinishLoad(ctx context.Context) error { return s.finishLoad(ctx) }

func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	accounts := func(key, value []byte) error {
		var a bank.Account
		if err := s.account(key, value, &a); err != nil {
			return err
		}
		return account(a)
	}
	entries := func(key, value []byte) error {
		var e bank.Entry
		err := errors.Join(s.ids(tableJournal, key, &e.ID),
			readWords(tableJournal, value, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion))
		if err != nil {
			return fmt.Errorf("foundationdb: read: %w", err)
		}
		return entry(e)
	}
	return s.read(ctx, span{tableAccount, accounts}, span{tableJournal, entries})
}

func (s *bankStore) account(key, value []byte, a *bank.Account) error {
	err := errors.Join(s.ids(tableAccount, key, &a.ID), readWords(tableAccount, value, &a.Balance, &a.Version))
	if err != nil {
		return fmt.Errorf("foundationdb: read: %w", err)
	}
	return nil
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
		err = r.table(begin, end, func(key, value []byte) error {
			var a bank.Account
			if err := s.account(key, value, &a); err != nil {
				return err
			}
			all.Accounts++
			all.Balance += a.Balance
			all.Versions += a.Version
			return nil
		})
	}
	switch {
	case codeOf(err) == codeTooOld:
		return bank.Totals{}, fmt.Errorf("foundationdb: audit all accounts: more than one transaction can read in five seconds, audit fewer: %w", err)
	case err != nil:
		return bank.Totals{}, explain(ctx, "audit all accounts", err)
	}
	return all, nil
}

// bankSession is a bank.Session. It holds nothing, since the client has one
// connection for all.
type bankSession struct{ store *bankStore }

func (s *bankStore) Session(ctx context.Context) (bank.Session, error) {
	if _, err := s.look(ctx, "open a session", s.ours); err != nil {
		return nil, err
	}
	return &bankSession{s}, nil
}

func (n *bankSession) Close() {}

// Transfer implements bank.Session. What it refuses it has read at one version,
// and it commits nothing then.
func (n *bankSession) Transfer(ctx context.Context, x bank.Transfer) bank.Reply {
	t, err := begin(ctx, n.store.db)
	if err != nil {
		return bank.Reply{Reply: notBegun(ctx, err)}
	}
	defer t.end()
	reply, err := n.prepare(t, x)
	if err != nil {
		return bank.Reply{Reply: t.failure("transfer", err)}
	}
	if reply.Class != "" {
		return reply
	}
	if err := t.commit(); err != nil {
		return bank.Reply{Reply: t.failure("commit a transfer", err)}
	}
	return reply
}

// prepare reads the three rows at the same time and writes them. A reply with
// a class says why nothing was written.
func (n *bankSession) prepare(t *transaction, x bank.Transfer) (bank.Reply, error) {
	s := n.store
	journal, source, destination := s.key(tableJournal, x.ID), s.key(tableAccount, x.Source), s.key(tableAccount, x.Destination)
	if err := t.guard(s.mark()); err != nil {
		return bank.Reply{}, err
	}
	entry, debit, credit := t.Get(fdb.Key(journal)), t.Get(fdb.Key(source)), t.Get(fdb.Key(destination))
	before, err := entry.Get()
	if err != nil {
		return bank.Reply{}, err
	}
	if before != nil {
		return bank.Reply{Reply: workload.Reply{Outcome: history.Failed, Duplicate: true, Class: workload.ClassDuplicate}}, nil
	}
	from, haveFrom, err := stateOf(debit)
	if err != nil {
		return bank.Reply{}, err
	}
	to, haveTo, err := stateOf(credit)
	if err != nil {
		return bank.Reply{}, err
	}
	switch {
	case !haveFrom || !haveTo:
		return bank.Reply{Reply: workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoAccount}}, nil
	case from.Balance < x.Amount:
		return bank.Reply{Reply: workload.Reply{Outcome: history.Rejected, Class: bank.ClassNoFunds}}, nil
	case x.Source == x.Destination || x.Amount < 0 || to.Balance > math.MaxInt64-x.Amount:
		return bank.Reply{}, fmt.Errorf("no transfer: %+v onto a balance of %d", x, to.Balance)
	}
	from = bank.State{Balance: from.Balance - x.Amount, Version: from.Version + 1}
	to = bank.State{Balance: to.Balance + x.Amount, Version: to.Version + 1}
	t.Set(fdb.Key(journal), appendWords(nil, x.Source, x.Destination, x.Amount, from.Version, to.Version))
	t.Set(fdb.Key(source), appendWords(nil, from.Balance, from.Version))
	t.Set(fdb.Key(destination), appendWords(nil, to.Balance, to.Version))
	return bank.Reply{Reply: workload.Reply{Outcome: history.Committed}, Source: from, Destination: to}, nil
}
