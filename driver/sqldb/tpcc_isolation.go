package sqldb

import (
	"context"
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
	return s.connection.Waiting(ctx)
}

func (s *tpccStepped) Remove(ctx context.Context) workload.Reply {
	return s.transaction(ctx, true, func(t *tpccSteps) {
		for i, statement := range s.removals {
			t.execute(removeTests+i, removed(statement)...)
		}
	}).Reply
}

func (s *tpccStepped) Prices(ctx context.Context, items []int64, raise int64) tpcc.PricesReply {
	var prices []int64
	r := s.transaction(ctx, raise != 0, func(t *tpccSteps) {
		for _, item := range items {
			if raise != 0 {
				t.execute(raisePrice, OfInt(item), OfInt(raise))
			}
		}
		for _, item := range items {
			var id, price int64
			t.row(readItems, "such item", append([]any{&id, &price}, texts(2)...), OfKeys([]int64{item}))
			prices = append(prices, price)
		}
		t.stopAtEnd()
	})
	reply := tpcc.PricesReply{Reply: r.Reply}
	if r.Outcome == history.Committed {
		reply.Prices = prices
	}
	return reply
}
