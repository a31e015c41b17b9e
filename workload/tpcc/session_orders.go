package tpcc

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"assay/store"
)

// NewOrder ends as Rejected and is rolled back if an item does not exist.
func (s *session) NewOrder(ctx context.Context, in *NewOrderInput) Reply {
	return s.transaction(ctx, true, 2, func(t *steps, answer []int64) {
		o := newOrder{steps: t, in: in}
		o.enter()
		answer[0], answer[1] = o.order, Total(o.sum, o.discount, o.warehouseTax, o.districtTax)
		o.stopAtEnd(o.order)
	})
}

// newOrder collects its writes, except the order's number, and sends them together at the end.
type newOrder struct {
	*steps
	in *NewOrderInput

	warehouseTax, districtTax, discount int64
	order, sum                          int64
	// prices lacks items that do not exist.
	prices map[int64]int64
	lines  []OrderLine
	writes []store.Call
}

// Without joins, writers conflict instead of waiting. Taking the number first makes them fail
// early.
func (o *newOrder) enter() {
	in := o.in
	if o.joins {
		o.readRates()
		o.takeNumber()
	} else {
		o.takeNumber()
		o.readRates()
	}
	o.readItems()
	o.takeStock()
	if len(o.lines) < len(in.Lines) { // when the stock of the others is taken (clause 2.4.2.3)
		o.together(o.writes)
		if o.stopAtEnd(o.order); o.err == nil {
			o.err = errUnusedItem
		}
		return
	}
	o.write(insertNewOrder, store.OfInts(in.Warehouse, in.District, o.order))
	o.write(insertOrder, store.OfInts(in.Warehouse, in.District, o.order, in.Customer, 0, int64(len(in.Lines)), in.AllLocal(), in.Moment, in.Operation, 0))
	var values []store.Value
	for i := range o.lines {
		values = store.AppendFields(values, o.lines[i].fields())
	}
	o.write(insertLines+len(o.lines)-1, values)
	o.together(o.writes)
}

func (o *newOrder) write(statement int, parameters []store.Value) {
	o.writes = append(o.writes, store.Call{Statement: statement, Parameters: parameters})
}

func (o *newOrder) readRates() {
	customer := store.OfInts(o.in.Warehouse, o.in.District, o.in.Customer)
	if o.joins {
		o.one(readRates, "such customer", []any{&o.warehouseTax, &o.discount, nil, nil}, customer...)
		return
	}
	o.one(readRates, "such warehouse", []any{&o.warehouseTax}, customer[:1]...)
	o.one(readDiscount, "such customer", []any{&o.discount, nil, nil}, customer...)
}

func (o *newOrder) takeNumber() {
	o.one(takeNumber, "such district", []any{&o.districtTax, &o.order}, store.OfInts(o.in.Warehouse, o.in.District)...)
	o.order-- // the next one is what was read
}

