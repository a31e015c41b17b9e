package tpcc

import "context"

// isolationScript is an isolation test of clause 3.4.2, Number 1 to 9, as a value.
type isolationScript struct {
	Number int
	// Between names the transactions. Phenomenon must not occur, as in clause 3.4.1: P0 dirty
	// write, P1 dirty read, P2 non-repeatable read, P3 phantom.
	Between, Phenomenon string
	// first stops at a point until second has ended or waits. Then it reads once more, if again,
	// and ends. finds is the format of the numbers that it reads there; empty if no test needs
	// them.
	roles roles
	at    Point
	again bool
	finds string
	// from is the number of before: T0, or T1 in test 7, whose clause counts it.
	from int
	// delivers: the warehouse begins with an undelivered order. rollBack: first rolls back. once:
	// second is not repeated if it is refused.
	delivers, rollBack, once bool
	// keep puts what the transactions read and answered into the record.
	keep  func(p *isolationPlay)
	judge func(t *IsolationTest) isolationResult
}

// roles are a test's transactions in the order of their beginning. before and after run alone; a
// test need not have them.
type roles [after + 1]transaction

const (
	before = iota
	first
	second
	after
)

// transaction is one that a test does. Several tests have the same.
type transaction struct {
	name string
	// answers is the format of its answer; empty if no test needs it.
	answers string
	do      func(ctx context.Context, s *session, of input) Reply
}

// input is what the inputs of a test's transactions have in common.
type input struct{ warehouse, operation, moment int64 }

func isolationScripts() []isolationScript {
	var none transaction
	const order, prices = "order %d", "prices %d and %d"
	all, two := newOrderOf(testItemNumbers()...), newOrderOf(FirstTestItem, FirstTestItem+1)
	unused := newOrderOf(FirstTestItem, FirstTestItem-1) // which does not exist, so that it rolls back by itself
	priced := newOrderOf(FirstTestItem, FirstTestItem+1, FirstTestItem)
	status, delivery, payment := statusOf(), deliveryOf(), paymentOf()
	look, raise := pricesOf(0), pricesOf(testPrice/10)
	return []isolationScript{
		{Number: 1, Between: "New-Order and Order-Status", Phenomenon: "P1",
			roles: roles{status, all, status, none}, at: AtEnd, finds: order, keep: keepOrders, judge: judgeReadOrder},
		{Number: 2, Between: "New-Order, rolled back, and Order-Status", Phenomenon: "P1", rollBack: true,
			roles: roles{status, all, status, none}, at: AtEnd, finds: order, keep: keepOrders, judge: judgeReadOrder},
		{Number: 3, Between: "two New-Orders", Phenomenon: "P0",
			roles: roles{none, two, all, all}, at: AtEnd, finds: order, keep: keepNumbers, judge: judgeOrderTwice},
		{Number: 4, Between: "New-Order, rolled back, and New-Order", Phenomenon: "P0",
			roles: roles{none, unused, all, all}, at: AtEnd, finds: order, keep: keepNumbers, judge: judgeOrderTwice},
		{Number: 5, Between: "Delivery and Payment", Phenomenon: "P0", delivers: true,
			roles: roles{status, delivery, payment, status}, at: AtEnd, keep: keepBalances, judge: judgeDeliverAndPay},
		{Number: 6, Between: "Delivery, rolled back, and Payment", Phenomenon: "P0", delivers: true, rollBack: true,
			roles: roles{status, delivery, payment, status}, at: AtEnd, keep: keepBalances, judge: judgeDeliverAndPay},
		{Number: 7, Between: "New-Order and an update of prices", Phenomenon: "P2", from: 1, again: true, once: true,
			roles: roles{look, priced, raise, look}, at: AtPrices, finds: prices, keep: keepPrices, judge: judgeReadPrices},
		{Number: 8, Between: "Delivery and New-Order", Phenomenon: "P3", again: true,
			roles: roles{none, delivery, all, none}, at: AtOldestOrder, finds: "oldest undelivered order %d", keep: keepFound, judge: judgePhantom},
		{Number: 9, Between: "Order-Status and New-Order", Phenomenon: "P3", again: true,
			roles: roles{none, status, all, none}, at: AtLastOrder, finds: "last order %d", keep: keepFound, judge: judgePhantom},
	}
}

