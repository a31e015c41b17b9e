package tpcc

import "assay/store/bug"

// Bugs are the faults that the checks must find.
func Bugs() []bug.Bug {
	order, numbers := []string{"orders", "new_order", "order_line"}, []string{"o_id", "no_o_id", "ol_o_id"}
	return []bug.Bug{
		{Name: "lost-line", Check: CheckOrders, Kinds: []string{"half done"}, Or: CheckConsistency,
			Doc: "an order is acknowledged and one of its lines is not there", Act: bug.Act{Does: bug.Forgets, To: bug.Inserted, Table: "order_line"}},
		{Name: "lost-order", Check: CheckOrders, Kinds: []string{"lost"}, Or: CheckConsistency,
			Doc: "an order is acknowledged and is not there, with nothing of what belongs to it but the stock",
			Act: bug.Act{Does: bug.ForgetsAll, To: bug.Inserted, Tables: order}},
		{Name: "same-number", Check: CheckOrders, Kinds: []string{"doubled"}, Or: CheckAnswers,
			Doc: "a district gives the number of the order before to another order", Act: bug.Act{Does: bug.Renumbers, Tables: order, Columns: numbers}},
		{Name: "stale-stock", Check: CheckStock, Kinds: []string{"quantity"},
			Doc: "an order takes its stock from an older state, and what was taken before is back", Act: bug.Act{Does: bug.Forgets, Table: "stock"}},
		{Name: "doubled-payment", Check: CheckPayments, Kinds: []string{"total"}, Or: CheckConsistency,
			Doc: "a payment is added twice to its warehouse, its district and its customer, and has one row in the history",
			Act: bug.Act{Does: bug.Doubles, Columns: []string{"w_ytd", "d_ytd", "c_ytd_payment"}}},
		{Name: "lost-payment", Check: CheckConsistency, Kinds: []string{"condition 1"},
			Doc: "a payment is not added to its warehouse, though to its district", Act: bug.Act{Does: bug.Forgets, Table: "warehouse"}},
		{Name: "half-delivery", Check: CheckDeliveries, Kinds: []string{"half done"}, Or: CheckConsistency,
			Doc: "a delivery is acknowledged, and one of its orders is not delivered", Act: bug.Act{Does: bug.Forgets, Table: "orders"}},
		{Name: "failed-but-applied", Check: CheckOrders, Kinds: []string{"failed"},
			Doc: "an order is entered, and failed is answered", Act: bug.Act{Does: bug.Denies, To: bug.Inserted, Table: "orders"}},
		bug.Late("operation done"),
		{Name: "lost-update", Check: CheckIsolation, Kinds: []string{"lost update"},
			Doc: "in an isolation test, a transaction does not wait for one that has changed something, and is lost", Act: bug.Act{Does: bug.Loses, Stepped: true}},
	}
}
