package tpcc

import "assay/store"

// Rows are rows of any of the tables.
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

// Visitor has what is done with each row.
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

// Reply is how a transaction ended. Values are, with Committed, what it has answered: a
// New-Order the order's number in its district and its amount as Total says; a Payment the
// customer and the balance; an Order-Status these two, and of the customer's last order its
// number, how many lines it has, and their sum; a Delivery the orders that it has delivered, by
// district from 1, and 0 where there was none; a Stock-Level how many are low.
type Reply struct {
	store.Reply
	Values []int64
}

// ClassUnusedItem is the class of a New-Order that was rolled back because an item does
// not exist.
const ClassUnusedItem = "unused item"

// Total is the total amount of an order in cents: the sum of its lines, less the
// customer's discount, with the taxes of warehouse and district (clause 2.4.2.2),
// rounded.
func Total(sum, discount, warehouseTax, districtTax int64) int64 {
	const one = 10_000
	return (sum*(one-discount)*(one+warehouseTax+districtTax) + one*one/2) / (one * one)
}

// Remaining is what is left of a stock when so many are taken of it (clause 2.4.2.2).
func Remaining(quantity, taken int64) int64 {
	if quantity >= taken+10 {
		return quantity - taken
	}
	return quantity - taken + 91
}
