package tpcc

import (
	"fmt"

	"assay/store"
)

// The statements of a session.
const (
	// New-Order. With joins, readRates reads both rates.
	readRates = iota
	readDiscount
	takeNumber
	insertOrder
	insertNewOrder
	readItems
	updateStock
	// Payment.
	payWarehouse
	payDistrict
	payCustomer
	noteCustomer
	insertPayment
	// Order-Status.
	namedCustomers
	readBalance
	lastOrder
	orderLines
	// Delivery.
	oldestOrder
	deleteNewOrder
	orderedBy
	deliverOrder
	deliverLines
	readAmounts
	creditCustomer
	insertDelivery
	// Stock-Level. With joins, recentItems counts the low stocks itself.
	nextOrder
	recentItems
	countLow
	// readStock is the first by district, insertLines by the number of lines; both count from 1.
	readStock
	insertLines = readStock + Districts
	// The rest is for isolation tests. removeTests is the first of several.
	raisePrice  = insertLines + MaxLines
	readPrice   = raisePrice + 1
	removeTests = readPrice + 1
)

// paidColumns are what a Payment reads of its customer. The constants are indexes into them.
func paidColumns() []string { return columnsOf(tableCustomer)[3:] }

const (
	paidBalance = 1
	paidCredit  = 16
	paidData    = 17
)

// statements are in the order of the constants. joins is true for a database with joins.
func statements(joins bool) []store.Statement {
	all := make([]store.Statement, raisePrice)
	ordering(all)
	paying(all)
	delivering(all)
	all[nextOrder] = read("next", "district", []string{"d_next_o_id"}, "d_w_id", "d_id")
	all[recentItems] = read("recent", "order_line", []string{"ol_i_id"}, "ol_w_id", "ol_d_id")
	all[recentItems].Where = append(all[recentItems].Where, where("ol_o_id", store.AtLeast, 3), where("ol_o_id", store.Below, 4))
	all[countLow] = store.Statement{Name: "low", Verb: store.Count, Table: "stock",
		Where: []store.Condition{where("s_w_id", store.Equal, 1), where("s_i_id", store.In, 2), where("s_quantity", store.Below, 3)}}
	if joins {
		all[readRates] = store.Statement{Name: "rates", Verb: store.Native, Gives: true, Reads: true, Tables: []string{"warehouse", "customer"},
			Text: "SELECT w_tax, c_discount, c_last, c_credit FROM %[1]s, %[2]s WHERE w_id = $1 AND c_w_id = $1 AND c_d_id = $2 AND c_id = $3"}
		all[recentItems] = store.Statement{Name: "recent", Verb: store.Native, Gives: true, Reads: true, Tables: []string{"order_line", "stock"},
			Text: "SELECT count(DISTINCT s_i_id) FROM %[1]s, %[2]s WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4" +
				" AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $5"}
	}
	return all
}

func where(column string, is store.Comparison, parameter int) store.Condition {
	return store.Condition{Column: column, Is: is, Value: store.Parameter(parameter)}
}

func read(name, table string, columns []string, by ...string) store.Statement {
	return store.Statement{Name: name, Verb: store.Read, Table: table, Columns: columns, Where: store.Where(by...)}
}

func onlyFirst(s store.Statement, column string, descending bool) store.Statement {
	s.Order, s.Descending, s.Limit = []string{column}, descending, store.Number(1)
	return s
}

func locking(s store.Statement) store.Statement {
	s.Lock = true
	return s
}

// update returns the columns gives. Parameters of set follow those of by.
func update(name, table string, gives []string, by []string, set ...store.Assignment) store.Statement {
	return store.Statement{Name: name, Verb: store.Update, Table: table, Columns: gives, Where: store.Where(by...), Set: set}
}

func insert(name, table string, columns []string, rows int) store.Statement {
	return store.Statement{Name: name, Verb: store.Insert, Table: table, Columns: columns, Rows: rows}
}

