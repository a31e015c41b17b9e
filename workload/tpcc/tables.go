package tpcc

import "assay/store"

// Indexes into tables.
const (
	tableItem = iota
	tableWarehouse
	tableDistrict
	tableCustomer
	tableHistory
	tableOrders
	tableNewOrder
	tableOrderLine
	tableStock
	tableDelivery
)

// table describes a table.
type table struct {
	name string
	new  func() row
	// key is the number of columns in the key. lengths are of the columns of texts.
	key     int
	lengths []int
	// columns are the key's, further numbers, and texts.
	columns []string
	// first and last bound the first column's values in the rows of isolation tests.
	first, last int64
}

// tables are those of clause 1.3, and delivery, in the order in which they are loaded and saved.
func tables() []table {
	const first, last = TestWarehouse + 1, LastTestWarehouse
	address := []int{10, 20, 20, 20, 2, 9}
	return []table{
		tableItem: {name: "item", new: func() row { return new(Item) }, key: 1, lengths: []int{24, 50}, first: FirstTestItem, last: LastTestItem,
			columns: []string{"i_id", "i_price", "i_im_id", "i_name", "i_data"}},
		tableWarehouse: {name: "warehouse", new: func() row { return new(Warehouse) }, key: 1, lengths: address, first: first, last: last,
			columns: []string{"w_id", "w_tax", "w_ytd", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip"}},
		tableDistrict: {name: "district", new: func() row { return new(District) }, key: 2, lengths: address, first: first, last: last,
			columns: []string{"d_w_id", "d_id", "d_tax", "d_ytd", "d_next_o_id", "d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip"}},
		tableCustomer: {name: "customer", new: func() row { return new(Customer) }, key: 3, first: first, last: last,
			lengths: []int{16, 2, 16, 20, 20, 20, 2, 9, 16, 2, 500},
			columns: []string{"c_w_id", "c_d_id", "c_id", "c_discount", "c_balance", "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt", "c_credit_lim",
				"c_since", "c_first", "c_middle", "c_last", "c_street_1", "c_street_2", "c_city", "c_state", "c_zip", "c_phone", "c_credit", customerData}},
		tableHistory: {name: "history", new: func() row { return new(Payment) }, key: 1, lengths: []int{24}, first: FirstTestOperation, last: LastTestOperation,
			columns: []string{"h_operation", "h_c_w_id", "h_c_d_id", "h_c_id", "h_w_id", "h_d_id", "h_amount", "h_date", "h_data"}},
		tableOrders: {name: "orders", new: func() row { return new(Order) }, key: 3, first: first, last: last,
			columns: []string{"o_w_id", "o_d_id", "o_id", "o_c_id", "o_carrier_id", "o_ol_cnt", "o_all_local", "o_entry_d", "o_operation", "o_delivery"}},
		tableNewOrder: {name: "new_order", new: func() row { return new(NewOrder) }, key: 3, first: first, last: last,
			columns: []string{"no_w_id", "no_d_id", "no_o_id"}},
		tableOrderLine: {name: "order_line", new: func() row { return new(OrderLine) }, key: 4, lengths: []int{24}, first: first, last: last,
			columns: []string{"ol_w_id", "ol_d_id", "ol_o_id", "ol_number", "ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_amount", "ol_delivery_d", "ol_dist_info"}},
		tableStock: {name: "stock", new: func() row { return new(Stock) }, key: 2, lengths: []int{24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 50}, first: first, last: last,
			columns: []string{"s_w_id", "s_i_id", "s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt", "s_dist_01", "s_dist_02", "s_dist_03", "s_dist_04",
				"s_dist_05", "s_dist_06", "s_dist_07", "s_dist_08", "s_dist_09", "s_dist_10", "s_data"}},
		tableDelivery: {name: "delivery", new: func() row { return new(Delivery) }, key: 1, first: FirstTestOperation, last: LastTestOperation,
			columns: []string{"dl_operation", "dl_w_id", "dl_carrier_id", "dl_entry_d", "dl_orders"}},
	}
}

func columnsOf(table int) []string { return tables()[table].columns }

// schema is the table as the database makes it.
func (t *table) schema() store.Table {
	columns := store.Integers(t.columns...)
	texts := columns[len(columns)-len(t.lengths):]
	for i, length := range t.lengths {
		texts[i].Type, texts[i].Length = store.ASCII, length
	}
	return store.Table{Name: t.name, KeyColumns: t.key, Columns: columns, Loaded: true, LateKey: true}
}

// ofTest reports whether a row with these fields belongs to an isolation test.
func (t *table) ofTest(fields []any) bool {
	n := *fields[0].(*int64)
	return n >= t.first && n <= t.last
}
