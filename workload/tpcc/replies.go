package tpcc

import "assay/store"

// Rows are rows of all tables.
type Rows struct {
	Items      []Item
	Warehouses []Warehouse
	Districts  []District
	Customers  []Customer
	Payments   []Payment
	Orders     []Order
	NewOrders  []NewOrder
	Lines      []OrderLine
	Stock      []Stock
}

// Visitor has a callback for each table.
type Visitor struct {
	Item      func(Item) error
	Warehouse func(Warehouse) error
	District  func(District) error
	Customer  func(Customer) error
	Payment   func(Payment) error
	Order     func(Order) error
	NewOrder  func(NewOrder) error
	Line      func(OrderLine) error
	Stock     func(Stock) error
	Delivery  func(Delivery) error
}

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
