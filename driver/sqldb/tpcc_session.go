package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/tpcc"
)

// tpccSession does the transactions, each statement in a round trip of its own. Locks
// are taken in one order: the warehouse, the district, the oldest orders and the
// customers by district, stock by warehouse and item.
//
// What a transaction reads goes into variables of its own, since it may go on after the
// caller has left.
type tpccSession struct {
	connection Connection
	returning  bool
	// stop is nil but in isolation tests.
	stop tpcc.Stop
}

func (s *tpccSession) Close() { s.connection.Close() }

// errUnusedItem has a New-Order rolled back.
var errUnusedItem = fmt.Errorf("an item does not exist: %w", store.ErrRollback)

// missing is the error where a row that must be there is not.
func missing(what string) error { return errors.New("there is no " + what) }

// written is the reply to a transaction that notes its operation.
func written(r Reply) workload.Reply {
	if errors.Is(r.Err, errUnusedItem) && r.Outcome == history.Failed {
		r.Outcome, r.Class = history.Rejected, tpcc.ClassUnusedItem
	}
	return r.Inserted()
}

// tpccSteps are the statements of one transaction. After an error nothing more is sent.
type tpccSteps struct {
	*tpccSession
	ctx context.Context
	t   Transaction
	err error // the first
}

// transaction does one.
func (s *tpccSession) transaction(ctx context.Context, writes bool, work func(*tpccSteps)) Reply {
	return s.connection.Transaction(ctx, writes, func(ctx context.Context, t Transaction) error {
		d := &tpccSteps{tpccSession: s, ctx: ctx, t: t}
		work(d)
		return d.err
	})
}

func (s *tpccSteps) execute(statement int, parameters ...Value) {
	if s.err == nil {
		s.err = s.t.Execute(s.ctx, statement, parameters...)
	}
}

func (s *tpccSteps) query(statement int, row func(Row) error, parameters ...Value) {
	if s.err == nil {
		s.err = s.t.Query(s.ctx, statement, row, parameters...)
	}
}

// row does a query that gives one row; what is what is missing without one.
func (s *tpccSteps) row(statement int, what string, into []any, parameters ...Value) {
	found := false
	s.query(statement, func(r Row) error {
		found = true
		return r.Scan(into...)
	}, parameters...)
	if s.err == nil && !found {
		s.err = missing(what)
	}
}

// changed does an UPDATE and gives what it returns or, where it cannot return
// anything, what a query of the same key then reads.
func (s *tpccSteps) changed(update, read int, what string, into []any, key []Value, more ...Value) {
	all := append(slices.Clip(key), more...)
	if s.returning {
		s.row(update, what, into, all...)
		return
	}
	s.execute(update, all...)
	s.row(read, what, into, key...)
}

// stopAfter does what is read, and stops there if the isolation test asks for it. A
// *tpcc.StopError has the transaction rolled back.
func (s *tpccSteps) stopAfter(at tpcc.Point, do func(), read func() []int64) {
	if s.err == nil {
		s.err = rolledBack(s.stop.After(at, func() error {
			do()
			return s.err
		}, read))
	}
}

// stopAtEnd stops before COMMIT alike.
func (s *tpccSteps) stopAtEnd(values ...int64) {
	s.err = rolledBack(s.stop.AtEnd(s.err, values...))
}

func rolledBack(err error) error {
	if errors.As(err, new(*tpcc.StopError)) {
		return fmt.Errorf("%w: %w", err, store.ErrRollback)
	}
	return err
}

// texts are where n texts go that a terminal would show.
func texts(n int) []any {
	into := make([]any, n)
	for i := range into {
		into[i] = new(string)
	}
	return into
}

func (s *tpccSession) NewOrder(ctx context.Context, in *tpcc.NewOrderInput) tpcc.NewOrderReply {
	var order, total int64
	r := s.transaction(ctx, true, func(steps *tpccSteps) {
		o := ordering{tpccSteps: steps, in: in}
		o.do()
		order, total = o.order, tpcc.Total(o.sum, o.discount, o.warehouseTax, o.districtTax)
		o.stopAtEnd(o.order)
	})
	reply := tpcc.NewOrderReply{Reply: written(r)}
	if r.Outcome == history.Committed {
		reply.Order, reply.Total = order, total
	}
	return reply
}

// ordering is one New-Order.
type ordering struct {
	*tpccSteps
	in *tpcc.NewOrderInput

	warehouseTax, districtTax, discount int64
	order, sum                          int64
	// prices are those of the items that there are.
	prices map[int64]int64
	lines  []tpcc.OrderLine
	values []Value
}

