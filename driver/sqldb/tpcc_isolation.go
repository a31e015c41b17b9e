package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/tpcc"
)

var _ tpcc.IsolationStore = (*tpccStore)(nil)

// The statements of a stepped session, behind those of every session.
const (
	raisePrice = insertLines + tpcc.MaxLines + 1 + iota
	// removeTests is the first of several.
	removeTests
)

// tpccRemovals remove the rows of the isolation tests from each table, whose keys or
// indexes begin with the column.
func tpccRemovals(d *Dialect) (statements []Statement) {
	for _, of := range [...][2]string{
		{"item", "i_id"}, {"warehouse", "w_id"}, {"district", "d_w_id"}, {"customer", "c_w_id"}, {"orders", "o_w_id"},
		{"new_order", "no_w_id"}, {"order_line", "ol_w_id"}, {"stock", "s_w_id"}, {"history", "h_operation"}, {"delivery", "dl_operation"},
	} {
		table, column := of[0], of[1]
		statements = append(statements, Statement{"remove_" + table, "DELETE FROM " + d.Table(table) + " WHERE " + column + " BETWEEN $1 AND $2"})
	}
	return statements
}

// removed are the bounds of the column of a removal.
func removed(statement Statement) []Value {
	switch statement.Name {
	case "remove_item":
		return []Value{OfInt(tpcc.FirstTestItem), OfInt(tpcc.LastTestItem)}
	case "remove_history", "remove_delivery":
		return []Value{OfInt(tpcc.FirstTestOperation), OfInt(tpcc.LastTestOperation)}
	default:
		return []Value{OfInt(tpcc.TestWarehouse + 1), OfInt(tpcc.LastTestWarehouse)}
	}
}

func (s *tpccStore) Stepped(ctx context.Context, stop tpcc.Stop) (tpcc.SteppedSession, error) {
	d := s.Dialect()
	removals := tpccRemovals(d)
	raise := Statement{"raise", "UPDATE " + d.Table("item") + " SET i_price = i_price + $2 WHERE i_id = $1"}
	c, err := s.Connect(ctx, slices.Concat(tpccStatements(d), []Statement{raise}, removals))
	if err != nil {
		return nil, err
	}
	return &tpccStepped{tpccSession{connection: c, returning: d.Returning, stop: stop}, removals}, nil
}

// tpccStepped is a session of the isolation tests.
type tpccStepped struct {
	tpccSession
	removals []Statement
}

func (s *tpccStepped) Waiting(ctx context.Context) (waiting, known bool, err error) {
	if w, can := s.connection.(LockWaiter); can {
		return w.Waiting(ctx)
	}
	return false, false, nil
}

func (s *tpccStepped) Remove(ctx context.Context) workload.Reply {
	return s.connection.Transaction(ctx, true, func(ctx context.Context, t Transaction) error {
		for i, statement := range s.removals {
			if err := t.Execute(ctx, removeTests+i, removed(statement)...); err != nil {
				return err
			}
		}
		return nil
	}).Reply
}

func (s *tpccStepped) Prices(ctx context.Context, items []int64, raise int64) tpcc.PricesReply {
	var prices []int64
	r := s.connection.Transaction(ctx, raise != 0, func(ctx context.Context, t Transaction) error {
		for _, item := range items {
			if raise == 0 {
				break
			}
			if err := t.Execute(ctx, raisePrice, OfInt(item), OfInt(raise)); err != nil {
				return err
			}
		}
		for _, item := range items {
			var id, price int64
			if err := row(ctx, t, readItems, "such item", append([]any{&id, &price}, texts(2)...), OfKeys([]int64{item})); err != nil {
				return err
			}
			prices = append(prices, price)
		}
		return s.stopAtEnd(nil)
	})
	reply := tpcc.PricesReply{Reply: r.Reply}
	if r.Outcome == history.Committed {
		reply.Prices = prices
	}
	return reply
}

// stopAfter is Stop.After, whose *tpcc.StopError has the transaction rolled back.
func (s *tpccSession) stopAfter(at tpcc.Point, do func() error, read func() []int64) error {
	return rolledBack(s.stop.After(at, do, read))
}

// stopAtEnd is Stop.AtEnd alike.
func (s *tpccSession) stopAtEnd(err error, values ...int64) error {
	return rolledBack(s.stop.AtEnd(err, values...))
}

func rolledBack(err error) error {
	if errors.As(err, new(*tpcc.StopError)) {
		return fmt.Errorf("%w: %w", err, ErrRollback)
	}
	return err
}
