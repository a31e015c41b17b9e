package bank

import (
	"context"
	"fmt"

	"assay/history"
	"assay/store"
	"assay/workload/journal"
)

const (
	accountTable  = "account"
	transferTable = "transfer"
)

const (
	accountRow = iota
	transferRow
)

func tables() []journal.Table {
	return []journal.Table{
		accountRow:  {Name: accountTable, Columns: []string{"id", "balance", "version"}, Order: []string{"id"}},
		transferRow: {Name: transferTable, Columns: []string{"id", "source", "destination", "amount", "source_version", "destination_version"}},
	}
}

// Schema returns the tables. Their unique key, floor and reference tell what refused a transfer,
// since there is one of each. No index covers balance or version, so that updates stay cheap.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Transactions: true, Tables: []store.Table{
		{Name: accountTable, Columns: store.Integers(tables()[accountRow].Columns...), Loaded: true, LateKey: true, Updated: true,
			Floors: []store.Minimum{{Name: "account_not_overdrawn", Column: "balance"}}},
		{Name: transferTable, Columns: append(store.Integers(tables()[transferRow].Columns[:4]...),
			store.Column{Name: "source_version", Derived: true}, store.Column{Name: "destination_version", Derived: true})},
	}}
}

const (
	moveMoney = iota
	insertTransfer
	findTransfer
)

// The journal row takes the versions from the accounts, which the transaction has locked.
func statements() []store.Statement {
	version := func(account int) store.Expression {
		return store.Left(accountTable, "version", store.Parameter(account))
	}
	return []store.Statement{
		moveMoney: {Name: "move", Verb: store.Update, Table: accountTable, Columns: []string{"balance", "version"}, Where: store.Where("id"),
			Set: []store.Assignment{store.Add("balance", store.Parameter(2)), store.Add("version", store.Number(1))}},
		insertTransfer: {Name: "journal", Verb: store.Insert, Table: transferTable, Columns: tables()[transferRow].Columns,
			Values: []store.Expression{store.Parameter(1), store.Parameter(2), store.Parameter(3), store.Parameter(4), version(2), version(3)}},
		findTransfer: {Name: "find", Verb: store.Read, Table: transferTable, Columns: []string{"id"}, Where: store.Where("id")},
	}
}

// Reply is the end of an attempt. Duplicate: the journal had a row of this id already.
type Reply struct {
	store.Reply
	// Source and Destination are set with Committed, as the transaction left them.
	Source, Destination State
}

// State is an account as a transaction left it.
type State struct {
	Balance int64
	Version int64
}

// Entry is a journal row as read back.
type Entry struct {
	Transfer
	SourceVersion, DestinationVersion int64
}

// AccountColumns maps accounts to columns.
func AccountColumns() store.Columns[Account] {
	return store.Columns[Account]{Names: []string{"id", "balance", "version"},
		Fields: func(a *Account) []any { return []any{&a.ID, &a.Balance, &a.Version} }}
}

// Store is a database with the workload's schema.
type Store struct{ store.Database }

// Replica is a member with a copy of the data.
type Replica = store.Replica

// Over returns the Store on a database.
func Over(db store.Database) Store { return Store{db} }

// LoadAccounts inserts accounts before FinishLoad.
func (s Store) LoadAccounts(ctx context.Context, batch []Account) error {
	return s.Load(ctx, store.RowsOf(accountTable, AccountColumns(), batch))
}

// Read gives the whole state in one consistent view, however wrong: accounts by ascending id,
// then the journal in any order. It stops at the first error, of the database or of a callback.
func (s Store) Read(ctx context.Context, account func(Account) error, entry func(Entry) error) error {
	return ReadFrom(ctx, s.View, account, entry)
}

// ReadFrom is Read by another view, such as a replica's.
func ReadFrom(ctx context.Context, view func(context.Context, func(store.Reader) error) error, account func(Account) error, entry func(Entry) error) error {
	return state().From(view)(ctx, split(account, entry))
}

