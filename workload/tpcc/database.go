package tpcc

import (
	"context"

	"assay/store"
)

// Schema returns the tables of clause 1.3 and table delivery. A unique operation keeps orders,
// payments and deliveries from being done twice. Keys and indexes come after loading.
func Schema(target store.Target) (store.Schema, error) {
	warehouse := tableOf("warehouse", 1, WarehouseColumns(), 10, 20, 20, 20, 2, 9)
	district := tableOf("district", 2, DistrictColumns(), 10, 20, 20, 20, 2, 9)
	customer := tableOf("customer", 3, CustomerColumns(), 16, 2, 16, 20, 20, 20, 2, 9, 16, 2, 500)
	customer.Indexes = []store.Index{{Name: "customer_name", Columns: []string{"c_w_id", "c_d_id", "c_last", "c_first"}, Late: true}}
	payment := tableOf("history", 1, PaymentColumns(), 24)
	payment.Grows = true
	orders := tableOf("orders", 3, OrderColumns())
	orders.Indexes = []store.Index{
		{Name: "orders_operation", Columns: []string{"o_operation"}, Late: true, Unique: true},
		{Name: "orders_customer", Columns: []string{"o_w_id", "o_d_id", "o_c_id", "o_id"}, Late: true},
	}
	line := tableOf("order_line", 4, OrderLineColumns(), 24)
	if target.Schema == SchemaDenormalized {
		line.Within = orders.Name
	}
	stock := tableOf("stock", 2, StockColumns(), 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 50)
	delivery := tableOf("delivery", 1, DeliveryColumns())
	delivery.LateKey = false
	for _, t := range []*store.Table{&warehouse, &district, &customer, &stock} {
		t.Updated = true
	}
	return store.Schema{Workload: Name, Transactions: true, Judged: true, Tables: []store.Table{
		tableOf("item", 1, ItemColumns(), 24, 50), warehouse, district, customer, payment, orders,
		tableOf("new_order", 3, NewOrderColumns()), line, stock, delivery,
	}}, nil
}

// tableOf is a table of rows T with a key of so many columns; lengths are those of its texts.
func tableOf[T any](name string, key int, c store.Columns[T], lengths ...int) store.Table {
	var row T
	columns := store.Integers(c.Names...)
	for i, field := range c.Fields(&row) {
		if _, is := field.(*string); is {
			columns[i].Type, columns[i].Length, lengths = store.ASCII, lengths[0], lengths[1:]
		}
	}
	return store.Table{Name: name, KeyColumns: key, Columns: columns, Loaded: true, LateKey: true}
}

// refuse is a Workload.Refuse: a database without documents has only SchemaNormalized.
func refuse(target store.Target, lacks store.Lacks) error {
	if why := lacks[store.Documents]; why != "" && target.Schema == SchemaDenormalized {
		return &store.OptionError{Option: "--schema", Value: target.Schema, Reason: why,
			Want: SchemaNormalized + "; " + SchemaDenormalized + " is a form of documents, for MongoDB"}
	}
	return nil
}

func loadRows(ctx context.Context, db store.Database, rows *Rows) error {
	for _, of := range []store.Rows{
		store.RowsOf("item", ItemColumns(), rows.Items),
		store.RowsOf("warehouse", WarehouseColumns(), rows.Warehouses),
		store.RowsOf("district", DistrictColumns(), rows.Districts),
		store.RowsOf("customer", CustomerColumns(), rows.Customers),
		store.RowsOf("history", PaymentColumns(), rows.Payments),
		store.RowsOf("orders", OrderColumns(), rows.Orders),
		store.RowsOf("new_order", NewOrderColumns(), rows.NewOrders),
		store.RowsOf("order_line", OrderLineColumns(), rows.Lines),
		store.RowsOf("stock", StockColumns(), rows.Stock),
	} {
		if of.Count == 0 {
			continue
		}
		if err := db.Load(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

// readRows gives all rows in one consistent view, in the order of Visitor's fields, however
// wrong. It stops at the first error, of the database or of a callback.
func readRows(ctx context.Context, db store.Database, v Visitor) error {
	return store.ReadAll(ctx, db.View, func(r store.Reader) error {
		for _, read := range []func() error{
			func() error { return store.Each(ctx, r, "item", ItemColumns(), v.Item) },
			func() error { return store.Each(ctx, r, "warehouse", WarehouseColumns(), v.Warehouse) },
			func() error { return store.Each(ctx, r, "district", DistrictColumns(), v.District) },
			func() error { return store.Each(ctx, r, "customer", CustomerColumns(), v.Customer) },
			func() error { return store.Each(ctx, r, "history", PaymentColumns(), v.Payment) },
			func() error { return store.Each(ctx, r, "orders", OrderColumns(), v.Order) },
			func() error { return store.Each(ctx, r, "new_order", NewOrderColumns(), v.NewOrder) },
			func() error { return store.Each(ctx, r, "order_line", OrderLineColumns(), v.Line) },
			func() error { return store.Each(ctx, r, "stock", StockColumns(), v.Stock) },
			func() error { return store.Each(ctx, r, "delivery", DeliveryColumns(), v.Delivery) },
		} {
			if err := read(); err != nil {
				return err
			}
		}
		return nil
	})
}

// openSession opens a session; stop is nil outside isolation tests.
func openSession(ctx context.Context, db store.Database, stop Stop) (*session, error) {
	joins, open := db.Lacks()[store.SQL] == "", db.Session
	all := statements(joins)
	if stop != nil {
		all = append(all, testStatements()...)
		if stepping, is := store.As[store.Stepping](db); is {
			open = stepping.SteppedSession
		}
	}
	s, err := open(ctx, all)
	if err != nil {
		return nil, err
	}
	return &session{Session: s, joins: joins, stop: stop}, nil
}
