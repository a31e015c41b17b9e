package tpcc

import "assay/workload"

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

// NewOrderReply is how a New-Order ended. What is beside Reply is given with
// Committed, here and below.
type NewOrderReply struct {
	workload.Reply
	// Order is the order's number in its district, and Total the amount as Total says.
	Order, Total int64
}

type PaymentReply struct {
	workload.Reply
	Customer, Balance int64
}

type OrderStatusReply struct {
	workload.Reply
	Customer, Balance int64
	// Order is the customer's last one; Lines how many lines it has, and Amount their
	// sum.
	Order, Lines, Amount int64
}

type DeliveryReply struct {
	workload.Reply
	// Orders are those delivered, by district from 1; 0 where there was none.
	Orders [Districts]int64
}

type StockLevelReply struct {
	workload.Reply
	Low int64
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
