package bank

import (
	"context"
	"fmt"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

const (
	accountTable  = "account"
	transferTable = "transfer"
)

// Schema are the tables. They have one unique key that a transfer can violate, one floor,
// and one reference to a row that may be absent, by which a transfer knows what refused it.
// No index covers balance or version.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Transactions: true, Tables: []store.Table{
		{Name: accountTable, Columns: store.Integers(AccountColumns().Names...), Loaded: true, LateKey: true, Updated: true,
			Floors: []store.Minimum{{Name: "account_not_overdrawn", Column: "balance"}}},
		{Name: transferTable, Columns: append(store.Integers(EntryColumns().Names[:4]...),
			store.Column{Name: "source_version", Derived: true}, store.Column{Name: "destination_version", Derived: true})},
	}}
}

// The statements of a session.
const (
	moveMoney = iota
	insertTransfer
	findTransfer
)

// statements are those of a session. The journal row takes the versions from the accounts,
// which the transaction has locked by changing them.
func statements() []store.Statement {
	version := func(account int) store.Expression {
		return store.Left(accountTable, "version", store.Parameter(account))
	}
	return []store.Statement{
		moveMoney: {Name: "move", Verb: store.Update, Table: accountTable, Columns: []string{"balance", "version"}, Where: store.Where("id"),
			Set: []store.Assignment{store.Add("balance", store.Parameter(2)), store.Add("version", store.Number(1))}},
		insertTransfer: {Name: "journal", Verb: store.Insert, Table: transferTable, Columns: EntryColumns().Names,
			Values: []store.Expression{store.Parameter(1), store.Parameter(2), store.Parameter(3), store.Parameter(4), version(2), version(3)}},
		findTransfer: {Name: "find", Verb: store.Read, Table: transferTable, Columns: []string{"id"}, Where: store.Where("id")},
	}
}

// Opener opens the Store by a driver's Opener.
func Opener(open store.Opener) func(context.Context, workload.Target) (Store, error) {
	return definition.Opening(definition.Fixed(Schema), open, Over)
}

// On is the support of the workload by a driver.
func On(open store.Opener, lacks store.Lacks) definition.Support {
	return definition.On(Definition(), open, lacks, Opener)
}

// Over is the Store on a database of the workload's schema. It is an Auditor if the
// database has snapshots, and Replicated if it has replicas.
func Over(db store.Database) Store {
	d := &database{db}
	replicated, copies := store.As[store.Replicated](db)
	switch {
	case copies:
		return &replicatedDatabase{d, replicated}
	case db.Lacks()[store.Snapshots] != "":
		return struct{ Store }{d}
	default:
		return d
	}
}

// database is a Store over a store.Database.
type database struct{ store.Database }

var _ = interface {
	Auditor
	Reloader
	BatchSizer
}((*database)(nil))

// BatchSize implements BatchSizer.
func (d *database) BatchSize() int {
	if bulk, is := store.As[store.Bulk](d.Database); is {
		return max(bulk.BulkRows(), MaxBatch)
	}
	return MaxBatch
}

func (d *database) LoadAccounts(ctx context.Context, batch []Account) error {
	return d.Load(ctx, store.RowsOf(accountTable, AccountColumns(), batch))
}

// ReloadAccounts implements Reloader. Where a batch is one transaction, it is in or not as
// a whole.
func (d *database) ReloadAccounts(ctx context.Context, batch []Account) error {
	if len(batch) == 0 {
		return nil
	}
	there := map[int64]bool{}
	in := store.Statement{Name: "loaded", Verb: store.Read, Table: accountTable, Columns: []string{"id"}, Where: []store.Condition{
		{Column: "id", Is: store.AtLeast, Value: store.Parameter(1)}, {Column: "id", Is: store.Below, Value: store.Parameter(2)}}}
	err := d.View(ctx, func(r store.Reader) error {
		return r.Read(ctx, in, func(row store.Row) error {
			var id int64
			err := row.Scan(&id)
			there[id] = true
			return err
		}, store.OfInts(batch[0].ID, batch[len(batch)-1].ID+1)...)
	})
	if err != nil || len(there) == len(batch) {
		return err
	}
	if len(there) > 0 && d.Promises().Atomic {
		return fmt.Errorf("of a batch of %d accounts %d are there, though it was one transaction", len(batch), len(there))
	}
	var left []Account
	for _, a := range batch {
		if !there[a.ID] {
			left = append(left, a)
		}
	}
	return d.LoadAccounts(ctx, left)
}

