package sqldb

import (
	"context"

	"assay/workload"
	"assay/workload/tpcc"
)

// columnsOf are the columns of rows T, of which the texts have these lengths.
func columnsOf[T any](c workload.Columns[T], lengths ...int) []Column {
	var row T
	columns := make([]Column, len(c.Names))
	for i, field := range c.Fields(&row) {
		columns[i] = Column{Name: c.Names[i]}
		if _, is := field.(*string); is {
			columns[i].Type, columns[i].Length, lengths = ASCII, lengths[0], lengths[1:]
		}
	}
	return columns
}

// tpccTable is one of the tables. Its key is made when the rows are in.
func tpccTable[T any](name string, key int, c workload.Columns[T], lengths ...int) Table {
	return Table{Name: name, KeyColumns: key, Columns: columnsOf(c, lengths...), Loaded: true, LateKey: true}
}

// TPCCSchema is the Schema of workload tpcc: the tables of clause 1.3, with the
// operation that made an order, a payment or a delivery, and the table delivery. The
// operation is unique in each of these, so that none is done twice.
func TPCCSchema() Schema {
	warehouse := tpccTable("warehouse", 1, tpcc.WarehouseColumns(), 10, 20, 20, 20, 2, 9)
	district := tpccTable("district", 2, tpcc.DistrictColumns(), 10, 20, 20, 20, 2, 9)
	customer := tpccTable("customer", 3, tpcc.CustomerColumns(), 16, 2, 16, 20, 20, 20, 2, 9, 16, 2, 500)
	customer.Indexes = []Index{{Name: "customer_name", Columns: []string{"c_w_id", "c_d_id", "c_last", "c_first"}, Late: true}}
	payment := tpccTable("history", 1, tpcc.PaymentColumns(), 24)
	payment.Grows = true
	orders := tpccTable("orders", 3, tpcc.OrderColumns())
	orders.Indexes = []Index{
		{Name: "orders_operation", Columns: []string{"o_operation"}, Late: true, Unique: true},
		{Name: "orders_customer", Columns: []string{"o_w_id", "o_d_id", "o_c_id", "o_id"}, Late: true},
	}
	stock := tpccTable("stock", 2, tpcc.StockColumns(), 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 50)
	delivery := tpccTable("delivery", 1, tpcc.DeliveryColumns())
	delivery.LateKey = false
	for _, t := range []*Table{&warehouse, &district, &customer, &stock} {
		t.Updated = true
	}
	return Schema{Workload: tpcc.Name, Transactions: true, Judged: true, Tables: []Table{
		tpccTable("item", 1, tpcc.ItemColumns(), 24, 50), warehouse, district, customer, payment, orders,
		tpccTable("new_order", 3, tpcc.NewOrderColumns()), tpccTable("order_line", 4, tpcc.OrderLineColumns(), 24), stock, delivery,
	}}
}

// TPCC is the Store on a Database of TPCCSchema.
func TPCC(db Database) tpcc.Store { return &tpccStore{db} }

type tpccStore struct{ Database }

func (s *tpccStore) Promise() string { return s.PromiseLevel() }

func (s *tpccStore) LoadRows(ctx context.Context, rows *tpcc.Rows) error {
	for _, of := range []Rows{
		rowsOf("item", tpcc.ItemColumns(), rows.Items),
		rowsOf("warehouse", tpcc.WarehouseColumns(), rows.Warehouses),
		rowsOf("district", tpcc.DistrictColumns(), rows.Districts),
		rowsOf("customer", tpcc.CustomerColumns(), rows.Customers),
		rowsOf("history", tpcc.PaymentColumns(), rows.Payments),
		rowsOf("orders", tpcc.OrderColumns(), rows.Orders),
		rowsOf("new_order", tpcc.NewOrderColumns(), rows.NewOrders),
		rowsOf("order_line", tpcc.OrderLineColumns(), rows.Lines),
		rowsOf("stock", tpcc.StockColumns(), rows.Stock),
	} {
		if of.Count == 0 {
			continue
		}
		if err := s.Load(ctx, of); err != nil {
			return err
		}
	}
	return nil
}

func (s *tpccStore) Read(ctx context.Context, v tpcc.Visitor) error {
	d := s.Dialect()
	return view(ctx, s.View,
		allRows(d, "item", "", tpcc.ItemColumns(), v.Item),
		allRows(d, "warehouse", "", tpcc.WarehouseColumns(), v.Warehouse),
		allRows(d, "district", "", tpcc.DistrictColumns(), v.District),
		allRows(d, "customer", "", tpcc.CustomerColumns(), v.Customer),
		allRows(d, "history", "", tpcc.PaymentColumns(), v.Payment),
		allRows(d, "orders", "", tpcc.OrderColumns(), v.Order),
		allRows(d, "new_order", "", tpcc.NewOrderColumns(), v.NewOrder),
		allRows(d, "order_line", "", tpcc.OrderLineColumns(), v.Line),
		allRows(d, "stock", "", tpcc.StockColumns(), v.Stock),
		allRows(d, "delivery", "", tpcc.DeliveryColumns(), v.Delivery))
}

func (s *tpccStore) Session(ctx context.Context) (tpcc.Session, error) {
	d := s.Dialect()
	c, err := s.Connect(ctx, tpccStatements(d))
	if err != nil {
		return nil, err
	}
	return &tpccSession{connection: c, returning: d.Returning}, nil
}
