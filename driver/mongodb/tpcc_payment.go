package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload/tpcc"
)

// customer finds the customer that is asked for: of those of a last name the one in the
// middle (clause 2.5.2.2).
func (t *tpccTransaction) customer(ctx context.Context, of *tpcc.CustomerInput) (int64, error) {
	if of.ID != 0 {
		return of.ID, nil
	}
	var ids []int64
	in := t.collection(tpccCustomer)
	err := eachFound(ctx, in, bson.D{{Key: "_id.c_w_id", Value: of.Warehouse}, {Key: "_id.c_d_id", Value: of.District}, {Key: "c_last", Value: of.Last}},
		options.Find().SetProjection(only()).SetSort(bson.D{{Key: "c_first", Value: 1}, {Key: "_id.c_id", Value: 1}}), func(document bson.Raw) error {
			var warehouse, district, id int64
			err := decodeKey(document, in.Name(), tpcc.CustomerColumns().Names[:customerKey], []any{&warehouse, &district, &id})
			ids = append(ids, id)
			return err
		})
	if err == nil && len(ids) == 0 {
		err = missing(in)
	}
	if err != nil {
		return 0, err
	}
	return ids[tpcc.Middle(len(ids))], nil
}

func (n *tpccSession) Payment(ctx context.Context, in *tpcc.PaymentInput) tpcc.PaymentReply {
	var customer, balance int64
	r := n.write(ctx, tpccHistory, "_id", in.Operation, func(ctx context.Context, t *tpccTransaction) (err error) {
		customer, balance, err = t.pay(ctx, in)
		return err
	})
	reply := tpcc.PaymentReply{Reply: r}
	if r.Outcome == history.Committed {
		reply.Customer, reply.Balance = customer, balance
	}
	return reply
}

func (t *tpccTransaction) pay(ctx context.Context, in *tpcc.PaymentInput) (customer, balance int64, err error) {
	address := func(of string) []string {
		return []string{of + "_name", of + "_street_1", of + "_street_2", of + "_city", of + "_state", of + "_zip"}
	}
	warehouse, err := t.modify(ctx, tpccWarehouse, in.Warehouse, increase(bson.E{Key: "w_ytd", Value: in.Amount}), address("w")...)
	if err != nil {
		return 0, 0, err
	}
	district, err := t.modify(ctx, tpccDistrict, keyOfDistrict(in.Warehouse, in.District), increase(bson.E{Key: "d_ytd", Value: in.Amount}), address("d")...)
	if err != nil {
		return 0, 0, err
	}
	of := &in.Customer
	if customer, err = t.customer(ctx, of); err != nil {
		return 0, 0, err
	}
	paid, err := t.modify(ctx, tpccCustomer, keyOfCustomer(of.Warehouse, of.District, customer), paying(in, customer))
	if err == nil {
		err = t.numbers(tpccCustomer, paid, []string{"c_balance"}, &balance)
	}
	if err != nil {
		return 0, 0, err
	}
	// The names go into the payment (clause 2.5.2.2).
	var names [2]string
	for i, name := range []bson.RawValue{warehouse.Lookup("w_name"), district.Lookup("d_name")} {
		names[i], _ = name.StringValueOK() // a text, which is not judged
	}
	err = t.insert(ctx, tpccHistory, documentsOf(tpcc.PaymentColumns(), []tpcc.Payment{{Operation: in.Operation,
		CustomerWarehouse: of.Warehouse, CustomerDistrict: of.District, Customer: customer, Warehouse: in.Warehouse, District: in.District,
		Amount: in.Amount, Date: in.Moment, Data: names[0] + "    " + names[1]}}))
	return customer, balance, t.stop.AtEnd(err)
}