// Audit reads at most MaxAudited accounts in one read-only transaction, into states, in the
// order of ids. Each has its own statement: the snapshot makes them agree. A missing account has
// the zero State. After an error nothing is known.
func (s Store) Audit(ctx context.Context, ids []int64, states []State) error {
	if len(ids) > MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("audit of %d accounts into %d states; at most %d", len(ids), len(states), MaxAudited)
	}
	one := store.Statement{Name: "audit", Verb: store.Read, Table: accountTable, Columns: []string{"balance", "version"}, Where: store.Where("id")}
	return s.Database.Audit(ctx, func(r store.Reader) error {
		for i, id := range ids {
			states[i] = State{}
			err := r.Read(ctx, one, func(row store.Row) error { return row.Scan(&states[i].Balance, &states[i].Version) }, store.OfInt(id))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// AuditAll reads all accounts in one read-only transaction.
func (s Store) AuditAll(ctx context.Context) (t Totals, err error) {
	all := store.Statement{Name: "audit_all", Verb: store.Count, Table: accountTable, Columns: []string{"balance", "version"}}
	err = s.Database.Audit(ctx, func(r store.Reader) error {
		return r.Read(ctx, all, func(row store.Row) error { return row.Scan(&t.Accounts, &t.Balance, &t.Versions) })
	})
	if err != nil {
		return Totals{}, err
	}
	return t, nil
}

// Session is one client's. It reuses its buffers: transfers are the bulk of a run.
type Session struct {
	store.Session
	batch         store.Batch
	lower, higher State
	// found is true if the inquiry found the transfer in the journal.
	found  bool
	values [4]int64
}

// Session opens a client's session.
func (s Store) Session(ctx context.Context) (*Session, error) {
	opened, err := s.Database.Session(ctx, statements())
	if err != nil {
		return nil, err
	}
	c := &Session{Session: opened}
	parameters := func(n int) []store.Value { return make([]store.Value, n) }
	c.batch.Calls = []store.Call{
		{Statement: moveMoney, Parameters: parameters(2), Row: scanState(&c.lower)},
		{Statement: moveMoney, Parameters: parameters(2), Row: scanState(&c.higher)},
		{Statement: insertTransfer, Parameters: parameters(4)},
	}
	c.batch.Inquiry = &store.Call{Statement: findTransfer, Parameters: parameters(1), Row: func(store.Row) error {
		c.found = true
		return nil
	}}
	return c, nil
}

// scanState leaves the state alone if there is no row.
func scanState(s *State) func(store.Row) error {
	into := []any{&s.Balance, &s.Version}
	return func(row store.Row) error { return row.Scan(into...) }
}

// Transfer does a transfer in one transaction: the debit (never below zero), the credit and the
// journal row. It changes the lower account id first, so that two transfers cannot deadlock.
func (s *Session) Transfer(ctx context.Context, t Transfer) Reply {
	lower, higher, change := t.Source, t.Destination, -t.Amount
	if t.Source > t.Destination {
		lower, higher, change = t.Destination, t.Source, t.Amount
	}
	calls := s.batch.Calls
	calls[0].Parameters[0].Number, calls[0].Parameters[1].Number = lower, change
	calls[1].Parameters[0].Number, calls[1].Parameters[1].Number = higher, -change
	journal := calls[2].Parameters
	journal[0].Number, journal[1].Number, journal[2].Number, journal[3].Number = t.ID, t.Source, t.Destination, t.Amount
	s.batch.Inquiry.Parameters[0].Number = t.ID
	s.found = false
	r := s.Batch(ctx, &s.batch)
	reply := Reply{Reply: r}
	switch {
	case r.Outcome == history.Committed:
		reply.Source, reply.Destination = s.lower, s.higher
		if t.Source > t.Destination {
			reply.Source, reply.Destination = s.higher, s.lower
		}
	case r.Violated != store.NoViolation:
		s.refused(&reply, r.Violated)
	}
	return reply
}

// refused completes the reply to a transfer that a constraint refused. A floor or missing
// account may refuse the repetition of a transfer that is done; the journal tells.
func (s *Session) refused(reply *Reply, by store.Violation) {
	switch {
	case by == store.Unique || s.found:
		reply.Duplicate, reply.Class = true, store.ClassDuplicate
	case by == store.Floor:
		reply.Outcome, reply.Class = history.Rejected, ClassNoFunds
	default:
		reply.Outcome, reply.Class = history.Rejected, ClassNoAccount
	}
}

// Error classes beside those of package store.
const (
	ClassNoFunds   = "no funds"
	ClassNoAccount = "no such account"
)