func (s *isolationScript) warehouse() int64 { return int64(TestWarehouse + s.Number) }

const (
	orderQuantity = 2
	testPaid      = 300
)

// keepOrders: Before and Seen are the order that the customer is shown, Done is first's order:
// number, lines, amount.
func keepOrders(p *isolationPlay) {
	p.Before, p.Seen = p.answers[before][2:], p.answers[second][2:]
	p.Done = []int64{p.read[0], testItems, testItems * orderQuantity * testPrice}
}

// keepNumbers: Before and After are D_NEXT_O_ID, After by the number of after's order; Done and
// Seen are the order numbers of first and second.
func keepNumbers(p *isolationPlay) {
	p.Before, p.Done = []int64{testOrder + 1}, p.read
	p.Seen, p.After = p.answers[second][:1], p.answers[after][:1]
}

// keepBalances: Before and After are C_BALANCE; Done is what first adds, Seen what second takes
// off.
func keepBalances(p *isolationPlay) {
	p.Before, p.Done = p.answers[before][1:2], p.answers[before][4:]
	p.Seen, p.After = []int64{testPaid}, p.answers[after][1:2]
}

// keepPrices: Before and After are the prices that before and after read, Seen and Again those of
// first, Done those that second sets.
func keepPrices(p *isolationPlay) {
	p.Before, p.Seen, p.Again = p.answers[before], p.read, p.again
	p.Done, p.After = p.answers[second], p.answers[after]
}

// keepFound: Seen and Again are the order that first finds, 0 for none.
func keepFound(p *isolationPlay) { p.Seen, p.Again, p.Done = p.read, p.again, p.answers[second][:1] }

func testItemNumbers() (items []int64) {
	for item := int64(FirstTestItem); item <= LastTestItem; item++ {
		items = append(items, item)
	}
	return items
}

func newOrderOf(items ...int64) transaction {
	return transaction{"a New-Order", "order %d, in all %d", func(ctx context.Context, s *session, of input) Reply {
		in := NewOrderInput{Operation: of.operation, Warehouse: of.warehouse, District: testDistrict, Customer: testCustomer, Moment: of.moment}
		for _, item := range items {
			in.Lines = append(in.Lines, LineInput{Item: item, Supply: in.Warehouse, Quantity: orderQuantity})
		}
		return s.NewOrder(ctx, &in)
	}}
}

func (i input) customer() CustomerInput {
	return CustomerInput{Warehouse: i.warehouse, District: testDistrict, ID: testCustomer}
}

func statusOf() transaction {
	const answers = "customer %d, C_BALANCE %d, order %d with %d lines of %d in all"
	return transaction{"an Order-Status", answers, func(ctx context.Context, s *session, of input) Reply {
		return s.OrderStatus(ctx, &OrderStatusInput{of.customer()})
	}}
}

func paymentOf() transaction {
	return transaction{"a Payment", "customer %d, C_BALANCE %d", func(ctx context.Context, s *session, of input) Reply {
		return s.Payment(ctx, &PaymentInput{Operation: of.operation, Warehouse: of.warehouse, District: testDistrict, Amount: testPaid,
			Moment: of.moment, Customer: of.customer()})
	}}
}

func deliveryOf() transaction {
	return transaction{"a Delivery", "", func(ctx context.Context, s *session, of input) Reply {
		return s.Delivery(ctx, &DeliveryInput{Operation: of.operation, Warehouse: of.warehouse, Carrier: 1, Moment: of.moment})
	}}
}

func pricesOf(raise int64) transaction {
	name := "a reader of prices"
	if raise != 0 {
		name = "a raise of prices"
	}
	return transaction{name, "prices %d and %d", func(ctx context.Context, s *session, _ input) Reply {
		return s.Prices(ctx, []int64{FirstTestItem, FirstTestItem + 1}, raise)
	}}
}
