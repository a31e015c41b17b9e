package sqldb

import (
	"fmt"
	"slices"

	"assay/workload/tpcc"
)

// The statements of a session.
const (
	// New-Order.
	orderingCustomer = iota
	takeOrderNumber
	readOrderNumber
	insertOrder
	insertNewOrder
	readItems
	updateStock
	// Payment.
	payWarehouse
	readWarehouse
	payDistrict
	readDistrict
	payingCustomer
	payCustomer
	payBadCustomer
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
	sumLines
	creditCustomer
	insertDelivery
	// Stock-Level.
	nextOrder
	countLow
	// readStock and insertLines are the first of several, by the district from 1 and
	// by the number of lines.
	readStock
	insertLines = readStock + tpcc.Districts + 1
)

// tpccStatements are the statements, in the order of the constants.
func tpccStatements(d *Dialect) []Statement {
	statements := slices.Concat(tpccOrdering(d), tpccPaying(d), tpccDelivering(d))
	statements = append(statements, tpccStock(d)...)
	return append(statements, tpccLines(d)...)
}

func tpccOrdering(d *Dialect) []Statement {
	district := d.Table("district")
	take := Statement{"number", "UPDATE " + district + " SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2"}
	if d.Returning {
		take.Text += " RETURNING d_tax, d_next_o_id"
	}
	return []Statement{
		{"ordering", "SELECT w_tax, c_discount, c_last, c_credit FROM " + d.Table("warehouse") + ", " + d.Table("customer") +
			" WHERE w_id = $1 AND c_w_id = $1 AND c_d_id = $2 AND c_id = $3"},
		take,
		{"numbered", "SELECT d_tax, d_next_o_id FROM " + district + " WHERE d_w_id = $1 AND d_id = $2"},
		{"order", insertInto(d, "orders", tpcc.OrderColumns().Names)},
		{"neworder", insertInto(d, "new_order", tpcc.NewOrderColumns().Names)},
		{"items", "SELECT i_id, i_price, i_name, i_data FROM " + d.Table("item") + " WHERE " + d.in("i_id", "$1")},
		{"take", "UPDATE " + d.Table("stock") + " SET s_quantity = $3, s_ytd = s_ytd + $4, s_order_cnt = s_order_cnt + $5," +
			" s_remote_cnt = s_remote_cnt + $6 WHERE s_w_id = $1 AND s_i_id = $2"},
	}
}

func tpccPaying(d *Dialect) []Statement {
	warehouse, district, customer := d.Table("warehouse"), d.Table("district"), d.Table("customer")
	const (
		address = "%[1]s_name, %[1]s_street_1, %[1]s_street_2, %[1]s_city, %[1]s_state, %[1]s_zip"
		theirs  = " WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"
		pays    = " SET c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, c_payment_cnt = c_payment_cnt + 1"
	)
	payWarehouse := "UPDATE " + warehouse + " SET w_ytd = w_ytd + $2 WHERE w_id = $1"
	payDistrict := "UPDATE " + district + " SET d_ytd = d_ytd + $3 WHERE d_w_id = $1 AND d_id = $2"
	if d.Returning {
		payWarehouse += " RETURNING " + fmt.Sprintf(address, "w")
		payDistrict += " RETURNING " + fmt.Sprintf(address, "d")
	}
	return []Statement{
		{"payw", payWarehouse},
		{"warehouse", "SELECT " + fmt.Sprintf(address, "w") + " FROM " + warehouse + " WHERE w_id = $1"},
		{"payd", payDistrict},
		{"district", "SELECT " + fmt.Sprintf(address, "d") + " FROM " + district + " WHERE d_w_id = $1 AND d_id = $2"},
		{"paying", "SELECT c_balance, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_data FROM " +
			customer + theirs + d.ForUpdate},
		{"pay", "UPDATE " + customer + pays + theirs},
		{"paybad", "UPDATE " + customer + pays + ", c_data = $5" + theirs},
		{"payment", insertInto(d, "history", tpcc.PaymentColumns().Names)},
		{"named", "SELECT c_id FROM " + customer + " WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first, c_id"},
		{"balance", "SELECT c_balance, c_first, c_middle, c_last FROM " + customer + theirs},
	}
}

func tpccDelivering(d *Dialect) []Statement {
	orders, newOrder, line, customer := d.Table("orders"), d.Table("new_order"), d.Table("order_line"), d.Table("customer")
	const (
		ordered = " WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3"
		lines   = " WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3"
	)
	return []Statement{
		{"last", "SELECT o_id, o_entry_d, o_carrier_id FROM " + orders +
			" WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 ORDER BY o_id DESC LIMIT 1"},
		{"lines", "SELECT ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d FROM " + line + lines},
		{"oldest", "SELECT no_o_id FROM " + newOrder + " WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1" + d.ForUpdate},
		{"dequeue", "DELETE FROM " + newOrder + " WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3"},
		{"ordered", "SELECT o_c_id FROM " + orders + ordered + d.ForUpdate},
		{"deliver", "UPDATE " + orders + " SET o_carrier_id = $4, o_delivery = $5" + ordered},
		{"arrive", "UPDATE " + line + " SET ol_delivery_d = $4" + lines},
		{"sum", "SELECT " + d.sum("ol_amount") + " FROM " + line + lines},
		{"credit", "UPDATE " + customer + " SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1" +
			" WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3"},
		{"delivery", insertInto(d, "delivery", tpcc.DeliveryColumns().Names)},
		{"next", "SELECT d_next_o_id FROM " + d.Table("district") + " WHERE d_w_id = $1 AND d_id = $2"},
		{"low", "SELECT count(DISTINCT s_i_id) FROM " + line + ", " + d.Table("stock") +
			" WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 AND s_w_id = $1 AND s_i_id = ol_i_id AND s_quantity < $5"},
	}
}

// tpccStock are the readings of stock, each with the text for orders of one district;
// the first, of no district, keeps the numbers in step.
func tpccStock(d *Dialect) (statements []Statement) {
	for district := range tpcc.Districts + 1 {
		statements = append(statements, Statement{fmt.Sprintf("stock%d", district),
			fmt.Sprintf("SELECT s_i_id, s_quantity, s_dist_%02d, s_data FROM ", max(district, 1)) + d.Table("stock") +
				" WHERE s_w_id = $1 AND " + d.in("s_i_id", "$2") + " ORDER BY s_i_id" + d.ForUpdate})
	}
	return statements
}

// tpccLines insert as many lines of an order as their place says; the first keeps the
// numbers in step.
func tpccLines(d *Dialect) (statements []Statement) {
	for n := range tpcc.MaxLines + 1 {
		statements = append(statements, Statement{fmt.Sprintf("lines%d", n),
			InsertText(d.Table("order_line"), tpcc.OrderLineColumns().Names, max(n, 1))})
	}
	return statements
}
