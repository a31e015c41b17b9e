package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/history"
	"assay/workload"
	"assay/workload/tpcc"
)

var _ tpcc.IsolationStore = (*tpccStore)(nil)

func (s *tpccStore) Promise() string { return s.promise() }

// Stepped implements tpcc.IsolationStore.
func (s *tpccStore) Stepped(ctx context.Context, stop tpcc.Stop) (tpcc.SteppedSession, error) {
	x, err := s.transactor(ctx)
	if err != nil {
		return nil, err
	}
	return &tpccStepped{tpccSession{transactor: x, store: s, stop: stop}}, nil
}

// tpccStepped is a session of the isolation tests.
type tpccStepped struct{ tpccSession }

// Waiting implements tpcc.SteppedSession. A statement that meets another transaction's
// write is refused at once, as in workload isolation, so that there is no account of waits.
func (n *tpccStepped) Waiting(context.Context) (waiting, known bool, err error) {
	return false, false, nil
}

// Remove implements tpcc.SteppedSession.
func (n *tpccStepped) Remove(ctx context.Context) workload.Reply {
	between := func(from, to int64) bson.D {
		return byID(bson.D{{Key: "$gte", Value: from}, {Key: "$lte", Value: to}})
	}
	// warehouses is between of a key that begins with this field.
	warehouses := func(field string) bson.D {
		return keysBetween(bson.D{{Key: field, Value: int64(tpcc.TestWarehouse + 1)}}, bson.D{{Key: field, Value: int64(tpcc.LastTestWarehouse + 1)}})
	}
	operations := between(tpcc.FirstTestOperation, tpcc.LastTestOperation)
	return n.do(ctx, func(ctx context.Context, t *tpccTransaction) error {
		for number, filter := range [...]bson.D{
			tpccItem:      between(tpcc.FirstTestItem, tpcc.LastTestItem),
			tpccWarehouse: between(tpcc.TestWarehouse+1, tpcc.LastTestWarehouse),
			tpccDistrict:  warehouses("d_w_id"),
			tpccCustomer:  warehouses("c_w_id"),
			tpccHistory:   operations,
			tpccOrders:    warehouses("o_w_id"),
			tpccNewOrder:  warehouses("no_w_id"),
			tpccLine:      warehouses("ol_w_id"),
			tpccStock:     warehouses("s_w_id"),
			tpccDelivery:  operations,
		} {
			in := t.collection(number)
			if _, err := in.DeleteMany(ctx, filter); err != nil {
				return statement("delete from", in, err)
			}
		}
		return nil
	})
}

// Prices implements tpcc.SteppedSession.
func (n *tpccStepped) Prices(ctx context.Context, items []int64, raise int64) tpcc.PricesReply {
	var prices []int64
	r := n.do(ctx, func(ctx context.Context, t *tpccTransaction) error {
		const field = "i_price"
		for _, item := range items {
			var document bson.Raw
			var price int64
			var err error
			if raise == 0 {
				document, err = t.one(ctx, tpccItem, item, field)
			} else {
				document, err = t.modify(ctx, tpccItem, item, increase(bson.E{Key: field, Value: raise}), field)
			}
			if err == nil {
				err = t.numbers(tpccItem, document, []string{field}, &price)
			}
			if err != nil {
				return err
			}
			prices = append(prices, price)
		}
		return t.stop.AtEnd(nil)
	})
	reply := tpcc.PricesReply{Reply: r}
	if r.Outcome == history.Committed {
		reply.Prices = prices
	}
	return reply
}