func (o *ordering) do() {
	in := o.in
	warehouse, district := OfInt(in.Warehouse), OfInt(in.District)
	o.row(orderingCustomer, "such customer", append([]any{&o.warehouseTax, &o.discount}, texts(2)...), warehouse, district, OfInt(in.Customer))
	o.changed(takeOrderNumber, readOrderNumber, "such district", []any{&o.districtTax, &o.order}, []Value{warehouse, district})
	o.order-- // the next one is what was read
	o.execute(insertOrder, warehouse, district, OfInt(o.order), OfInt(in.Customer), OfInt(0), OfInt(int64(len(in.Lines))),
		OfInt(in.AllLocal()), OfInt(in.Moment), OfInt(in.Operation), OfInt(0))
	o.execute(insertNewOrder, warehouse, district, OfInt(o.order))
	o.readItems()
	o.takeStock()
	if o.err != nil {
		return
	}
	if len(o.lines) < len(in.Lines) {
		if o.stopAtEnd(o.order); o.err == nil {
			o.err = errUnusedItem
		}
		return
	}
	o.execute(insertLines+len(o.lines), o.rows()...)
}

func (o *ordering) readItems() {
	items := make([]int64, len(o.in.Lines))
	for i, l := range o.in.Lines {
		items[i] = l.Item
	}
	slices.Sort(items)
	items = slices.Compact(items)
	o.prices = make(map[int64]int64, len(items))
	var id, price int64
	into := append([]any{&id, &price}, texts(2)...)
	o.stopAfter(tpcc.AtPrices, func() {
		o.query(readItems, func(r Row) error {
			err := r.Scan(into...)
			o.prices[id] = price
			return err
		}, OfKeys(items))
	}, func() []int64 { return tpcc.PricesByItem(o.prices) })
}

// takeStock takes the stock of all lines whose items there are, by supplying warehouse
// and item, and makes the lines in the order of the input.
func (o *ordering) takeStock() {
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
	o.lines = make([]tpcc.OrderLine, 0, len(wanted))
	for len(wanted) > 0 && o.err == nil {
		supply := o.in.Lines[wanted[0]].Supply
		n := slices.IndexFunc(wanted, func(i int) bool { return o.in.Lines[i].Supply != supply })
		if n < 0 {
			n = len(wanted)
		}
		o.takeFrom(supply, wanted[:n])
		wanted = wanted[n:]
	}
	slices.SortFunc(o.lines, func(a, b tpcc.OrderLine) int { return cmp.Compare(a.Number, b.Number) })
}

// taken is a stock as an order finds it and leaves it.
type taken struct {
	quantity, ytd, orders int64
	info                  string
}

// takeFrom takes the stock of lines, sorted by item, from one warehouse.
func (o *ordering) takeFrom(supply int64, wanted []int) {
	items := make([]int64, len(wanted))
	for n, i := range wanted {
		items[n] = o.in.Lines[i].Item
	}
	items = slices.Compact(items)
	found := make(map[int64]*taken, len(items))
	o.query(readStock+int(o.in.District), func(r Row) error {
		var item int64
		var s taken
		err := r.Scan(&item, &s.quantity, &s.info, new(string))
		found[item] = &s
		return err
	}, OfInt(supply), OfKeys(items))
	if o.err != nil {
		return
	}
	for _, i := range wanted {
		l := o.in.Lines[i]
		s := found[l.Item]
		if s == nil {
			o.err = missing("such stock")
			return
		}
		s.quantity, s.ytd, s.orders = tpcc.Remaining(s.quantity, l.Quantity), s.ytd+l.Quantity, s.orders+1
		amount := l.Quantity * o.prices[l.Item]
		o.sum += amount
		o.lines = append(o.lines, tpcc.OrderLine{Warehouse: o.in.Warehouse, District: o.in.District, Order: o.order, Number: int64(i) + 1,
			Item: l.Item, Supply: supply, Quantity: l.Quantity, Amount: amount, DistInfo: s.info})
	}
	for _, item := range items {
		s, remote := found[item], int64(0)
		if supply != o.in.Warehouse {
			remote = s.orders
		}
		o.execute(updateStock, OfInt(supply), OfInt(item), OfInt(s.quantity), OfInt(s.ytd), OfInt(s.orders), OfInt(remote))
	}
}

// rows are the values of all lines.
func (o *ordering) rows() []Value {
	rows := rowsOf("order_line", tpcc.OrderLineColumns(), o.lines)
	for i := range rows.Count {
		o.values = rows.Row(i, o.values)
	}
	return o.values
}

func (s *tpccSession) StockLevel(ctx context.Context, in *tpcc.StockLevelInput) tpcc.StockLevelReply {
	const last = 20 // orders that are looked at
	var low int64
	r := s.transaction(ctx, false, func(t *tpccSteps) {
		var next int64
		warehouse, district := OfInt(in.Warehouse), OfInt(in.District)
		t.row(nextOrder, "such district", []any{&next}, warehouse, district)
		t.row(countLow, "count", []any{&low}, warehouse, district, OfInt(next-last), OfInt(next), OfInt(in.Threshold))
	})
	reply := tpcc.StockLevelReply{Reply: r.Reply}
	if r.Outcome == history.Committed {
		reply.Low = low
	}
	return reply
}
