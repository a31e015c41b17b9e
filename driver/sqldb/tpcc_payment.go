package sqldb

import (
	"context"
	"fmt"

	"assay/history"
	"assay/workload/tpcc"
)

// customer finds the customer that is asked for: of those of a last name the one in the
// middle (clause 2.5.2.2).
func (s *tpccSession) customer(ctx context.Context, t Transaction, of *tpcc.CustomerInput) (int64, error) {
	if of.ID != 0 {
		return of.ID, nil
	}
	var ids []int64
	err := t.Query(ctx, namedCustomers, func(r Row) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, OfInt(of.Warehouse), OfInt(of.District), OfText(of.Last))
	if err == nil && len(ids) == 0 {
		err = missing("customer of that name")
	}
	if err != nil {
		return 0, err
	}
	return ids[tpcc.Middle(len(ids))], nil
}

func (s *tpccSession) Payment(ctx context.Context, in *tpcc.PaymentInput) tpcc.PaymentReply {
	var customer, balance int64
	r := s.connection.Transaction(ctx, true, func(ctx context.Context, t Transaction) (err error) {
		customer, balance, err = s.pay(ctx, t, in)
		return err
	})
	reply := tpcc.PaymentReply{Reply: written(r)}
	if r.Outcome == history.Committed {
		reply.Customer, reply.Balance = customer, balance
	}
	return reply
}

func (s *tpccSession) pay(ctx context.Context, t Transaction, in *tpcc.PaymentInput) (customer, balance int64, err error) {
	warehouse, district, amount := OfInt(in.Warehouse), OfInt(in.District), OfInt(in.Amount)
	shown := texts(12)
	if err := s.changed(ctx, t, payWarehouse, readWarehouse, "such warehouse", shown[:6], []Value{warehouse}, amount); err != nil {
		return 0, 0, err
	}
	if err := s.changed(ctx, t, payDistrict, readDistrict, "such district", shown[6:], []Value{warehouse, district}, amount); err != nil {
		return 0, 0, err
	}
	if customer, err = s.customer(ctx, t, &in.Customer); err != nil {
		return 0, 0, err
	}
	key := []Value{OfInt(in.Customer.Warehouse), OfInt(in.Customer.District), OfInt(customer)}
	var since, limit, discount int64
	var credit, data string
	fields := append(append([]any{&balance}, texts(9)...), &since, &credit, &limit, &discount, &data)
	if err := row(ctx, t, payingCustomer, "such customer", fields, key...); err != nil {
		return 0, 0, err
	}
	balance -= in.Amount
	if credit == "BC" { // its payments are noted in its data (clause 2.5.2.2)
		data = fmt.Sprintf("%d %d %d %d %d %d;%s", customer, in.Customer.District, in.Customer.Warehouse, in.District, in.Warehouse, in.Amount, data)
		err = t.Execute(ctx, payBadCustomer, append(key, amount, OfText(data[:min(len(data), 500)]))...)
	} else {
		err = t.Execute(ctx, payCustomer, append(key, amount)...)
	}
	if err != nil {
		return 0, 0, err
	}
	names := *shown[0].(*string) + "    " + *shown[6].(*string)
	err = t.Execute(ctx, insertPayment, OfInt(in.Operation), OfInt(in.Customer.Warehouse), OfInt(in.Customer.District), OfInt(customer),
		warehouse, district, amount, OfInt(in.Moment), OfText(names))
	return customer, balance, s.stopAtEnd(err)
}

func (s *tpccSession) OrderStatus(ctx context.Context, in *tpcc.OrderStatusInput) tpcc.OrderStatusReply {
	var found tpcc.OrderStatusReply
	r := s.connection.Transaction(ctx, false, func(ctx context.Context, t Transaction) (err error) {
		if found.Customer, err = s.customer(ctx, t, &in.Customer); err != nil {
			return err
		}
		warehouse, district, customer := OfInt(in.Customer.Warehouse), OfInt(in.Customer.District), OfInt(found.Customer)
		err = row(ctx, t, readBalance, "such customer", append([]any{&found.Balance}, texts(3)...), warehouse, district, customer)
		if err != nil {
			return err
		}
		var entered, carrier int64
		err = s.stopAfter(tpcc.AtLastOrder, func() error {
			return row(ctx, t, lastOrder, "order", []any{&found.Order, &entered, &carrier}, warehouse, district, customer)
		}, func() []int64 { return []int64{found.Order} })
		if err != nil {
			return err
		}
		var amount, item, supply, quantity, delivered int64
		err = t.Query(ctx, orderLines, func(r Row) error {
			err := r.Scan(&amount, &item, &supply, &quantity, &delivered)
			found.Lines++
			found.Amount += amount
			return err
		}, warehouse, district, OfInt(found.Order))
		return s.stopAtEnd(err)
	})
	if r.Outcome != history.Committed { // it may go on
		return tpcc.OrderStatusReply{Reply: r.Reply}
	}
	found.Reply = r.Reply
	return found
}

func (s *tpccSession) Delivery(ctx context.Context, in *tpcc.DeliveryInput) tpcc.DeliveryReply {
	var orders [tpcc.Districts]int64
	r := s.connection.Transaction(ctx, true, func(ctx context.Context, t Transaction) error {
		var count int64
		for i := range orders {
			var err error
			if orders[i], err = s.deliver(ctx, t, in, int64(i)+1); err != nil {
				return err
			}
			if orders[i] != 0 {
				count++
			}
		}
		err := t.Execute(ctx, insertDelivery, OfInt(in.Operation), OfInt(in.Warehouse), OfInt(in.Carrier), OfInt(in.Moment), OfInt(count))
		return s.stopAtEnd(err)
	})
	reply := tpcc.DeliveryReply{Reply: written(r)}
	if r.Outcome == history.Committed {
		reply.Orders = orders
	}
	return reply
}

// deliver delivers the oldest order of a district, and returns 0 if there is none.
func (s *tpccSession) deliver(ctx context.Context, t Transaction, in *tpcc.DeliveryInput, number int64) (order int64, err error) {
	warehouse, district := OfInt(in.Warehouse), OfInt(number)
	err = s.stopAfter(tpcc.AtOldestOrder, func() error {
		order = 0
		return t.Query(ctx, oldestOrder, func(r Row) error { return r.Scan(&order) }, warehouse, district)
	}, func() []int64 { return []int64{order} })
	if err != nil || order == 0 {
		return 0, err
	}
	key := []Value{warehouse, district, OfInt(order)}
	if err := t.Execute(ctx, deleteNewOrder, key...); err != nil {
		return 0, err
	}
	var customer, sum int64
	if err := row(ctx, t, orderedBy, "such order", []any{&customer}, key...); err != nil {
		return 0, err
	}
	if err := t.Execute(ctx, deliverOrder, append(key, OfInt(in.Carrier), OfInt(in.Operation))...); err != nil {
		return 0, err
	}
	if err := t.Execute(ctx, deliverLines, append(key, OfInt(in.Moment))...); err != nil {
		return 0, err
	}
	if err := row(ctx, t, sumLines, "sum", []any{&sum}, key...); err != nil {
		return 0, err
	}
	return order, t.Execute(ctx, creditCustomer, warehouse, district, OfInt(customer), OfInt(sum))
}
