package tpcc

import (
	"context"

	"assay/workload"
)

// Store is what a database must offer for this workload.
//
// All methods are safe for concurrent use, except where said otherwise.
type Store interface {
	workload.Store

	// Create makes the empty tables; see workload.Store.
	Create(ctx context.Context, mark workload.Marker) error

	// LoadRows inserts opening rows. It is called from several goroutines with
	// disjoint rows, at most MaxBatch of a table.
	LoadRows(ctx context.Context, rows *Rows) error

	// FinishLoad is called once after all rows are in: it builds what is better built
	// late (indexes, statistics) and sets Marker.Loaded.
	FinishLoad(ctx context.Context) error

	// Session opens what one client uses: usually one connection. The session is used
	// by one goroutine at a time.
	Session(ctx context.Context) (Session, error)

	// Read gives all rows as one consistent view, the tables in the order of
	// Visitor's fields and the rows of a table in any, without their texts: see
	// Numbers. It stops at the first error, of the database's or of a callback's, and
	// returns it. Rows are given as the database holds them, however wrong.
	Read(ctx context.Context, v Visitor) error
}

// MaxBatch is the most rows of a table that LoadRows is given at once.
const MaxBatch = 1500

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

// Session is one client's connection. Each method does one transaction as the
// specification has it, does not retry, and says how it ended. When ctx ends before the
// database has answered, the outcome is Unknown, unless it is proven that nothing can
// take effect. Failed is said only with proof of no effect.
//
// New-Order, Payment and Delivery note the operation's id with what they write. If one
// of that id is there already, the reply is Failed and Duplicate.
type Session interface {
	// NewOrder is Rejected, with everything it has done rolled back, if an item does
	// not exist.
	NewOrder(ctx context.Context, in *NewOrderInput) NewOrderReply
	Payment(ctx context.Context, in *PaymentInput) PaymentReply
	OrderStatus(ctx context.Context, in *OrderStatusInput) OrderStatusReply
	// Delivery delivers the oldest order of each district that is not delivered yet,
	// all of them in one transaction.
	Delivery(ctx context.Context, in *DeliveryInput) DeliveryReply
	StockLevel(ctx context.Context, in *StockLevelInput) StockLevelReply

	// Close ends the session. What is in flight is abandoned.
	Close()
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
