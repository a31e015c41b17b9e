package sqldb

import (
	"context"
	"fmt"

	"assay/history"
	"assay/workload/tpcc"
)

// customer finds the customer that is asked for: of those of a last name the one in the
// middle (clause 2.5.2.2).
func (s *tpccSteps) customer(of *tpcc.CustomerInput) int64 {
	if of.ID != 0 {
		return of.ID
	}
	var ids []int64
	s.query(namedCustomers, func(r Row) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, OfInt(of.Warehouse), OfInt(of.District), OfText(of.Last))
	if s.err == nil && len(ids) == 0 {
		s.err = missing("customer of that name")
	}
	if s.err != nil {
		return 0
	}
	return ids[tpcc.Middle(len(ids))]
}

func (s *tpccSession) Payment(ctx context.Context, in *tpcc.PaymentInput) tpcc.PaymentReply {
	var customer, balance int64
	r := s.transaction(ctx, true, func(t *tpccSteps) {
		customer, balance = t.pay(in)
		t.stopAtEnd()
	})
	reply := tpcc.PaymentReply{Reply: written(r)}
	if r.Outcome == history.Committed {
		reply.Customer, reply.Balance = customer, balance
	}
	return reply
}

func (s *tpccSteps) pay(in *tpcc.PaymentInput) (customer, balance int64) {
	warehouse, district, amount := OfInt(in.Warehouse), OfInt(in.District), OfInt(in.Amount)
	shown := texts(12)
	s.changed(payWarehouse, readWarehouse, "such warehouse", shown[:6], []Value{warehouse}, amount)
	s.changed(payDistrict, readDistrict, "such district", shown[6:], []Value{warehouse, district}, amount)
	customer = s.customer(&in.Customer)
	key := []Value{OfInt(in.Customer.Warehouse), OfInt(in.Customer.District), OfInt(customer)}
	var since, limit, discount int64
	var credit, data string
	fields := append(append([]any{&balance}, texts(9)...), &since, &credit, &limit, &discount, &data)
	s.row(payingCustomer, "such customer", fields, key...)
	balance -= in.Amount
	if credit == "BC" { // its payments are noted in its data (clause 2.5.2.2)
		data = fmt.Sprintf("%d %d %d %d %d %d;%s", customer, in.Customer.District, in.Customer.Warehouse, in.District, in.Warehouse, in.Amount, data)
		s.execute(payBadCustomer, append(key, amount, OfText(data[:min(len(data), 500)]))...)
	} else {
		s.execute(payCustomer, append(key, amount)...)
	}
	names := *shown[0].(*string) + "    " + *shown[6].(*string)
	s.execute(insertPayment, OfInt(in.Operation), OfInt(in.Customer.Warehouse), OfInt(in.Customer.District), OfInt(customer),
		warehouse, district, amount, OfInt(in.Moment), OfText(names))
	return customer, balance
}

func (s *tpccSession) OrderStatus(ctx context.Context, in *tpcc.OrderStatusInput) tpcc.OrderStatusReply {
	var found tpcc.OrderStatusReply
	r := s.transaction(ctx, false, func(t *tpccSteps) {
		found.Customer = t.customer(&in.Customer)
		warehouse, district, customer := OfInt(in.Customer.Warehouse), OfInt(in.Customer.District), OfInt(found.Customer)
		t.row(readBalance, "such customer", append([]any{&found.Balance}, texts(3)...), warehouse, district, customer)
		var entered, carrier int64
		t.stopAfter(tpcc.AtLastOrder, func() {
			t.row(lastOrder, "order", []any{&found.Order, &entered, &carrier}, warehouse, district, customer)
		}, func() []int64 { return []int64{found.Order} })
		var amount, item, supply, quantity, delivered int64
		t.query(orderLines, func(r Row) error {
			err := r.Scan(&amount, &item, &supply, &quantity, &delivered)
			found.Lines++
			found.Amount += amount
			return err
		}, warehouse, district, OfInt(found.Order))
		t.stopAtEnd()
	})
	if r.Outcome != history.Committed { // it may go on
		return tpcc.OrderStatusReply{Reply: r.Reply}
	}
	found.Reply = r.Reply
	return found
}

func (s *tpccSession) Delivery(ctx context.Context, in *tpcc.DeliveryInput) tpcc.DeliveryReply {
	var orders [tpcc.Districts]int64
	r := s.transaction(ctx, true, func(t *tpccSteps) {
		var count int64
		for i := range orders {
			if orders[i] = t.deliver(in, int64(i)+1); orders[i] != 0 {
				count++
			}
		}
		t.execute(insertDelivery, OfInt(in.Operation), OfInt(in.Warehouse), OfInt(in.Carrier), OfInt(in.Moment), OfInt(count))
		t.stopAtEnd()
	})
	reply := tpcc.DeliveryReply{Reply: written(r)}
	if r.Outcome == history.Committed {
		reply.Orders = orders
	}
	return reply
}

// deliver delivers the oldest order of a district, and returns 0 if there is none.
func (s *tpccSteps) deliver(in *tpcc.DeliveryInput, number int64) (order int64) {
	warehouse, district := OfInt(in.Warehouse), OfInt(number)
	s.stopAfter(tpcc.AtOldestOrder, func() {
		order = 0
		s.query(oldestOrder, func(r Row) error { return r.Scan(&order) }, warehouse, district)
	}, func() []int64 { return []int64{order} })
	if s.err != nil || order == 0 {
		return 0
	}
	key := []Value{warehouse, district, OfInt(order)}
	s.execute(deleteNewOrder, key...)
	var customer, sum int64
	s.row(orderedBy, "such order", []any{&customer}, key...)
	s.execute(deliverOrder, append(key, OfInt(in.Carrier), OfInt(in.Operation))...)
	s.execute(deliverLines, append(key, OfInt(in.Moment))...)
	s.row(sumLines, "sum", []any{&sum}, key...)
	s.execute(creditCustomer, warehouse, district, OfInt(customer), OfInt(sum))
	return order
}
