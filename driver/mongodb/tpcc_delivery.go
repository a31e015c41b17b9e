package mongodb

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload/tpcc"
)

func (n *tpccSession) Delivery(ctx context.Context, in *tpcc.DeliveryInput) tpcc.DeliveryReply {
	var d delivering
	r := n.write(ctx, tpccDelivery, "_id", in.Operation, func(ctx context.Context, t *tpccTransaction) error {
		d = delivering{tpccTransaction: t, in: in}
		return d.do(ctx)
	})
	reply := tpcc.DeliveryReply{Reply: r}
	if r.Outcome == history.Committed {
		reply.Orders = d.orders
	}
	return reply
}

// delivering is one Delivery. Its ten districts are done together: one command for each
// of them takes the oldest order, and one for all of them does each of the other steps.
type delivering struct {
	*tpccTransaction
	in *tpcc.DeliveryInput

	orders [tpcc.Districts]int64
	// customers and sums are those of the orders.
	customers, sums [tpcc.Districts]int64
	// keys are those of the orders, lines the filters of their lines.
	keys, lines bson.A
}

func (d *delivering) do(ctx context.Context) error {
	for i := range d.orders {
		err := d.stop.After(tpcc.AtOldestOrder, func() error { return d.takeOldest(ctx, int64(i)+1) },
			func() []int64 { return []int64{d.orders[i]} })
		if err != nil {
			return err
		}
	}
	if len(d.keys) > 0 {
		for _, step := range []func(context.Context) error{d.readOrders, d.readLines, d.deliver, d.credit} {
			if err := step(ctx); err != nil {
				return err
			}
		}
	}
	err := d.insert(ctx, tpccDelivery, documentsOf(tpcc.DeliveryColumns(), []tpcc.Delivery{{Operation: d.in.Operation,
		Warehouse: d.in.Warehouse, Carrier: d.in.Carrier, Entered: d.in.Moment, Orders: int64(len(d.keys))}}))
	return d.stop.AtEnd(err)
}

// takeOldest takes the oldest order of a district that is not delivered, if there is one.
// It looks by taking: the isolation test has it look twice where there is none.
func (d *delivering) takeOldest(ctx context.Context, district int64) error {
	in, names := d.collection(tpccNewOrder), tpcc.NewOrderColumns().Names
	document, err := in.FindOneAndDelete(ctx, beginning(bson.D{{Key: names[0], Value: d.in.Warehouse}, {Key: names[1], Value: district}}),
		options.FindOneAndDelete().SetSort(bson.D{{Key: "_id", Value: 1}})).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err != nil {
		return statement("take the oldest of", in, err)
	}
	var warehouse, of, order int64
	if err := decodeKey(document, in.Name(), names, []any{&warehouse, &of, &order}); err != nil {
		return err
	}
	d.orders[district-1] = order
	d.keys = append(d.keys, keyOfOrder(d.in.Warehouse, district, order))
	d.lines = append(d.lines, beginning(keyOfLines(d.in.Warehouse, district, order)))
	return nil
}

// readOrders finds whose the orders are and, if their lines are with them, what they come
// to.
func (d *delivering) readOrders(ctx context.Context) error {
	fields, in := []string{"o_c_id"}, d.store.collections[tpccOrders].Name()
	if d.store.denormalized {
		fields = append(fields, embeddedLines+".ol_amount")
	}
	return d.all(ctx, tpccOrders, byID(oneOf(d.keys)), func(order bson.Raw) error {
		var warehouse, district, id, customer int64
		if err := decodeKey(order, in, tpcc.OrderColumns().Names[:orderKey], []any{&warehouse, &district, &id}); err != nil {
			return err
		}
		if err := d.numbers(tpccOrders, order, fields[:1], &customer); err != nil {
			return err
		}
		d.customers[district-1] = customer
		if !d.store.denormalized {
			return nil
		}
		return eachEmbedded(order, func(line bson.Raw) error { return d.add(line, district) })
	}, fields...)
}

// readLines adds up the lines, if they are documents of their own.
func (d *delivering) readLines(ctx context.Context) error {
	if d.store.denormalized {
		return nil
	}
	in := d.store.collections[tpccLine].Name()
	return d.all(ctx, tpccLine, bson.D{{Key: "$or", Value: d.lines}}, func(line bson.Raw) error {
		var warehouse, district int64
		if err := decodeKey(line, in, tpcc.OrderLineColumns().Names[:2], []any{&warehouse, &district}); err != nil {
			return err
		}
		return d.add(line, district)
	}, "ol_amount")
}

// add adds a line to the sum of its district's order.
func (d *delivering) add(line bson.Raw, district int64) error {
	var amount int64
	err := d.numbers(tpccLine, line, []string{"ol_amount"}, &amount)
	d.sums[district-1] += amount
	return err
}

// deliver notes the delivery in the orders and their lines.
func (d *delivering) deliver(ctx context.Context) error {
	order := []bson.E{{Key: "o_carrier_id", Value: d.in.Carrier}, {Key: "o_delivery", Value: d.in.Operation}}
	if d.store.denormalized {
		order = append(order, bson.E{Key: embeddedLines + ".$[].ol_delivery_d", Value: d.in.Moment})
	}
	err := d.updateAll(ctx, tpccOrders, byID(oneOf(d.keys)), set(order...), len(d.keys))
	if err != nil || d.store.denormalized {
		return err
	}
	return d.updateAll(ctx, tpccLine, bson.D{{Key: "$or", Value: d.lines}}, set(bson.E{Key: "ol_delivery_d", Value: d.in.Moment}), -1)
}

// credit adds the orders to their customers' balances.
func (d *delivering) credit(ctx context.Context) error {
	var updates []mongo.WriteModel
	for i, customer := range d.customers {
		if d.orders[i] != 0 {
			updates = append(updates, mongo.NewUpdateOneModel().SetFilter(byID(keyOfCustomer(d.in.Warehouse, int64(i)+1, customer))).SetUpdate(increase(
				bson.E{Key: "c_balance", Value: d.sums[i]}, bson.E{Key: "c_delivery_cnt", Value: int64(1)})))
		}
	}
	return d.updateEach(ctx, tpccCustomer, updates)
}
