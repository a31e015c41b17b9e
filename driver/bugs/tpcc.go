package bugs

import (
	"context"
	"sync"

	"assay/workload"
	"assay/workload/tpcc"
)

// tpccBugs are the workload's bugs, and in which call each is.
func tpccBugs() (all []bugOf[callKinds]) {
	in := map[string]callKinds{"doubled-payment": inUpdate, "lost-payment": inUpdate, "half-delivery": inDelete,
		"dirty-read": inStatusBeside, "lost-update": inUpdateBeside, "unrepeatable-read": inPricesAgain, "phantom": inOrderAgain}
	for _, b := range tpcc.Bugs() {
		if in[b.Name] == 0 {
			in[b.Name] = inInsert
		}
		all = append(all, bugOf[callKinds]{b, in[b.Name]})
	}
	return all
}

// tpccKey is a row's table and its key.
type tpccKey struct {
	table tpccTable
	key   [4]int64
}

type tpccTable int

const (
	tpccWarehouses tpccTable = iota
	tpccDistricts
	tpccCustomers
	tpccOrders
	tpccNewOrders
	tpccLines
	tpccStocks
)

// tpccStore is a tpcc.Store with bugs. Of rowStore it has the writing.
type tpccStore struct {
	*rowStore[tpcc.Session]
	inner tpcc.Store
	// changes are made to rows when they are shown.
	changes map[tpccKey][]tpccChange
	// open has, by warehouse, the order of underWay.
	open sync.Map
}

// tpccChange changes a row, given as a pointer to it, and says whether it is shown at all.
type tpccChange func(row any) (shown bool)

// hide has a row not be shown.
func hide(any) bool { return false }

func newTPCC(inner tpcc.Store, seeded []Seeded, seed uint64) *tpccStore {
	s := &tpccStore{inner: inner}
	t := newTrial(inner, inner.Create, tpccBugs(), seeded, seed)
	s.rowStore = &rowStore[tpcc.Session]{t, inner.Session, func(session tpcc.Session) tpcc.Session { return &tpccSession{session, s} }}
	t.reset = func() { s.changes = map[tpccKey][]tpccChange{} }
	t.reset()
	return s
}

func (s *tpccStore) LoadRows(ctx context.Context, rows *tpcc.Rows) error {
	return s.inner.LoadRows(ctx, rows)
}

func (s *tpccStore) FinishLoad(ctx context.Context) error { return s.inner.FinishLoad(ctx) }

// change has a row be shown otherwise.
func (s *tpccStore) change(table tpccTable, change tpccChange, key ...int64) {
	k := tpccKey{table: table}
	copy(k.key[:], key)
	s.changes[k] = append(s.changes[k], change)
	s.differences++
}

// changed gives the rows of a table as they are shown.
func changed[R any](s *tpccStore, table tpccTable, key func(r *R) [4]int64, give func(R) error) func(R) error {
	return func(r R) error {
		for _, change := range s.changes[tpccKey{table, key(&r)}] {
			if !change(&r) {
				return nil
			}
		}
		return give(r)
	}
}

// Read shows the rows with the changes.
func (s *tpccStore) Read(ctx context.Context, v tpcc.Visitor) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.done()
	shown := v
	shown.Warehouse = changed(s, tpccWarehouses, func(r *tpcc.Warehouse) [4]int64 { return [4]int64{r.ID} }, v.Warehouse)
	shown.District = changed(s, tpccDistricts, func(r *tpcc.District) [4]int64 { return [4]int64{r.Warehouse, r.ID} }, v.District)
	shown.Customer = changed(s, tpccCustomers, func(r *tpcc.Customer) [4]int64 { return [4]int64{r.Warehouse, r.District, r.ID} }, v.Customer)
	shown.Order = changed(s, tpccOrders, func(r *tpcc.Order) [4]int64 { return [4]int64{r.Warehouse, r.District, r.ID} }, v.Order)
	shown.NewOrder = changed(s, tpccNewOrders, func(r *tpcc.NewOrder) [4]int64 { return [4]int64{r.Warehouse, r.District, r.Order} }, v.NewOrder)
	shown.Line = changed(s, tpccLines, func(r *tpcc.OrderLine) [4]int64 { return [4]int64{r.Warehouse, r.District, r.Order, r.Number} }, v.Line)
	shown.Stock = changed(s, tpccStocks, func(r *tpcc.Stock) [4]int64 { return [4]int64{r.Warehouse, r.Item} }, v.Stock)
	return s.inner.Read(ctx, shown)
}

// changeOrder changes the rows of an order: its own, that in new_order, and its lines.
func (s *tpccStore) changeOrder(in *tpcc.NewOrderInput, order int64, own, queued, line tpccChange) {
	s.change(tpccOrders, own, in.Warehouse, in.District, order)
	s.change(tpccNewOrders, queued, in.Warehouse, in.District, order)
	for i := range in.Lines {
		s.change(tpccLines, line, in.Warehouse, in.District, order, int64(i)+1)
	}
}