func (d *database) Read(ctx context.Context, account func(Account) error, entry func(Entry) error) error {
	return readFrom(ctx, d.View, account, entry)
}

func readFrom(ctx context.Context, view func(context.Context, func(store.Reader) error) error,
	account func(Account) error, entry func(Entry) error) error {
	return store.ReadAll(ctx, view, func(r store.Reader) error {
		if err := store.Each(ctx, r, accountTable, AccountColumns(), account, "id"); err != nil {
			return err
		}
		return store.Each(ctx, r, transferTable, EntryColumns(), entry)
	})
}

// Audit reads the accounts by a statement each, since it is the snapshot that makes them
// agree.
func (d *database) Audit(ctx context.Context, ids []int64, states []State) error {
	if len(ids) > MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("audit of %d accounts into %d states; at most %d", len(ids), len(states), MaxAudited)
	}
	one := store.Statement{Name: "audit", Verb: store.Read, Table: accountTable, Columns: []string{"balance", "version"}, Where: store.Where("id")}
	return d.Database.Audit(ctx, func(r store.Reader) error {
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

func (d *database) AuditAll(ctx context.Context) (t Totals, err error) {
	all := store.Statement{Name: "audit_all", Verb: store.Count, Table: accountTable, Columns: []string{"balance", "version"}}
	err = d.Database.Audit(ctx, func(r store.Reader) error {
		return r.Read(ctx, all, func(row store.Row) error { return row.Scan(&t.Accounts, &t.Balance, &t.Versions) })
	})
	if err != nil {
		return Totals{}, err
	}
	return t, nil
}

type replicatedDatabase struct {
	*database
	store.Replicated
}

var _ Replicated = (*replicatedDatabase)(nil)

func (d *replicatedDatabase) ReadReplica(ctx context.Context, member Replica, account func(Account) error, entry func(Entry) error) error {
	return readFrom(ctx, func(ctx context.Context, read func(store.Reader) error) error {
		return d.ViewReplica(ctx, member, read)
	}, account, entry)
}

// session does transfers. All that a transfer needs is made once, since it is the work
// that is done most often.
type session struct {
	store.Session
	batch         store.Batch
	lower, higher State
	// found is whether the inquiry found the transfer in the journal.
	found bool
}

func (d *database) Session(ctx context.Context) (Session, error) {
	opened, err := d.Database.Session(ctx, statements())
	if err != nil {
		return nil, err
	}
	s := &session{Session: opened}
	parameters := func(n int) []store.Value { return make([]store.Value, n) }
	s.batch.Calls = []store.Call{
		{Statement: moveMoney, Parameters: parameters(2), Row: scanState(&s.lower)},
		{Statement: moveMoney, Parameters: parameters(2), Row: scanState(&s.higher)},
		{Statement: insertTransfer, Parameters: parameters(4)},
	}
	s.batch.Inquiry = &store.Call{Statement: findTransfer, Parameters: parameters(1), Row: func(store.Row) error {
		s.found = true
		return nil
	}}
	return s, nil
}

// scanState scans the state of an account; without a row it stays as it is.
func scanState(s *State) func(store.Row) error {
	into := []any{&s.Balance, &s.Version}
	return func(row store.Row) error { return row.Scan(into...) }
}

// Transfer changes the account with the lower id first, as a careful application does, so
// that two transfers cannot wait for each other.
func (s *session) Transfer(ctx context.Context, t Transfer) Reply {
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
	reply := Reply{Reply: r.Reply}
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
func (s *session) refused(reply *Reply, by store.Violation) {
	switch {
	case by == store.Unique || s.found:
		reply.Duplicate, reply.Class = true, workload.ClassDuplicate
	case by == store.Floor:
		reply.Outcome, reply.Class = history.Rejected, ClassNoFunds
	default:
		reply.Outcome, reply.Class = history.Rejected, ClassNoAccount
	}
}
