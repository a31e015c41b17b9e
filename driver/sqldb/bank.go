package sqldb

import (
	"context"
	"fmt"

	"assay/store"
	"assay/workload/bank"
)

// BankSchema is the Schema of workload bank. The tables have one unique key that a
// transfer can violate, one CHECK constraint, and one reason for a null, by which a
// transfer knows what refused it. No index covers balance or version.
func BankSchema() Schema {
	return Schema{Workload: "bank", Transactions: true, Tables: []Table{
		{
			Name: "account", Columns: []Column{{Name: "id"}, {Name: "balance"}, {Name: "version"}},
			Floors: []store.Minimum{{Name: "account_not_overdrawn", Column: "balance"}},
			Loaded: true, LateKey: true, Updated: true,
		},
		{
			Name: "transfer", Columns: []Column{
				{Name: "id"}, {Name: "source"}, {Name: "destination"}, {Name: "amount"},
				{Name: "source_version", Derived: true}, {Name: "destination_version", Derived: true},
			},
		},
	}}
}

// ReplicatedDatabase is one with replicas; see bank.Replicated.
type ReplicatedDatabase interface {
	Database
	Replicas(ctx context.Context) ([]bank.Replica, map[string]error, error)
	CatchUp(ctx context.Context, replica bank.Replica) error
	// ViewReplica is View on a replica.
	ViewReplica(ctx context.Context, replica bank.Replica, read func(Reader) error) error
}

// Bank is the Store on a Database of BankSchema; it is bank.Replicated if the
// Database is a ReplicatedDatabase.
func Bank(db Database) bank.Store {
	store := &bankStore{db}
	if replicated, is := db.(ReplicatedDatabase); is {
		return &replicatedBank{store, replicated}
	}
	return store
}

type bankStore struct{ Database }

var (
	_ bank.Auditor    = (*bankStore)(nil)
	_ bank.Reloader   = (*bankStore)(nil)
	_ bank.BatchSizer = (*bankStore)(nil)
)

// bulkLoader is a Database that loads many rows at once best.
type bulkLoader interface {
	// BulkRows is how many rows a call of Load is best given; 0 for no wish.
	BulkRows() int
}

// BatchSize implements bank.BatchSizer.
func (s *bankStore) BatchSize() int {
	if db, is := s.Database.(bulkLoader); is {
		return max(db.BulkRows(), bank.MaxBatch)
	}
	return bank.MaxBatch
}

func (s *bankStore) LoadAccounts(ctx context.Context, batch []bank.Account) error {
	return s.Load(ctx, rowsOf("account", bank.AccountColumns(), batch))
}

// ReloadAccounts implements bank.Reloader. A batch is in or not, as a whole.
func (s *bankStore) ReloadAccounts(ctx context.Context, batch []bank.Account) error {
	if len(batch) == 0 {
		return nil
	}
	var rows int
	err := s.View(ctx, func(r Reader) error {
		return One(ctx, r, "SELECT count(*) FROM "+s.Dialect().Table("account")+" WHERE id BETWEEN $1 AND $2",
			[]Value{OfInt(batch[0].ID), OfInt(batch[len(batch)-1].ID)}, &rows)
	})
	switch {
	case err != nil:
		return err
	case rows == 0:
		return s.LoadAccounts(ctx, batch)
	case rows != len(batch):
		return fmt.Errorf("of a batch of %d accounts %d are there, though it was one transaction", len(batch), rows)
	}
	return nil
}

func (s *bankStore) Read(ctx context.Context, account func(bank.Account) error, entry func(bank.Entry) error) error {
	return s.readFrom(ctx, s.View, account, entry)
}

func (s *bankStore) readFrom(ctx context.Context, from func(context.Context, func(Reader) error) error,
	account func(bank.Account) error, entry func(bank.Entry) error) error {
	return view(ctx, from, allRows(s.Dialect(), "account", " ORDER BY id", bank.AccountColumns(), account),
		allRows(s.Dialect(), "transfer", "", bank.EntryColumns(), entry))
}

// Audit reads the accounts by a statement each, since it is the snapshot that
// makes them agree.
func (s *bankStore) Audit(ctx context.Context, ids []int64, states []bank.State) error {
	if len(ids) > bank.MaxAudited || len(states) < len(ids) {
		return fmt.Errorf("audit of %d accounts into %d states; at most %d", len(ids), len(states), bank.MaxAudited)
	}
	text := "SELECT balance, version FROM " + s.Dialect().Table("account") + " WHERE id = $1"
	return s.AuditView(ctx, func(r Reader) error {
		for i, id := range ids {
			states[i] = bank.State{}
			err := r.Query(ctx, text, func(found Row) error { return found.Scan(&states[i].Balance, &states[i].Version) }, OfInt(id))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *bankStore) AuditAll(ctx context.Context) (t bank.Totals, err error) {
	d := s.Dialect()
	err = s.AuditView(ctx, func(r Reader) error {
		return r.Query(ctx, "SELECT count(*), "+d.sum("balance")+", "+d.sum("version")+" FROM "+d.Table("account"),
			func(found Row) error { return found.Scan(&t.Accounts, &t.Balance, &t.Versions) })
	})
	if err != nil {
		return bank.Totals{}, err
	}
	return t, nil
}

type replicatedBank struct {
	*bankStore
	replicated ReplicatedDatabase
}

var _ bank.Replicated = (*replicatedBank)(nil)

func (s *replicatedBank) Replicas(ctx context.Context) ([]bank.Replica, map[string]error, error) {
	return s.replicated.Replicas(ctx)
}

func (s *replicatedBank) CatchUp(ctx context.Context, replica bank.Replica) error {
	return s.replicated.CatchUp(ctx, replica)
}

func (s *replicatedBank) ReadReplica(ctx context.Context, replica bank.Replica, account func(bank.Account) error, entry func(bank.Entry) error) error {
	from := func(ctx context.Context, read func(Reader) error) error {
		return s.replicated.ViewReplica(ctx, replica, read)
	}
	return s.readFrom(ctx, from, account, entry)
}
