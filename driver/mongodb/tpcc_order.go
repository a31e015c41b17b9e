package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"assay/history"
	"assay/workload/tpcc"
)

// The keys of the collections whose keys have several fields.

func keyOfDistrict(warehouse, district int64) bson.D {
	return bson.D{{Key: "d_w_id", Value: warehouse}, {Key: "d_id", Value: district}}
}

func keyOfCustomer(warehouse, district, customer int64) bson.D {
	return bson.D{{Key: "c_w_id", Value: warehouse}, {Key: "c_d_id", Value: district}, {Key: "c_id", Value: customer}}
}

func keyOfOrder(warehouse, district, order int64) bson.D {
	return bson.D{{Key: "o_w_id", Value: warehouse}, {Key: "o_d_id", Value: district}, {Key: "o_id", Value: order}}
}

// keyOfLines is the beginning of the keys of an order's lines.
func keyOfLines(warehouse, district, order int64) bson.D {
	return bson.D{{Key: "ol_w_id", Value: warehouse}, {Key: "ol_d_id", Value: district}, {Key: "ol_o_id", Value: order}}
}

func keyOfStock(warehouse, item int64) bson.D {
	return bson.D{{Key: "s_w_id", Value: warehouse}, {Key: "s_i_id", Value: item}}
}

func (n *tpccSession) NewOrder(ctx context.Context, in *tpcc.NewOrderInput) tpcc.NewOrderReply {
	var o ordering
	r := n.write(ctx, tpccOrders, "o_operation", in.Operation, func(t *tpccTransaction) error {
		o = ordering{tpccTransaction: t, in: in}
		return o.do()
	})
	reply := tpcc.NewOrderReply{Reply: r}
	if r.Outcome == history.Committed {
		reply.Order, reply.Total = o.order, tpcc.Total(o.sum, o.discount, o.warehouseTax, o.districtTax)
	}
	return reply
}

// ordering is one New-Order. It enters the order when its stock is taken, with all its
// lines.
type ordering struct {
	*tpccTransaction
	in *tpcc.NewOrderInput

	warehouseTax, districtTax, discount int64
	order, sum                          int64
	// prices are those of the items that there are.
	prices map[int64]int64
	stock  map[stockOf]*stockTaken
	lines  []tpcc.OrderLine
}

// stockOf is a stock's key.
type stockOf struct{ warehouse, item int64 }

// stockTaken is a stock as an order finds it and leaves it.
type stockTaken struct {
	quantity, ytd, orders, remote int64
	info                          string
}