func distinct(numbers []int64) []int64 {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func (o *newOrder) readItems() {
	items := make([]int64, len(o.in.Lines))
	for i, l := range o.in.Lines {
		items[i] = l.Item
	}
	items = distinct(items)
	o.prices = make(map[int64]int64, len(items))
	var id, price int64
	o.stopAfter(AtPrices, func() {
		o.do(readItems, func(r store.Row) error {
			err := r.Scan(&id, &price, nil, nil)
			o.prices[id] = price
			return err
		}, store.OfKeys(items))
	}, func() (byItem []int64) {
		for _, item := range items {
			byItem = append(byItem, o.prices[item])
		}
		return byItem
	})
}

// takeStock takes stock sorted by warehouse and item, and makes the lines in the input's order.
func (o *newOrder) takeStock() {
	var wanted []int // indexes in the input
	for i, l := range o.in.Lines {
		if _, there := o.prices[l.Item]; there {
			wanted = append(wanted, i)
		}
	}
	slices.SortStableFunc(wanted, func(a, b int) int {
		x, y := o.in.Lines[a], o.in.Lines[b]
		return cmp.Or(cmp.Compare(x.Supply, y.Supply), cmp.Compare(x.Item, y.Item))
	})
	o.lines = make([]OrderLine, 0, len(wanted))
	o.writes = make([]store.Call, 0, len(wanted)+3)
	for len(wanted) > 0 && o.err == nil {
		supply := o.in.Lines[wanted[0]].Supply
		n := slices.IndexFunc(wanted, func(i int) bool { return o.in.Lines[i].Supply != supply })
		if n < 0 {
			n = len(wanted)
		}
		o.takeFrom(supply, wanted[:n])
		wanted = wanted[n:]
	}
	slices.SortFunc(o.lines, func(a, b OrderLine) int { return cmp.Compare(a.Number, b.Number) })
}

type taken struct {
	quantity, ytd, orders int64
	info                  string
}

// takeFrom takes stock from one warehouse for lines sorted by item.
func (o *newOrder) takeFrom(supply int64, wanted []int) {
	items := make([]int64, len(wanted))
	for n, i := range wanted {
		items[n] = o.in.Lines[i].Item
	}
	items = slices.Compact(items)
	found := make(map[int64]*taken, len(items))
	var item int64
	o.do(readStock+int(o.in.District)-1, func(r store.Row) error {
		s := new(taken)
		err := r.Scan(&item, &s.quantity, &s.info, nil)
		found[item] = s
		return err
	}, store.OfInt(supply), store.OfKeys(items))
	if o.err != nil {
		return
	}
	for _, i := range wanted {
		l := o.in.Lines[i]
		s := found[l.Item]
		if s == nil {
			o.err = errors.New("there is no such stock")
			return
		}
		s.quantity, s.ytd, s.orders = Remaining(s.quantity, l.Quantity), s.ytd+l.Quantity, s.orders+1
		amount := l.Quantity * o.prices[l.Item]
		o.sum += amount
		o.lines = append(o.lines, OrderLine{Warehouse: o.in.Warehouse, District: o.in.District, Order: o.order, Number: int64(i) + 1,
			Item: l.Item, Supply: supply, Quantity: l.Quantity, Amount: amount, DistInfo: s.info})
	}
	for _, item := range items {
		s, remote := found[item], int64(0)
		if supply != o.in.Warehouse {
			remote = s.orders
		}
		o.write(updateStock, store.OfInts(supply, item, s.quantity, s.ytd, s.orders, remote))
	}
}

// Delivery delivers each district's oldest undelivered order, in one transaction.
func (s *session) Delivery(ctx context.Context, in *DeliveryInput) Reply {
	return s.transaction(ctx, true, Districts, func(t *steps, answer []int64) {
		d := delivery{steps: t, in: in, orders: answer}
		d.all()
		d.stopAtEnd()
	})
}

type delivery struct {
	*steps
	in     *DeliveryInput
	orders []int64
}

// With joins, writers wait for locks, so districts are done one after another.
func (d *delivery) all() {
	n := Districts
	if d.joins {
		n = 1
	}
	for first := 0; first < Districts && d.err == nil; first += n {
		d.deliver(first, first+n)
	}
	count := int64(0)
	for _, order := range d.orders {
		count += min(order, 1)
	}
	d.do(insertDelivery, nil, store.OfInts(d.in.Operation, d.in.Warehouse, d.in.Carrier, d.in.Moment, count)...)
}

func (d *delivery) deliver(first, end int) {
	var due []int // districts, from 0
	for i := first; i < end; i++ {
		d.stopAfter(AtOldestOrder, func() {
			d.orders[i] = 0
			d.do(oldestOrder, func(r store.Row) error { return r.Scan(&d.orders[i]) }, store.OfInts(d.in.Warehouse, int64(i)+1)...)
		}, func() []int64 { return []int64{d.orders[i]} })
		if d.orders[i] != 0 {
			due = append(due, i)
		}
	}
	if len(due) == 0 {
		return
	}
	var customers, sums [Districts]int64
	var calls []store.Call
	each := func(statement, want int, row func(i int, r store.Row) error, more ...int64) {
		for _, i := range due {
			c := store.Call{Statement: statement, Parameters: store.OfInts(append([]int64{d.in.Warehouse, int64(i) + 1, d.orders[i]}, more...)...), Want: want}
			if row != nil {
				c.Row = func(r store.Row) error { return row(i, r) }
			}
			calls = append(calls, c)
		}
	}
	each(deleteNewOrder, 0, nil)
	each(orderedBy, 1, func(i int, r store.Row) error { return r.Scan(&customers[i]) })
	each(deliverOrder, 0, nil, d.in.Carrier, d.in.Operation)
	each(deliverLines, 0, nil, d.in.Moment)
	var amount int64
	each(readAmounts, 0, func(i int, r store.Row) error {
		err := r.Scan(&amount)
		sums[i] += amount
		return err
	})
	d.together(calls)
	calls = calls[:0:0]
	for _, i := range due {
		calls = append(calls, store.Call{Statement: creditCustomer, Parameters: store.OfInts(d.in.Warehouse, int64(i)+1, customers[i], sums[i])})
	}
	d.together(calls)
}
