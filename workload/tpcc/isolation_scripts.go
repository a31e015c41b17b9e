package tpcc

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"assay/history"
	"assay/store"
)

// isolationScript is an isolation test of clause 3.4.2, Number 1 to 9.
type isolationScript struct {
	Number int
	// Between names the transactions. Phenomenon must not occur, as in clause 3.4.1: P0 dirty
	// write, P1 dirty read, P2 non-repeatable read, P3 phantom.
	Between, Phenomenon string
	// delivers: the warehouse begins with an undelivered order. rollBack: the first rolls back.
	delivers, rollBack bool
	play               func(p *isolationPlay)
	judge              func(t *IsolationTest) isolationResult
}

func isolationScripts() []isolationScript {
	return []isolationScript{
		{1, "New-Order and Order-Status", "P1", false, false, (*isolationPlay).readOrder, judgeReadOrder},
		{2, "New-Order, rolled back, and Order-Status", "P1", false, true, (*isolationPlay).readOrder, judgeReadOrder},
		{3, "two New-Orders", "P0", false, false, (*isolationPlay).orderTwice, judgeOrderTwice},
		{4, "New-Order, rolled back, and New-Order", "P0", false, true, (*isolationPlay).orderTwice, judgeOrderTwice},
		{5, "Delivery and Payment", "P0", true, false, (*isolationPlay).deliverAndPay, judgeDeliverAndPay},
		{6, "Delivery, rolled back, and Payment", "P0", true, true, (*isolationPlay).deliverAndPay, judgeDeliverAndPay},
		{7, "New-Order and an update of prices", "P2", false, false, (*isolationPlay).readPrices, judgeReadPrices},
		{8, "Delivery and New-Order", "P3", false, false, (*isolationPlay).deliverNothing, judgePhantom},
		{9, "Order-Status and New-Order", "P3", false, false, (*isolationPlay).findLastOrder, judgePhantom},
	}
}

func (s *isolationScript) warehouse() int64 { return int64(TestWarehouse + s.Number) }

type transaction func(ctx context.Context, session *session) Reply

func committed(r store.Reply) error {
	if r.Outcome == history.Committed {
		return nil
	}
	return fmt.Errorf("a transaction is %s: %s: %w", r.Outcome, r.Class, r.Err)
}

// operation is the next operation's id of the test.
func (p *isolationPlay) operation() int64 {
	p.operations++
	return FirstTestOperation + int64(p.Test)*1000 + p.operations
}

const orderQuantity = 2

// ordered is what an Order-Status shows of a New-Order of all items.
func ordered(number int64) []int64 {
	return []int64{number, testItems, testItems * orderQuantity * testPrice}
}

// newOrder orders these items; none means all.
func (p *isolationPlay) newOrder(items ...int64) transaction {
	in := NewOrderInput{Operation: p.operation(), Warehouse: p.script.warehouse(), District: testDistrict, Customer: testCustomer, Moment: time.Now().UnixMilli()}
	if len(items) == 0 {
		for item := int64(FirstTestItem); item <= LastTestItem; item++ {
			items = append(items, item)
		}
	}
	for _, item := range items {
		in.Lines = append(in.Lines, LineInput{Item: item, Supply: in.Warehouse, Quantity: orderQuantity})
	}
	return func(ctx context.Context, session *session) Reply { return session.NewOrder(ctx, &in) }
}

func (p *isolationPlay) orderStatus() transaction {
	in := OrderStatusInput{CustomerInput{Warehouse: p.script.warehouse(), District: testDistrict, ID: testCustomer}}
	return func(ctx context.Context, session *session) Reply { return session.OrderStatus(ctx, &in) }
}

func (p *isolationPlay) prices(raise int64) transaction {
	return func(ctx context.Context, session *session) Reply {
		return session.Prices(ctx, []int64{FirstTestItem, FirstTestItem + 1}, raise)
	}
}

// A Delivery's answer matters to no test.
func (p *isolationPlay) delivery() transaction {
	in := DeliveryInput{Operation: p.operation(), Warehouse: p.script.warehouse(), Carrier: 1, Moment: time.Now().UnixMilli()}
	return func(ctx context.Context, session *session) Reply { return session.Delivery(ctx, &in) }
}

// readOrder is tests 1 and 2: T1 is a New-Order that has not ended, T2 an Order-Status of the
// same customer. Before and Seen are the order that the customer is shown; Done is T1's order:
// number, lines, amount.
func (p *isolationPlay) readOrder() {
	before := p.alone(p.orderStatus())
	t1, read := p.stopped(p.first, AtEnd, p.newOrder())
	if p.err != nil {
		return
	}
	p.Before, p.Done = before[2:], ordered(read[0])
	p.note("T0, an Order-Status, shows %s", showOrder(p.Before))
	p.note("T1, a New-Order, enters %s and stops before COMMIT", showOrder(p.Done))
	const second = "T2, an Order-Status,"
	do := p.orderStatus()
	t2 := p.beside(second, do)
	p.closeFirst("T1", t1, p.script.rollBack)
	seen := p.closeSecond(second, t2, do)
	if p.err != nil {
		return
	}
	p.Seen = seen[2:]
	p.note("T2 has shown %s", showOrder(p.Seen))
}

func showOrder(order []int64) string {
	return fmt.Sprintf("order %d with %d lines of %d in all", order[0], order[1], order[2])
}

