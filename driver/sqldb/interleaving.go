package sqldb

import (
	"context"
	"fmt"

	"assay/workload"
	"assay/workload/interleaving"
)

var _ interleaving.Store = (*isolationStore)(nil)

// interleavedStatements are those of package interleaving, by their actions. The
// rows are registers.
func (s *isolationStore) interleavedStatements() []Statement {
	table := s.Dialect().Table("register")
	rows := "SELECT id, value FROM " + table
	return []Statement{
		{"none", rows + " WHERE id < 0"},
		interleaving.Read:         {"read", rows + " WHERE id = $1"},
		interleaving.ReadAll:      {"all", rows},
		interleaving.ReadEqual:    {"equal", rows + " WHERE value = $1"},
		interleaving.ReadMultiple: {"multiple", rows + " WHERE value % $1 = 0"},
		interleaving.Set:          {"set", "UPDATE " + table + " SET value = $2 WHERE id = $1"},
		interleaving.AddAll:       {"add", "UPDATE " + table + " SET value = value + $1"},
		interleaving.Insert:       {"insert", "INSERT INTO " + table + " (id, value) VALUES ($1, $2)"},
		interleaving.DeleteEqual:  {"delete", "DELETE FROM " + table + " WHERE value = $1"},
		interleaving.DeleteAll:    {"empty", "DELETE FROM " + table},
	}
}

func (s *isolationStore) Interleaved(ctx context.Context) (interleaving.Session, error) {
	c, err := s.Connect(ctx, s.interleavedStatements())
	if err != nil {
		return nil, err
	}
	return &interleavedSession{c}, nil
}

type interleavedSession struct{ connection Connection }

func (s *interleavedSession) Close() { s.connection.Close() }

func (s *interleavedSession) Waiting(ctx context.Context) (waiting, known bool, err error) {
	return s.connection.Waiting(ctx)
}

func (s *interleavedSession) Transact(ctx context.Context, writes bool, work func(interleaving.Do) error) workload.Reply {
	return s.connection.Transaction(ctx, writes, func(_ context.Context, t Transaction) error {
		return work(func(ctx context.Context, o interleaving.Operation) ([]interleaving.Row, error) {
			return interleaved(ctx, t, o)
		})
	}).Reply
}

// interleaved does one operation.
func interleaved(ctx context.Context, t Transaction, o interleaving.Operation) (rows []interleaving.Row, err error) {
	statement := int(o.Action)
	add := func(row Row) error {
		var r interleaving.Row
		err := row.Scan(&r.ID, &r.Value)
		rows = append(rows, r)
		return err
	}
	switch o.Action {
	case interleaving.Read:
		err = t.Query(ctx, statement, add, OfInt(o.ID))
	case interleaving.ReadAll:
		err = t.Query(ctx, statement, add)
	case interleaving.ReadEqual, interleaving.ReadMultiple:
		err = t.Query(ctx, statement, add, OfInt(o.Value))
	case interleaving.Set, interleaving.Insert:
		err = t.Execute(ctx, statement, OfInt(o.ID), OfInt(o.Value))
	case interleaving.AddAll, interleaving.DeleteEqual:
		err = t.Execute(ctx, statement, OfInt(o.Value))
	case interleaving.DeleteAll:
		err = t.Execute(ctx, statement)
	default:
		err = fmt.Errorf("no operation has the action %d", o.Action)
	}
	return rows, err
}
