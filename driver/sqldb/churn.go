package sqldb

import (
	"context"
	"fmt"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/churn"
)

// ChurnSchema is the Schema of workload churn.
func ChurnSchema() Schema {
	return Schema{Workload: "churn", Tables: []Table{{
		Name: "entry", Columns: []Column{{Name: "id"}, {Name: "payload", Type: String, Length: 10000}},
	}}}
}

// churnStore is the Store on a Database of ChurnSchema.
type churnStore struct {
	Database
	compactions []string
}

func (s *churnStore) Repairs() []string { return s.compactions }

func (s *churnStore) Repair(ctx context.Context, name string) error {
	if !slices.Contains(s.compactions, name) {
		return fmt.Errorf("there is no repair %q", name)
	}
	return s.Compact(ctx, name)
}

func (s *churnStore) Size(ctx context.Context) (workload.Size, error) { return s.FileSize(ctx) }

func (s *churnStore) Read(ctx context.Context, row func(churn.Row) error) error {
	return readAll(ctx, s.Database, "entry", churn.Columns(), row)
}

const churnDelete = 0

func (s *churnStore) Session(ctx context.Context) (churn.Session, error) {
	d := s.Dialect()
	c, err := s.Connect(ctx, []Statement{
		churnDelete: {"delete", "DELETE FROM " + d.Table("entry") + " WHERE " + d.in("id", "$1")},
	})
	if err != nil {
		return nil, err
	}
	return churnSession{c}, nil
}

type churnSession struct{ connection Connection }

func (s churnSession) Close() { s.connection.Close() }

func (s churnSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	if len(rows) == 0 {
		return workload.Reply{Outcome: history.Committed}
	}
	return s.connection.Insert(ctx, rowsOf("entry", churn.Columns(), rows)).Reply
}

func (s churnSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	if len(ids) == 0 {
		return workload.Reply{Outcome: history.Committed}
	}
	return s.connection.Execute(ctx, churnDelete, OfKeys(ids)).Reply
}