// paying is what a payment changes of its customer. It notes the payment in the data of
// one with bad credit (clause 2.5.2.2), which the server decides, so that the customer
// need not be read first.
func paying(in *tpcc.PaymentInput, customer int64) bson.A {
	const most = 500 // characters of the data
	of := &in.Customer
	note := fmt.Sprintf("%d %d %d %d %d %d;", customer, of.District, of.Warehouse, in.District, in.Warehouse, in.Amount)
	noted := bson.D{{Key: "$substrCP", Value: bson.A{bson.D{{Key: "$concat", Value: bson.A{note, "$c_data"}}}, 0, most}}}
	return bson.A{set(
		bson.E{Key: "c_balance", Value: bson.D{{Key: "$subtract", Value: bson.A{"$c_balance", in.Amount}}}},
		bson.E{Key: "c_ytd_payment", Value: bson.D{{Key: "$add", Value: bson.A{"$c_ytd_payment", in.Amount}}}},
		bson.E{Key: "c_payment_cnt", Value: bson.D{{Key: "$add", Value: bson.A{"$c_payment_cnt", int64(1)}}}},
		bson.E{Key: "c_data", Value: bson.D{{Key: "$cond", Value: bson.A{
			bson.D{{Key: "$eq", Value: bson.A{"$c_credit", "BC"}}}, noted, "$c_data"}}}})}
}

func (n *tpccSession) OrderStatus(ctx context.Context, in *tpcc.OrderStatusInput) tpcc.OrderStatusReply {
	var found tpcc.OrderStatusReply
	r := n.do(ctx, func(ctx context.Context, t *tpccTransaction) (err error) {
		found, err = t.lastOrder(ctx, &in.Customer)
		return err
	})
	if r.Outcome != history.Committed {
		return tpcc.OrderStatusReply{Reply: r}
	}
	found.Reply = r
	return found
}

// lastOrder is a customer's last order with its lines.
func (t *tpccTransaction) lastOrder(ctx context.Context, of *tpcc.CustomerInput) (found tpcc.OrderStatusReply, err error) {
	if found.Customer, err = t.customer(ctx, of); err != nil {
		return found, err
	}
	customer, err := t.one(ctx, tpccCustomer, keyOfCustomer(of.Warehouse, of.District, found.Customer), "c_balance", "c_first", "c_middle", "c_last")
	if err == nil {
		err = t.numbers(tpccCustomer, customer, []string{"c_balance"}, &found.Balance)
	}
	if err != nil {
		return found, err
	}
	shown := []string{"ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_amount", "ol_delivery_d"}
	fields := []string{"o_entry_d", "o_carrier_id"}
	if t.store.denormalized {
		for _, field := range shown {
			fields = append(fields, embeddedLines+"."+field)
		}
	}
	var order bson.Raw
	var warehouse, district int64
	err = t.stop.After(tpcc.AtLastOrder, func() error {
		in := t.collection(tpccOrders)
		order, err = in.FindOne(ctx, bson.D{{Key: "_id.o_w_id", Value: of.Warehouse}, {Key: "_id.o_d_id", Value: of.District}, {Key: "o_c_id", Value: found.Customer}},
			options.FindOne().SetProjection(only(fields...)).SetSort(bson.D{{Key: "_id.o_id", Value: -1}})).Raw()
		if err := statement("read", in, err); err != nil {
			return err
		}
		return decodeKey(order, in.Name(), tpcc.OrderColumns().Names[:orderKey], []any{&warehouse, &district, &found.Order})
	}, func() []int64 { return []int64{found.Order} })
	if err != nil {
		return found, err
	}
	line := func(line bson.Raw) error {
		var amount int64
		err := t.numbers(tpccLine, line, []string{"ol_amount"}, &amount)
		found.Lines++
		found.Amount += amount
		return err
	}
	if t.store.denormalized {
		err = eachEmbedded(order, line)
	} else {
		err = t.all(ctx, tpccLine, beginning(keyOfLines(warehouse, district, found.Order)), line, shown...)
	}
	return found, t.stop.AtEnd(err)
}
