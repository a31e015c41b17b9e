package tpcc

import "assay/store/bug"

// Bugs are ways of breaking a database's promises that the checks must find.
func Bugs() []bug.Bug {
	return []bug.Bug{
		{Name: "lost-line", Check: CheckOrders, Kinds: []string{"half done"}, Or: CheckConsistency,
			Doc: "an order is acknowledged and one of its lines is not there"},
		{Name: "lost-order", Check: CheckOrders, Kinds: []string{"lost"}, Or: CheckConsistency,
			Doc: "an order is acknowledged and is not there, with nothing of what belongs to it but the stock"},
		{Name: "same-number", Check: CheckOrders, Kinds: []string{"doubled"}, Or: CheckAnswers,
			Doc: "a district gives the number of the order before to another order"},
		{Name: "stale-stock", Check: CheckStock, Kinds: []string{"quantity"},
			Doc: "an order takes its stock from an older state, and what was taken before is back"},
		{Name: "doubled-payment", Check: CheckPayments, Kinds: []string{"total"}, Or: CheckConsistency,
			Doc: "a payment is added twice to its warehouse, its district and its customer, and has one row in the history"},
		{Name: "lost-payment", Check: CheckConsistency, Kinds: []string{"condition 1"},
			Doc: "a payment is not added to its warehouse, though to its district"},
		{Name: "half-delivery", Check: CheckDeliveries, Kinds: []string{"half done"}, Or: CheckConsistency,
			Doc: "a delivery is acknowledged, and one of its orders is not delivered"},
		{Name: "failed-but-applied", Check: CheckOrders, Kinds: []string{"failed"},
			Doc: "an order is entered, and failed is answered"},
		bug.Late("order entered"),
		{Name: "dirty-read", Check: CheckIsolation, Kinds: []string{"dirty read"}, Doc: "in an isolation test, an Order-Status shows an order that is not committed"},
		{Name: "lost-update", Check: CheckIsolation, Kinds: []string{"lost update"}, Doc: "in an isolation test, a New-Order or a Payment does not wait for a transaction that has changed the same row, and is lost"},
		{Name: "unrepeatable-read", Check: CheckIsolation, Kinds: []string{"non-repeatable read"}, Doc: "in an isolation test, a New-Order that reads prices again reads others"},
		{Name: "phantom", Check: CheckIsolation, Kinds: []string{"phantom"}, Doc: "in an isolation test, a Delivery or an Order-Status that looks for an order again finds one that was entered meanwhile"},
	}
}