// renumber has an order be shown under the number before.
func (s *tpccStore) renumber(in *tpcc.NewOrderInput, order int64) {
	s.changeOrder(in, order, func(row any) bool { row.(*tpcc.Order).ID--; return true },
		func(row any) bool { row.(*tpcc.NewOrder).Order--; return true },
		func(row any) bool { row.(*tpcc.OrderLine).Order--; return true })
}

// pay adds so much to a payment's warehouse.
func (s *tpccStore) pay(in *tpcc.PaymentInput, amount int64) {
	s.change(tpccWarehouses, func(row any) bool { row.(*tpcc.Warehouse).YTD += amount; return true }, in.Warehouse)
}

// payAgain adds a payment once more to all but the history.
func (s *tpccStore) payAgain(in *tpcc.PaymentInput, customer int64) {
	s.pay(in, in.Amount)
	s.change(tpccDistricts, func(row any) bool { row.(*tpcc.District).YTD += in.Amount; return true }, in.Warehouse, in.District)
	s.change(tpccCustomers, func(row any) bool {
		r := row.(*tpcc.Customer)
		r.Balance, r.YTDPayment, r.Payments = r.Balance-in.Amount, r.YTDPayment+in.Amount, r.Payments+1
		return true
	}, in.Customer.Warehouse, in.Customer.District, customer)
}

// tpccSession is one client's.
type tpccSession struct {
	tpcc.Session
	s *tpccStore
}

func (n *tpccSession) NewOrder(ctx context.Context, in *tpcc.NewOrderInput) (reply tpcc.NewOrderReply) {
	s := n.s
	reply.Reply = s.write(ctx, inInsert, n.Session, func(ctx context.Context, session tpcc.Session, bug string) workload.Reply {
		r := session.NewOrder(ctx, in)
		if bug != "late-apply" { // which is done when the caller has left
			reply = r
		}
		return r.Reply
	}, func(b *active[callKinds]) workload.Reply {
		order, line := reply.Order, in.Lines[s.chance.IntN(len(in.Lines))]
		switch b.Name {
		case "lost-line":
			s.change(tpccLines, hide, in.Warehouse, in.District, order, 1+s.chance.Int64N(int64(len(in.Lines))))
		case "lost-order":
			s.changeOrder(in, order, hide, hide, hide)
		case "same-number":
			s.renumber(in, order)
			reply.Order--
		case "stale-stock":
			s.change(tpccStocks, func(row any) bool {
				r := row.(*tpcc.Stock)
				r.YTD, r.Orders = r.YTD-line.Quantity, r.Orders-1
				return true
			}, line.Supply, line.Item)
		case "failed-but-applied":
			return failed()
		}
		return committed()
	})
	return reply
}

func (n *tpccSession) Payment(ctx context.Context, in *tpcc.PaymentInput) (reply tpcc.PaymentReply) {
	s := n.s
	reply.Reply = s.write(ctx, inUpdate, n.Session, func(ctx context.Context, session tpcc.Session, _ string) workload.Reply {
		reply = session.Payment(ctx, in)
		return reply.Reply
	}, func(b *active[callKinds]) workload.Reply {
		if b.Name == "lost-payment" {
			s.pay(in, -in.Amount)
		} else {
			s.payAgain(in, reply.Customer)
		}
		return committed()
	})
	return reply
}

func (n *tpccSession) Delivery(ctx context.Context, in *tpcc.DeliveryInput) (reply tpcc.DeliveryReply) {
	s := n.s
	reply.Reply = s.write(ctx, inDelete, n.Session, func(ctx context.Context, session tpcc.Session, _ string) workload.Reply {
		reply = session.Delivery(ctx, in)
		return reply.Reply
	}, func(b *active[callKinds]) workload.Reply {
		district := s.chance.IntN(tpcc.Districts)
		order := reply.Orders[district]
		if order == 0 { // there is nothing to spoil
			b.strikes--
			return committed()
		}
		s.change(tpccOrders, func(row any) bool {
			r := row.(*tpcc.Order)
			r.Carrier, r.Delivery = 0, 0
			return true
		}, in.Warehouse, int64(district)+1, order)
		return committed()
	})
	return reply
}

func (n *tpccSession) OrderStatus(ctx context.Context, in *tpcc.OrderStatusInput) tpcc.OrderStatusReply {
	if err := n.s.begin(ctx); err != nil {
		return tpcc.OrderStatusReply{Reply: unsent(err)}
	}
	defer n.s.done()
	return n.Session.OrderStatus(ctx, in)
}

func (n *tpccSession) StockLevel(ctx context.Context, in *tpcc.StockLevelInput) tpcc.StockLevelReply {
	if err := n.s.begin(ctx); err != nil {
		return tpcc.StockLevelReply{Reply: unsent(err)}
	}
	defer n.s.done()
	return n.Session.StockLevel(ctx, in)
}
