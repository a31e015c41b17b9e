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

// The numbers of the tables in the state.
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

// Schema are the tables. They have one unique key that a transfer can violate, one floor,
// and one reference to a row that may be absent, by which a transfer knows what refused it.
// No index covers balance or version.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Transactions: true, Tables: []store.Table{
		{Name: accountTable, Columns: store.Integers(tables()[accountRow].Columns...), Loaded: true, LateKey: true, Updated: true,
			Floors: []store.Minimum{{Name: "account_not_overdrawn", Column: "balance"}}},
		{Name: transferTable, Columns: append(store.Integers(tables()[transferRow].Columns[:4]...),
			store.Column{Name: "source_version", Derived: true}, store.Column{Name: "destination_version", Derived: true})},
	}}
}

// The statements of a session.
const (
	moveMoney = iota
	insertTransfer
	findTransfer
)

// statements are the statements of a session. The journal row takes the versions from the accounts,
// which the transaction has locked by changing them.
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

// Reply is how one attempt of a transfer ended. Duplicate means that the journal
// already held a row of this id.
type Reply struct {
	store.Reply
	// Source and Destination are the states that the transaction left, given
	// with Committed.
	Source, Destination State
}

// State is an account's state as a transaction left it.
type State struct {
	Balance int64
	Version int64
}

// Entry is one row of the journal as read back.
type Entry struct {
	Transfer
	// SourceVersion and DestinationVersion are the versions that the transfer
	// gave its two accounts.
	SourceVersion, DestinationVersion int64
}

// AccountColumns are how accounts are stored.
func AccountColumns() store.Columns[Account] {
	return store.Columns[Account]{Names: []string{"id", "balance", "version"},
		Fields: func(a *Account) []any { return []any{&a.ID, &a.Balance, &a.Version} }}
}

// Store is the workload's tables on a database.
type Store struct{ store.Database }

// Replica is one member that holds a copy of the data.
type Replica = store.Replica

// Over is the Store on a database of the workload's schema.
func Over(db store.Database) Store { return Store{db} }

// LoadAccounts inserts accounts before FinishLoad.
func (s Store) LoadAccounts(ctx context.Context, batch []Account) error {
	return s.Load(ctx, store.RowsOf(accountTable, AccountColumns(), batch))
}

// Read gives the whole state as one consistent view: first each account in ascending order
// of id, then each row of the journal in any order, as the database holds them, however
// wrong. It stops at the first error, of the database's or of a callback's, and returns it.
func (s Store) Read(ctx context.Context, account func(Account) error, entry func(Entry) error) error {
	return ReadFrom(ctx, s.View, account, entry)
}

// ReadFrom is Read by another view, such as that of a replica.
func ReadFrom(ctx context.Context, view func(context.Context, func(store.Reader) error) error, account func(Account) error, entry func(Entry) error) error {
	return state().From(view)(ctx, split(account, entry))
}

// Audit reads these accounts, at most MaxAudited, in one transaction that only reads, into
// states, in the order of ids: by a statement each, since it is the snapshot that makes them
// agree. An error means that nothing is known; an account that is not there has the zero
// State.
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

// AuditAll reads all accounts in one transaction that only reads.
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

// Session is one client's, usually one connection. All that a transfer needs is made once, since it is the work
// that is done most often.
type Session struct {
	store.Session
	batch         store.Batch
	lower, higher State
	// found is whether the inquiry found the transfer in the journal.
	found  bool
	values [4]int64
}

// Session opens what one client uses.
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

// scanState scans the state of an account; without a row it stays as it is.
func scanState(s *State) func(store.Row) error {
	into := []any{&s.Balance, &s.Version}
	return func(row store.Row) error { return row.Scan(into...) }
}

// Transfer does a transfer in one transaction: the debit (never below zero), the credit and
// the journal row. It changes the account with the lower id first, as a careful application does, so
// that two transfers cannot wait for each other.
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

// refused completes the reply to a transfer that a constraint refused. If that was for want
// of funds or of an account, it may be the repetition of a transfer that has already taken
// them: the journal knows.
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

// Error classes of this workload's own, beside those of package workload.
const (
	ClassNoFunds   = "no funds"
	ClassNoAccount = "no such account"
)
