package mongodb

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/history"
	"assay/workload/tpcc"
)

// customer finds the customer that is asked for: of those of a last name the one in the
// middle (clause 2.5.2.2).
func (t *tpccTransaction) customer(of *tpcc.CustomerInput) (int64, error) {
	if of.ID != 0 {
		return of.ID, nil
	}
	var ids []int64
	in := t.collection(tpccCustomer)
	err := eachFound(t.next(), in, bson.D{{Key: "_id.c_w_id", Value: of.Warehouse}, {Key: "_id.c_d_id", Value: of.District}, {Key: "c_last", Value: of.Last}},
		options.Find().SetProjection(only()).SetSort(ascending("c_first", "_id.c_id")), func(document bson.Raw) error {
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
	r := n.write(ctx, tpccHistory, "_id", in.Operation, func(t *tpccTransaction) (err error) {
		customer, balance, err = t.pay(in)
		return err
	})
	reply := tpcc.PaymentReply{Reply: r}
	if r.Outcome == history.Committed {
		reply.Customer, reply.Balance = customer, balance
	}
	return reply
}

func (t *tpccTransaction) pay(in *tpcc.PaymentInput) (customer, balance int64, err error) {
	address := func(of string) []string {
		return []string{of + "_name", of + "_street_1", of + "_street_2", of + "_city", of + "_state", of + "_zip"}
	}
	warehouse, err := t.modified(tpccWarehouse, in.Warehouse, increase(bson.E{Key: "w_ytd", Value: in.Amount}), address("w")...)
	if err != nil {
		return 0, 0, err
	}
	district, err := t.modified(tpccDistrict, keyOfDistrict(in.Warehouse, in.District), increase(bson.E{Key: "d_ytd", Value: in.Amount}), address("d")...)
	if err != nil {
		return 0, 0, err
	}
	of := &in.Customer
	if customer, err = t.customer(of); err != nil {
		return 0, 0, err
	}
	paid, err := t.modified(tpccCustomer, keyOfCustomer(of.Warehouse, of.District, customer), paying(in, customer))
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
	err = t.insert(tpccHistory, documentsOf(tpcc.PaymentColumns(), []tpcc.Payment{{Operation: in.Operation,
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
	r := n.do(ctx, func(t *tpccTransaction) (err error) {
		found, err = t.lastOrder(&in.Customer)
		return err
	})
	if r.Outcome != history.Committed {
		return tpcc.OrderStatusReply{Reply: r}
	}
	found.Reply = r
	return found
}

// lastOrder is a customer's last order with its lines.
func (t *tpccTransaction) lastOrder(of *tpcc.CustomerInput) (found tpcc.OrderStatusReply, err error) {
	if found.Customer, err = t.customer(of); err != nil {
		return found, err
	}
	err = t.one(tpccCustomer, keyOfCustomer(of.Warehouse, of.District, found.Customer),
		[]string{"c_balance", "c_first", "c_middle", "c_last"}, &found.Balance)
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
		order, err = in.FindOne(t.next(), bson.D{{Key: "_id.o_w_id", Value: of.Warehouse}, {Key: "_id.o_d_id", Value: of.District}, {Key: "o_c_id", Value: found.Customer}},
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
		err = t.all(tpccLine, beginning(keyOfLines(warehouse, district, found.Order)), line, shown...)
	}
	return found, t.stop.AtEnd(err)
}

func (n *tpccSession) Delivery(ctx context.Context, in *tpcc.DeliveryInput) tpcc.DeliveryReply {
	var d delivering
	r := n.write(ctx, tpccDelivery, "_id", in.Operation, func(t *tpccTransaction) error {
		d = delivering{tpccTransaction: t, in: in}
		return d.do()
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

func (d *delivering) do() error {
	for i := range d.orders {
		err := d.stop.After(tpcc.AtOldestOrder, func() error { return d.takeOldest(int64(i) + 1) },
			func() []int64 { return []int64{d.orders[i]} })
		if err != nil {
			return err
		}
	}
	if len(d.keys) > 0 {
		for _, step := range []func() error{d.readOrders, d.readLines, d.deliver, d.credit} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	err := d.insert(tpccDelivery, documentsOf(tpcc.DeliveryColumns(), []tpcc.Delivery{{Operation: d.in.Operation,
		Warehouse: d.in.Warehouse, Carrier: d.in.Carrier, Entered: d.in.Moment, Orders: int64(len(d.keys))}}))
	return d.stop.AtEnd(err)
}

// takeOldest takes the oldest order of a district that is not delivered, if there is one.
// It looks by taking: the isolation test has it look twice where there is none.
func (d *delivering) takeOldest(district int64) error {
	in, names := d.collection(tpccNewOrder), tpcc.NewOrderColumns().Names
	document, err := in.FindOneAndDelete(d.next(), beginning(bson.D{{Key: names[0], Value: d.in.Warehouse}, {Key: names[1], Value: district}}),
		options.FindOneAndDelete().SetSort(ascending("_id"))).Raw()
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
func (d *delivering) readOrders() error {
	fields, in := []string{"o_c_id"}, d.store.collections[tpccOrders].Name()
	if d.store.denormalized {
		fields = append(fields, embeddedLines+".ol_amount")
	}
	return d.all(tpccOrders, byID(oneOf(d.keys)), func(order bson.Raw) error {
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
func (d *delivering) readLines() error {
	if d.store.denormalized {
		return nil
	}
	in := d.store.collections[tpccLine].Name()
	return d.all(tpccLine, bson.D{{Key: "$or", Value: d.lines}}, func(line bson.Raw) error {
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
func (d *delivering) deliver() error {
	order := []bson.E{{Key: "o_carrier_id", Value: d.in.Carrier}, {Key: "o_delivery", Value: d.in.Operation}}
	if d.store.denormalized {
		order = append(order, bson.E{Key: embeddedLines + ".$[].ol_delivery_d", Value: d.in.Moment})
	}
	err := d.updateAll(tpccOrders, byID(oneOf(d.keys)), set(order...), len(d.keys))
	if err != nil || d.store.denormalized {
		return err
	}
	return d.updateAll(tpccLine, bson.D{{Key: "$or", Value: d.lines}}, set(bson.E{Key: "ol_delivery_d", Value: d.in.Moment}), -1)
}

// credit adds the orders to their customers' balances.
func (d *delivering) credit() error {
	var updates []mongo.WriteModel
	for i, customer := range d.customers {
		if d.orders[i] != 0 {
			updates = append(updates, mongo.NewUpdateOneModel().SetFilter(byID(keyOfCustomer(d.in.Warehouse, int64(i)+1, customer))).SetUpdate(increase(
				bson.E{Key: "c_balance", Value: d.sums[i]}, bson.E{Key: "c_delivery_cnt", Value: int64(1)})))
		}
	}
	return d.updateEach(tpccCustomer, updates)
}
