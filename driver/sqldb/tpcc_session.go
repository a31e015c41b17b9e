package sqldb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/history"
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
var errUnusedItem = fmt.Errorf("an item does not exist: %w", ErrRollback)

// missing is the error where a row that must be there is not.
func missing(what string) error { return errors.New("there is no " + what) }

// written is the reply to a transaction that notes its operation.
func written(r Reply) workload.Reply {
	if errors.Is(r.Err, errUnusedItem) && r.Outcome == history.Failed {
		r.Outcome, r.Class = history.Rejected, tpcc.ClassUnusedItem
	}
	return r.Inserted()
}

// row runs a query that gives one row.
func row(ctx context.Context, t Transaction, statement int, what string, into []any, parameters ...Value) error {
	found := false
	err := t.Query(ctx, statement, func(r Row) error {
		found = true
		return r.Scan(into...)
	}, parameters...)
	if err == nil && !found {
		err = missing(what)
	}
	return err
}

// changed runs an UPDATE and gives what it returns or, where it cannot return
// anything, what a query of the same key then reads.
func (s *tpccSession) changed(ctx context.Context, t Transaction, update, read int, what string, into []any, key []Value, more ...Value) error {
	all := append(slices.Clip(key), more...)
	if s.returning {
		return row(ctx, t, update, what, into, all...)
	}
	if err := t.Execute(ctx, update, all...); err != nil {
		return err
	}
	return row(ctx, t, read, what, into, key...)
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
	r := s.connection.Transaction(ctx, true, func(ctx context.Context, t Transaction) error {
		o := ordering{tpccSession: s, t: t, in: in}
		if err := o.do(ctx); err != nil {
			return err
		}
		order, total = o.order, tpcc.Total(o.sum, o.discount, o.warehouseTax, o.districtTax)
		return s.stopAtEnd(nil, o.order)
	})
	reply := tpcc.NewOrderReply{Reply: written(r)}
	if r.Outcome == history.Committed {
		reply.Order, reply.Total = order, total
	}
	return reply
}

// ordering is one New-Order.
type ordering struct {
	*tpccSession
	t  Transaction
	in *tpcc.NewOrderInput

	warehouseTax, districtTax, discount int64
	order, sum                          int64
	// prices are those of the items that there are.
	prices map[int64]int64
	lines  []tpcc.OrderLine
	values []Value
}

func (o *ordering) do(ctx context.Context) error {
	in := o.in
	warehouse, district := OfInt(in.Warehouse), OfInt(in.District)
	err := row(ctx, o.t, orderingCustomer, "such customer", append([]any{&o.warehouseTax, &o.discount}, texts(2)...),
		warehouse, district, OfInt(in.Customer))
	if err != nil {
		return err
	}
	if err := o.changed(ctx, o.t, takeOrderNumber, readOrderNumber, "such district", []any{&o.districtTax, &o.order},
		[]Value{warehouse, district}); err != nil {
		return err
	}
	o.order-- // the next one is what was read
	err = o.t.Execute(ctx, insertOrder, warehouse, district, OfInt(o.order), OfInt(in.Customer), OfInt(0), OfInt(int64(len(in.Lines))),
		OfInt(in.AllLocal()), OfInt(in.Moment), OfInt(in.Operation), OfInt(0))
	if err == nil {
		err = o.t.Execute(ctx, insertNewOrder, warehouse, district, OfInt(o.order))
	}
	if err == nil {
		err = o.readItems(ctx)
	}
	if err == nil {
		err = o.takeStock(ctx)
	}
	if err != nil {
		return err
	}
	if len(o.lines) < len(in.Lines) {
		if err := o.stopAtEnd(nil, o.order); err != nil {
			return err
		}
		return errUnusedItem
	}
	return o.t.Execute(ctx, insertLines+len(o.lines), o.rows()...)
}

func (o *ordering) readItems(ctx context.Context) error {
	items := make([]int64, len(o.in.Lines))
	for i, l := range o.in.Lines {
		items[i] = l.Item
	}
	slices.Sort(items)
	items = slices.Compact(items)
	o.prices = make(map[int64]int64, len(items))
	var id, price int64
	into := append([]any{&id, &price}, texts(2)...)
	return o.stopAfter(tpcc.AtPrices, func() error {
		return o.t.Query(ctx, readItems, func(r Row) error {
			err := r.Scan(into...)
			o.prices[id] = price
			return err
		}, OfKeys(items))
	}, func() []int64 { return tpcc.PricesByItem(o.prices) })
}

// takeStock takes the stock of all lines whose items there are, by supplying warehouse
// and item, and makes the lines in the order of the input.
func (o *ordering) takeStock(ctx context.Context) error {
	var wanted []int // places in the input
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
	for len(wanted) > 0 {
		supply := o.in.Lines[wanted[0]].Supply
		n := slices.IndexFunc(wanted, func(i int) bool { return o.in.Lines[i].Supply != supply })
		if n < 0 {
			n = len(wanted)
		}
		if err := o.takeFrom(ctx, supply, wanted[:n]); err != nil {
			return err
		}
		wanted = wanted[n:]
	}
	slices.SortFunc(o.lines, func(a, b tpcc.OrderLine) int { return cmp.Compare(a.Number, b.Number) })
	return nil
}

// taken is a stock as an order finds it and leaves it.
type taken struct {
	quantity, ytd, orders int64
	info                  string
}

// takeFrom takes the stock of lines, sorted by item, from one warehouse.
func (o *ordering) takeFrom(ctx context.Context, supply int64, wanted []int) error {
	items := make([]int64, len(wanted))
	for n, i := range wanted {
		items[n] = o.in.Lines[i].Item
	}
	items = slices.Compact(items)
	found := make(map[int64]*taken, len(items))
	err := o.t.Query(ctx, readStock+int(o.in.District), func(r Row) error {
		var item int64
		var s taken
		err := r.Scan(&item, &s.quantity, &s.info, new(string))
		found[item] = &s
		return err
	}, OfInt(supply), OfKeys(items))
	if err != nil {
		return err
	}
	for _, i := range wanted {
		l := o.in.Lines[i]
		s := found[l.Item]
		if s == nil {
			return missing("such stock")
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
		err := o.t.Execute(ctx, updateStock, OfInt(supply), OfInt(item), OfInt(s.quantity), OfInt(s.ytd), OfInt(s.orders), OfInt(remote))
		if err != nil {
			return err
		}
	}
	return nil
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
	r := s.connection.Transaction(ctx, false, func(ctx context.Context, t Transaction) error {
		var next int64
		if err := row(ctx, t, nextOrder, "such district", []any{&next}, OfInt(in.Warehouse), OfInt(in.District)); err != nil {
			return err
		}
		return row(ctx, t, countLow, "count", []any{&low}, OfInt(in.Warehouse), OfInt(in.District), OfInt(next-last), OfInt(next), OfInt(in.Threshold))
	})
	reply := tpcc.StockLevelReply{Reply: r.Reply}
	if r.Outcome == history.Committed {
		reply.Low = low
	}
	return reply
}
