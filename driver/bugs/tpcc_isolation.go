package bugs

import (
	"context"
	"errors"

	"assay/workload/tpcc"
)

// The calls of the isolation tests in which a bug is.
const (
	inStatusBeside callKinds = 1 << (iota + 4)
	inUpdateBeside
	inPricesAgain
	inOrderAgain
)

// underWay is the order that a transaction of the isolation tests has entered which has
// stopped before COMMIT, 0 of other transactions. Each test has a warehouse of its own.
func (s *tpccStore) underWay(warehouse int64) (order int64, open bool) {
	entered, open := s.open.Load(warehouse)
	if open {
		order = entered.(int64)
	}
	return order, open
}

// Promise implements tpcc.IsolationStore.
func (s *tpccStore) Promise() string {
	if of, can := s.inner.(tpcc.IsolationStore); can {
		return of.Promise()
	}
	return ""
}

// Stepped implements tpcc.IsolationStore. Its transactions do not wait for their turn:
// one that stops would keep it.
func (s *tpccStore) Stepped(ctx context.Context, stop tpcc.Stop) (tpcc.SteppedSession, error) {
	of, can := s.inner.(tpcc.IsolationStore)
	if !can {
		return nil, errors.ErrUnsupported
	}
	n := &tpccStepped{s: s}
	session, err := of.Stepped(ctx, func(at tpcc.Point, read []int64) (bool, error) { return n.stop(ctx, stop, at, read) })
	if err != nil {
		return nil, err
	}
	n.SteppedSession = session
	return n, nil
}

// tpccStepped is a session of the isolation tests with bugs. What is under way is noted
// by the goroutine of the transaction.
type tpccStepped struct {
	tpcc.SteppedSession
	s *tpccStore
	// warehouse is that of the transaction under way, order what it asks for, if that is
	// an order, and reads counts what it has read at each point.
	warehouse int64
	order     *tpcc.NewOrderInput
	reads     map[tpcc.Point]int
}

func (n *tpccStepped) begin(warehouse int64, order *tpcc.NewOrderInput) {
	n.warehouse, n.order, n.reads = warehouse, order, map[tpcc.Point]int{}
}

// strikes draws whether a bug takes effect.
func (n *tpccStepped) strikes(ctx context.Context, in callKinds) bool {
	if n.s.take(ctx) != nil {
		return false
	}
	defer n.s.done()
	b := drawn(n.s.trial, in)
	if b == nil {
		return false
	}
	b.strikes++
	return true
}

func (n *tpccStepped) stop(ctx context.Context, stop tpcc.Stop, at tpcc.Point, read []int64) (again bool, err error) {
	n.reads[at]++
	switch second := n.reads[at] == 2; {
	case at == tpcc.AtEnd:
		var order int64
		if n.order != nil {
			order = read[0]
		}
		n.s.open.Store(n.warehouse, order)
	case second && at == tpcc.AtPrices && n.strikes(ctx, inPricesAgain):
		for i := range read {
			read[i]++
		}
	case second && at != tpcc.AtPrices && len(read) > 0 && n.strikes(ctx, inOrderAgain):
		read[0]++
	}
	return stop(at, read)
}

func (n *tpccStepped) NewOrder(ctx context.Context, in *tpcc.NewOrderInput) tpcc.NewOrderReply {
	if order, open := n.s.underWay(in.Warehouse); open && order != 0 && n.strikes(ctx, inUpdateBeside) {
		return tpcc.NewOrderReply{Reply: committed(), Order: order}
	}
	n.begin(in.Warehouse, in)
	defer n.s.open.Delete(in.Warehouse)
	return n.SteppedSession.NewOrder(ctx, in)
}

func (n *tpccStepped) Payment(ctx context.Context, in *tpcc.PaymentInput) tpcc.PaymentReply {
	if _, open := n.s.underWay(in.Warehouse); open && n.strikes(ctx, inUpdateBeside) {
		return tpcc.PaymentReply{Reply: committed(), Customer: in.Customer.ID}
	}
	n.begin(in.Warehouse, nil)
	defer n.s.open.Delete(in.Warehouse)
	return n.SteppedSession.Payment(ctx, in)
}

func (n *tpccStepped) Delivery(ctx context.Context, in *tpcc.DeliveryInput) tpcc.DeliveryReply {
	n.begin(in.Warehouse, nil)
	defer n.s.open.Delete(in.Warehouse)
	return n.SteppedSession.Delivery(ctx, in)
}

func (n *tpccStepped) OrderStatus(ctx context.Context, in *tpcc.OrderStatusInput) tpcc.OrderStatusReply {
	order, open := n.s.underWay(in.Customer.Warehouse)
	if open && order != 0 && n.strikes(ctx, inStatusBeside) {
		return tpcc.OrderStatusReply{Reply: committed(), Customer: in.Customer.ID, Order: order}
	}
	n.begin(in.Customer.Warehouse, nil)
	defer n.s.open.Delete(in.Customer.Warehouse)
	return n.SteppedSession.OrderStatus(ctx, in)
}

func (n *tpccStepped) Prices(ctx context.Context, items []int64, raise int64) tpcc.PricesReply {
	n.begin(0, nil)
	return n.SteppedSession.Prices(ctx, items, raise)
}