// ordering is New-Order's. A stock is read with the text for one district's orders.
func ordering(all []store.Statement) {
	all[readRates] = read("rates", "warehouse", []string{"w_tax"}, "w_id")
	all[readDiscount] = read("discount", "customer", []string{"c_discount", "c_last", "c_credit"}, "c_w_id", "c_d_id", "c_id")
	all[takeNumber] = update("number", "district", []string{"d_tax", "d_next_o_id"}, []string{"d_w_id", "d_id"}, store.Add("d_next_o_id", store.Number(1)))
	all[insertOrder] = insert("order", "orders", columnsOf(tableOrders), 1)
	all[insertNewOrder] = insert("neworder", "new_order", columnsOf(tableNewOrder), 1)
	all[readItems] = store.Statement{Name: "items", Verb: store.Read, Table: "item", Columns: []string{"i_id", "i_price", "i_name", "i_data"},
		Where: []store.Condition{where("i_id", store.In, 1)}}
	all[updateStock] = update("take", "stock", nil, []string{"s_w_id", "s_i_id"}, store.Set("s_quantity", store.Parameter(3)),
		store.Add("s_ytd", store.Parameter(4)), store.Add("s_order_cnt", store.Parameter(5)), store.Add("s_remote_cnt", store.Parameter(6)))
	for district := range Districts {
		all[readStock+district] = locking(store.Statement{Name: fmt.Sprintf("stock%d", district+1), Verb: store.Read, Table: "stock",
			Columns: []string{"s_i_id", "s_quantity", fmt.Sprintf("s_dist_%02d", district+1), "s_data"},
			Where:   []store.Condition{where("s_w_id", store.Equal, 1), where("s_i_id", store.In, 2)}, Order: []string{"s_i_id"}})
	}
	for n := range MaxLines {
		all[insertLines+n] = insert(fmt.Sprintf("lines%d", n+1), "order_line", columnsOf(tableOrderLine), n+1)
	}
}

func paying(all []store.Statement) {
	customer := []string{"c_w_id", "c_d_id", "c_id"}
	address := func(of string) []string {
		return []string{of + "_name", of + "_street_1", of + "_street_2", of + "_city", of + "_state", of + "_zip"}
	}
	all[payWarehouse] = update("payw", "warehouse", address("w"), []string{"w_id"}, store.Add("w_ytd", store.Parameter(2)))
	all[payDistrict] = update("payd", "district", address("d"), []string{"d_w_id", "d_id"}, store.Add("d_ytd", store.Parameter(3)))
	all[payCustomer] = update("pay", "customer", paidColumns(), customer, store.Add("c_balance", store.Parameter(4)),
		store.Add("c_ytd_payment", store.Parameter(5)), store.Add("c_payment_cnt", store.Number(1)))
	all[noteCustomer] = update("note", "customer", nil, customer, store.Set("c_data", store.Parameter(4)))
	all[insertPayment] = insert("payment", "history", columnsOf(tableHistory), 1)
	all[namedCustomers] = read("named", "customer", []string{"c_id"}, "c_w_id", "c_d_id", "c_last")
	all[namedCustomers].Order = []string{"c_first", "c_id"}
	all[readBalance] = read("balance", "customer", []string{"c_balance", "c_first", "c_middle", "c_last"}, customer...)
}

// delivering also has Order-Status's statements.
func delivering(all []store.Statement) {
	orders, lines := []string{"o_w_id", "o_d_id", "o_id"}, []string{"ol_w_id", "ol_d_id", "ol_o_id"}
	all[lastOrder] = onlyFirst(read("last", "orders", []string{"o_id", "o_entry_d", "o_carrier_id"}, "o_w_id", "o_d_id", "o_c_id"), "o_id", true)
	all[orderLines] = read("lines", "order_line", []string{"ol_amount", "ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_delivery_d"}, lines...)
	all[oldestOrder] = locking(onlyFirst(read("oldest", "new_order", []string{"no_o_id"}, "no_w_id", "no_d_id"), "no_o_id", false))
	all[deleteNewOrder] = store.Statement{Name: "dequeue", Verb: store.Delete, Table: "new_order", Where: store.Where(columnsOf(tableNewOrder)...)}
	all[orderedBy] = locking(read("ordered", "orders", []string{"o_c_id"}, orders...))
	all[deliverOrder] = update("deliver", "orders", nil, orders, store.Set("o_carrier_id", store.Parameter(4)), store.Set("o_delivery", store.Parameter(5)))
	all[deliverLines] = update("arrive", "order_line", nil, lines, store.Set("ol_delivery_d", store.Parameter(4)))
	all[readAmounts] = read("amounts", "order_line", []string{"ol_amount"}, lines...)
	all[creditCustomer] = update("credit", "customer", nil, []string{"c_w_id", "c_d_id", "c_id"},
		store.Add("c_balance", store.Parameter(4)), store.Add("c_delivery_cnt", store.Number(1)))
	all[insertDelivery] = insert("delivery", "delivery", columnsOf(tableDelivery), 1)
}

func testStatements() []store.Statement {
	all := []store.Statement{update("raise", "item", []string{"i_price"}, []string{"i_id"}, store.Add("i_price", store.Parameter(2))),
		read("price", "item", []string{"i_price"}, "i_id")}
	for _, t := range tables() {
		all = append(all, store.Statement{Name: "remove_" + t.name, Verb: store.Delete, Table: t.name,
			Where: []store.Condition{where(t.columns[0], store.AtLeast, 1), where(t.columns[0], store.Below, 2)}})
	}
	return all
}
