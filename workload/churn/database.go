package churn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

// Schema is the table.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Durable: true, Tables: []store.Table{{
		Name: "entry", Columns: []store.Column{{Name: "id"}, {Name: "payload", Type: store.String, Length: 10000}},
	}}}
}

// Opener opens the Store by a driver's Opener. It gives *workload.OptionError also for a
// database without a compaction.
func Opener(open store.Opener) func(context.Context, workload.Target) (Store, error) {
	return func(ctx context.Context, target workload.Target) (Store, error) {
		db, err := open(ctx, target, Schema())
		if err != nil {
			return nil, err
		}
		opened, err := Over(db)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		return opened, nil
	}
}

// On is the support of the workload by a driver.
func On(open store.Opener, lacks store.Lacks) definition.Support {
	return definition.On(Definition(), open, lacks, Opener)
}

// Over is the Store on a database of the workload's schema.
func Over(db store.Database) (Store, error) {
	compacting, is := store.As[store.Compacting](db)
	if !is {
		return nil, fmt.Errorf("the database has no compaction that a client can ask for: %s", db.Lacks()[store.Compactions])
	}
	names, err := compacting.Compactions()
	if err != nil {
		return nil, err
	}
	return &database{db, compacting, names}, nil
}

// database is a Store over a store.Database.
type database struct {
	store.Database
	compacting  store.Compacting
	compactions []string
}

func (d *database) Repairs() []string { return d.compactions }

func (d *database) Repair(ctx context.Context, name string) error {
	if !slices.Contains(d.compactions, name) {
		return fmt.Errorf("there is no repair %q", name)
	}
	return d.compacting.Compact(ctx, name)
}

func (d *database) Size(ctx context.Context) (workload.Size, error) {
	return d.compacting.FileSize(ctx)
}

func (d *database) Read(ctx context.Context, row func(Row) error) error {
	return store.ReadAll(ctx, d.View, func(r store.Reader) error { return store.Each(ctx, r, "entry", Columns(), row) })
}

func (d *database) Session(ctx context.Context) (Session, error) {
	s, err := d.Database.Session(ctx, []store.Statement{{Name: "delete", Verb: store.Delete, Table: "entry",
		Where: []store.Condition{{Column: "id", Is: store.In, Value: store.Parameter(1)}}}})
	if err != nil {
		return nil, err
	}
	return session{s}, nil
}

// session is a Session over that of a database.
type session struct{ store.Session }

func (s session) Insert(ctx context.Context, rows []Row) Reply {
	if len(rows) == 0 {
		return Reply{Outcome: history.Committed}
	}
	return s.Session.Insert(ctx, store.RowsOf("entry", Columns(), rows)).Reply
}

func (s session) Delete(ctx context.Context, ids []int64) Reply {
	if len(ids) == 0 {
		return Reply{Outcome: history.Committed}
	}
	return s.Run(ctx, store.Call{Parameters: []store.Value{store.OfKeys(ids)}}).Reply
}
