package tpcc

import "assay/store"

// Reply is the end of a transaction. With Committed it has Values. A New-Order answers the
// order's number and Total; a Payment the customer and the balance; an Order-Status these two
// and the last order's number, lines and sum; a Delivery by district the order delivered or 0; a
// Stock-Level the number of low items.
type Reply struct {
	store.Reply
	Values []int64
}

// ClassUnusedItem is a New-Order's that was rolled back because of UnusedItem.
const ClassUnusedItem = "unused item"

// Total is an order's amount in cents with the customer's discount and both taxes, rounded
// (clause 2.4.2.2).
func Total(sum, discount, warehouseTax, districtTax int64) int64 {
	const one = 10_000
	return (sum*(one-discount)*(one+warehouseTax+districtTax) + one*one/2) / (one * one)
}

// Remaining is the stock left after an order (clause 2.4.2.2).
func Remaining(quantity, taken int64) int64 {
	if quantity >= taken+10 {
		return quantity - taken
	}
	return quantity - taken + 91
}