// orderTwice is tests 3 and 4: T1 is a New-Order that has not ended, T2 another of the same
// customer. Before and After are D_NEXT_O_ID; Done and Seen are the order numbers of T1 and T2.
func (p *isolationPlay) orderTwice() {
	items := []int64{FirstTestItem, FirstTestItem + 1}
	if p.script.rollBack {
		items[1] = FirstTestItem - 1 // which does not exist, so that T1 rolls back by itself
	}
	t1, read := p.stopped(p.first, AtEnd, p.newOrder(items...))
	if p.err != nil {
		return
	}
	p.Before, p.Done = []int64{testOrder + 1}, read[:1]
	p.note("the district's D_NEXT_O_ID is %d", p.Before[0])
	p.note("T1, a New-Order, enters order %d and stops before it ends", p.Done[0])
	const second = "T2, a New-Order,"
	do := p.newOrder()
	t2 := p.beside(second, do)
	p.closeFirst("T1", t1, false)
	seen := p.closeSecond(second, t2, do)
	if p.err != nil {
		return
	}
	p.Seen = seen[:1]
	p.note("T2 has entered order %d", seen[0])
	// A rolled back New-Order tells D_NEXT_O_ID.
	t3, read := p.stopped(p.aside, AtEnd, p.newOrder())
	if p.err != nil {
		return
	}
	p.After = read[:1]
	p.note("D_NEXT_O_ID is now %d", p.After[0])
	_, p.err = t3.send(errRolledBack)
}

// deliverAndPay is tests 5 and 6: T1 is a Delivery of a customer's order, T2 a Payment by the
// customer. Before and After are C_BALANCE; Done is what T1 adds, Seen what T2 takes off.
func (p *isolationPlay) deliverAndPay() {
	const amount = 300
	before := p.alone(p.orderStatus())
	t1, _ := p.stopped(p.first, AtEnd, p.delivery())
	if p.err != nil {
		return
	}
	p.Before, p.Done, p.Seen = before[1:2], before[4:], []int64{amount}
	p.note("the customer's C_BALANCE is %d", p.Before[0])
	p.note("T1, a Delivery, delivers the customer's order of %d and stops before COMMIT", p.Done[0])
	payment := PaymentInput{Operation: p.operation(), Warehouse: p.script.warehouse(), District: testDistrict, Amount: amount, Moment: time.Now().UnixMilli(),
		Customer: CustomerInput{Warehouse: p.script.warehouse(), District: testDistrict, ID: testCustomer}}
	const second = "T2, a Payment,"
	do := func(ctx context.Context, session *session) Reply { return session.Payment(ctx, &payment) }
	t2 := p.beside(second, do)
	p.closeFirst("T1", t1, p.script.rollBack)
	p.closeSecond(second, t2, do)
	after := p.alone(p.orderStatus())
	if p.err != nil {
		return
	}
	p.After = after[1:2]
	p.note("T2 has paid %d, and C_BALANCE is now %d", amount, p.After[0])
}

// readPrices is test 7: T3 raises two prices by 10 % after a New-Order, T2, has read them.
// Before and After are the prices that T1 and T4 read, Seen and Again those of T2, Done those
// that T3 sets. First is T2 and Second is T3.
func (p *isolationPlay) readPrices() {
	before := p.alone(p.prices(0))
	t2, read := p.stopped(p.first, AtPrices, p.newOrder(FirstTestItem, FirstTestItem+1, FirstTestItem))
	if p.err != nil {
		return
	}
	p.Before, p.Seen = before, read
	p.note("T1 reads the prices %d", before)
	p.note("T2, a New-Order, reads the prices %d", read)
	t3 := p.beside("T3, which raises them by a tenth,", p.prices(testPrice/10))
	if p.Again = p.repeat(t2); p.Again != nil {
		p.note("T2 reads the prices %d", p.Again)
	}
	p.closeFirst("T2", t2, false)
	p.finish(t3)
	if p.err != nil {
		return
	}
	p.Second, p.Done = t3.committed(), t3.reply.Values
	p.Refused = cmp.Or(t3.refusal(), p.Refused)
	if !p.Early {
		p.note("T3 %s", t3.outcome())
	}
	if !p.Second && t3.refusal() == "" {
		p.err = committed(t3.reply.Reply)
	}
	p.After = p.alone(p.prices(0))
	p.note("T4 reads the prices %d", p.After)
}

// deliverNothing is test 8: T1 is a Delivery that found no order, T2 a New-Order in the
// district. Seen and Again are the order that T1 finds, 0 for none.
func (p *isolationPlay) deliverNothing() {
	p.readTwice("T1, a Delivery,", "in the table new_order", AtOldestOrder, p.delivery())
}

// findLastOrder is test 9: T1 is an Order-Status that found its customer's last order, T2 a
// New-Order of the customer. Seen and Again are the order that T1 finds.
func (p *isolationPlay) findLastOrder() {
	p.readTwice("T1, an Order-Status,", "as the customer's last", AtLastOrder, p.orderStatus())
}

// readTwice lets a transaction read twice, with a New-Order between.
func (p *isolationPlay) readTwice(first, what string, at Point, do transaction) {
	t1, read := p.stopped(p.first, at, do)
	if p.err != nil {
		return
	}
	p.Seen = read
	p.note("%s finds order %d %s", first, read[0], what)
	const second = "T2, a New-Order,"
	order := p.newOrder()
	t2 := p.beside(second, order)
	if p.Again = p.repeat(t1); p.Again != nil {
		p.note("T1 reads the same again and finds order %d", p.Again[0])
	}
	p.closeFirst("T1", t1, false)
	if entered := p.closeSecond(second, t2, order); p.err == nil {
		p.Done = entered[:1]
	}
}