func (o *ordering) do() error {
	for _, step := range []func() error{o.takeNumber, o.readRates, o.readItems, o.readStock, o.takeStock, o.enter} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (o *ordering) takeNumber() error {
	err := o.modify(tpccDistrict, keyOfDistrict(o.in.Warehouse, o.in.District), increase(bson.E{Key: "d_next_o_id", Value: int64(1)}),
		[]string{"d_tax", "d_next_o_id"}, &o.districtTax, &o.order)
	o.order-- // the next one is what was read
	return err
}

func (o *ordering) readRates() error {
	if err := o.one(tpccWarehouse, o.in.Warehouse, []string{"w_tax"}, &o.warehouseTax); err != nil {
		return err
	}
	customer := keyOfCustomer(o.in.Warehouse, o.in.District, o.in.Customer)
	return o.one(tpccCustomer, customer, []string{"c_discount", "c_last", "c_credit"}, &o.discount)
}

func (o *ordering) readItems() error {
	items := make(bson.A, len(o.in.Lines))
	for i, l := range o.in.Lines {
		items[i] = l.Item
	}
	o.prices = make(map[int64]int64, len(items))
	return o.stop.After(tpcc.AtPrices, func() error {
		return o.all(tpccItem, byID(oneOf(items)), func(item bson.Raw) error {
			var id, price int64
			err := o.numbers(tpccItem, item, []string{"_id", "i_price"}, &id, &price)
			o.prices[id] = price
			return err
		}, "i_price", "i_name", "i_data")
	}, func() []int64 { return tpcc.PricesByItem(o.prices) })
}

// readStock reads the stock of all lines whose items there are.
func (o *ordering) readStock() error {
	keys := bson.A{}
	for _, l := range o.in.Lines {
		if _, there := o.prices[l.Item]; there {
			keys = append(keys, keyOfStock(l.Supply, l.Item))
		}
	}
	o.stock = make(map[stockOf]*stockTaken, len(keys))
	name := o.store.collections[tpccStock].Name()
	numbers, info := []string{"s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt"}, fmt.Sprintf("s_dist_%02d", o.in.District)
	return o.all(tpccStock, byID(oneOf(keys)), func(document bson.Raw) error {
		var key stockOf
		var s stockTaken
		if err := decodeKey(document, name, []string{"s_w_id", "s_i_id"}, []any{&key.warehouse, &key.item}); err != nil {
			return err
		}
		if err := o.numbers(tpccStock, document, numbers, &s.quantity, &s.ytd, &s.orders, &s.remote); err != nil {
			return err
		}
		o.stock[key] = &s
		return decode(document, name, 0, []string{info}, []any{&s.info})
	}, append(numbers, info, "s_data")...)
}

// takeStock takes the stock of the lines, and makes these. It ends the
// transaction if an item does not exist, when the stock of the others is taken (clause 2.4.2.3).
func (o *ordering) takeStock() error {
	for i, l := range o.in.Lines {
		price, there := o.prices[l.Item]
		if !there {
			continue
		}
		s := o.stock[stockOf{l.Supply, l.Item}]
		if s == nil {
			return missing(o.store.collections[tpccStock])
		}
		s.quantity, s.ytd, s.orders = tpcc.Remaining(s.quantity, l.Quantity), s.ytd+l.Quantity, s.orders+1
		if l.Supply != o.in.Warehouse {
			s.remote++
		}
		amount := l.Quantity * price
		o.sum += amount
		o.lines = append(o.lines, tpcc.OrderLine{Warehouse: o.in.Warehouse, District: o.in.District, Order: o.order, Number: int64(i) + 1,
			Item: l.Item, Supply: l.Supply, Quantity: l.Quantity, Amount: amount, DistInfo: s.info})
	}
	var updates []mongo.WriteModel
	for key, s := range o.stock {
		updates = append(updates, mongo.NewUpdateOneModel().SetFilter(byID(keyOfStock(key.warehouse, key.item))).SetUpdate(set(
			bson.E{Key: "s_quantity", Value: s.quantity}, bson.E{Key: "s_ytd", Value: s.ytd},
			bson.E{Key: "s_order_cnt", Value: s.orders}, bson.E{Key: "s_remote_cnt", Value: s.remote})))
	}
	if err := o.updateEach(tpccStock, updates); err != nil {
		return err
	}
	if len(o.lines) < len(o.in.Lines) {
		if err := o.stop.AtEnd(nil, o.order); err != nil {
			return err
		}
		return ended(history.Rejected, tpcc.ClassUnusedItem)
	}
	return nil
}

// enter inserts the order.
func (o *ordering) enter() error {
	rows := tpcc.Rows{
		Orders: []tpcc.Order{{Warehouse: o.in.Warehouse, District: o.in.District, ID: o.order, Customer: o.in.Customer,
			LineCount: int64(len(o.lines)), AllLocal: o.in.AllLocal(), Entered: o.in.Moment, Operation: o.in.Operation}},
		Lines: o.lines,
	}
	order := keyedDocuments(tpcc.OrderColumns(), orderKey, rows.Orders)
	if o.store.denormalized {
		embed(order, &rows)
	}
	err := o.insert(tpccOrders, order)
	if err == nil {
		err = o.insert(tpccNewOrder, keyedDocuments(tpcc.NewOrderColumns(), orderKey,
			[]tpcc.NewOrder{{Warehouse: o.in.Warehouse, District: o.in.District, Order: o.order}}))
	}
	if err == nil && !o.store.denormalized {
		err = o.insert(tpccLine, keyedDocuments(tpcc.OrderLineColumns(), lineKey, o.lines))
	}
	return o.stop.AtEnd(err, o.order)
}

func (n *tpccSession) StockLevel(ctx context.Context, in *tpcc.StockLevelInput) tpcc.StockLevelReply {
	var low int64
	r := n.do(ctx, func(t *tpccTransaction) (err error) {
		low, err = t.countLow(in)
		return err
	})
	reply := tpcc.StockLevelReply{Reply: r}
	if r.Outcome == history.Committed {
		reply.Low = low
	}
	return reply
}

// countLow counts the stocks below the threshold of all items in a district's last
// orders.
func (t *tpccTransaction) countLow(in *tpcc.StockLevelInput) (int64, error) {
	const last = 20 // orders that are looked at
	var next int64
	err := t.one(tpccDistrict, keyOfDistrict(in.Warehouse, in.District), []string{"d_next_o_id"}, &next)
	if err != nil {
		return 0, err
	}
	seen := map[int64]bool{}
	stocks := bson.A{}
	item := func(line bson.Raw) error {
		var id int64
		if err := t.numbers(tpccLine, line, []string{"ol_i_id"}, &id); err != nil {
			return err
		}
		if !seen[id] {
			seen[id] = true
			stocks = append(stocks, keyOfStock(in.Warehouse, id))
		}
		return nil
	}
	if t.store.denormalized {
		err = t.all(tpccOrders, keysBetween(keyOfOrder(in.Warehouse, in.District, next-last), keyOfOrder(in.Warehouse, in.District, next)),
			func(order bson.Raw) error { return eachEmbedded(order, item) }, embeddedLines+".ol_i_id")
	} else {
		err = t.all(tpccLine, keysBetween(keyOfLines(in.Warehouse, in.District, next-last), keyOfLines(in.Warehouse, in.District, next)), item, "ol_i_id")
	}
	if err != nil {
		return 0, err
	}
	c := t.collection(tpccStock)
	low, err := c.CountDocuments(t.next(), append(byID(oneOf(stocks)), bson.E{Key: "s_quantity", Value: bson.D{{Key: "$lt", Value: in.Threshold}}}))
	return low, statement("count", c, err)
}
