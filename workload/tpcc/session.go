package tpcc

import (
	"context"
	"errors"
	"fmt"

	"assay/history"
	"assay/store"
)

// session does the transactions of one client. It never retries. If ctx ends before an answer,
// the outcome is Unknown unless no effect is proven. New-Order, Payment and Delivery write the
// operation's id; if it is there already, the reply is Failed and Duplicate. Locks are taken in
// one order: warehouse, district, oldest orders and customers by district, stock by warehouse
// and item.
//
// A transaction reads into variables of its own, because it may go on after the caller has left.
type session struct {
	store.Session
	joins bool
	// stop is nil outside isolation tests.
	stop Stop
}

var errUnusedItem = fmt.Errorf("an item does not exist: %w", store.ErrRollback)

// steps runs statements of one transaction. It sends nothing after an error.
type steps struct {
	*session
	ctx context.Context
	t   store.Transaction
	err error // the first
}

// transaction runs work, which has room for so many values to answer.
func (s *session) transaction(ctx context.Context, writes bool, values int, work func(t *steps, answer []int64)) Reply {
	answer := make([]int64, values)
	r := s.Transaction(ctx, writes, func(ctx context.Context, t store.Transaction) error {
		d := &steps{session: s, ctx: ctx, t: t}
		clear(answer)
		work(d, answer)
		return d.err
	})
	reply := Reply{Reply: r.Inserted()}
	switch {
	case r.Outcome == history.Committed:
		reply.Values = answer
	case r.Outcome == history.Unknown && !writes: // without an answer it has had no effect
		reply.Outcome, reply.Broken = history.Failed, true
	case r.Outcome == history.Failed && errors.Is(r.Err, errUnusedItem):
		reply.Outcome, reply.Class = history.Rejected, ClassUnusedItem
	}
	return reply
}

func (s *steps) do(statement int, row func(store.Row) error, parameters ...store.Value) {
	if s.err == nil {
		_, s.err = s.t.Do(s.ctx, statement, row, parameters...)
	}
}

// one runs a statement that gives one row; what names it in the error if it does not.
func (s *steps) one(statement int, what string, into []any, parameters ...store.Value) {
	found := false
	s.do(statement, func(r store.Row) error {
		found = true
		return r.Scan(into...)
	}, parameters...)
	if s.err == nil && !found {
		s.err = errors.New("there is no " + what)
	}
}

func (s *steps) together(calls []store.Call) {
	if s.err == nil {
		s.err = store.DoAll(s.ctx, s.t, calls)
	}
}

// stopAfter calls do, and then stops if the isolation test asks for it, until it does not want
// both again.
func (s *steps) stopAfter(at Point, do func(), read func() []int64) {
	for again := true; again && s.err == nil; {
		again = false
		if do(); s.err != nil || s.stop == nil {
			return
		}
		if again, s.err = s.stop(at, read()); s.err != nil {
			s.err = fmt.Errorf("%w: %w", s.err, store.ErrRollback)
		}
	}
}

func (s *steps) stopAtEnd(values ...int64) {
	s.stopAfter(AtEnd, func() {}, func() []int64 { return values })
}

// customer returns a customer's id, by last name the middle one (clause 2.5.2.2).
func (s *steps) customer(of *CustomerInput) int64 {
	if of.ID != 0 {
		return of.ID
	}
	var ids []int64
	s.do(namedCustomers, func(r store.Row) error {
		var id int64
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	}, store.OfInt(of.Warehouse), store.OfInt(of.District), store.OfText(of.Last))
	if s.err == nil && len(ids) == 0 {
		s.err = errors.New("there is no customer of that name")
	}
	if s.err != nil {
		return 0
	}
	return ids[Middle(len(ids))]
}

func (s *session) Payment(ctx context.Context, in *PaymentInput) Reply {
	return s.transaction(ctx, true, 2, func(t *steps, answer []int64) {
		answer[0], answer[1] = t.pay(in)
		t.stopAtEnd()
	})
}

// pay notes the payment in the data of a customer with bad credit (clause 2.5.2.2).
func (s *steps) pay(in *PaymentInput) (customer, balance int64) {
	const most = 500 // characters of the data
	var warehouse, district, credit, data string
	s.one(payWarehouse, "such warehouse", []any{&warehouse, nil, nil, nil, nil, nil}, store.OfInts(in.Warehouse, in.Amount)...)
	s.one(payDistrict, "such district", []any{&district, nil, nil, nil, nil, nil}, store.OfInts(in.Warehouse, in.District, in.Amount)...)
	of := &in.Customer
	customer = s.customer(of)
	paid := make([]any, paidData+1)
	paid[paidBalance], paid[paidCredit], paid[paidData] = &balance, &credit, &data
	s.one(payCustomer, "such customer", paid, store.OfInts(of.Warehouse, of.District, customer, -in.Amount, in.Amount)...)
	if credit == badCredit {
		data = fmt.Sprintf("%d %d %d %d %d %d;%s", customer, of.District, of.Warehouse, in.District, in.Warehouse, in.Amount, data)
		s.do(noteCustomer, nil, append(store.OfInts(of.Warehouse, of.District, customer), store.OfText(data[:min(len(data), most)]))...)
	}
	s.do(insertPayment, nil, append(store.OfInts(in.Operation, of.Warehouse, of.District, customer, in.Warehouse, in.District, in.Amount, in.Moment),
		store.OfText(warehouse+"    "+district))...)
	return customer, balance
}

func (s *session) OrderStatus(ctx context.Context, in *OrderStatusInput) Reply {
	return s.transaction(ctx, false, 5, func(t *steps, answer []int64) {
		of := &in.Customer
		answer[0] = t.customer(of)
		balance, order, lines, sum := &answer[1], &answer[2], &answer[3], &answer[4]
		customer := store.OfInts(of.Warehouse, of.District, answer[0])
		t.one(readBalance, "such customer", []any{balance, nil, nil, nil}, customer...)
		t.stopAfter(AtLastOrder, func() {
			t.one(lastOrder, "order", []any{order, nil, nil}, customer...)
		}, func() []int64 { return []int64{*order} })
		var amount int64
		t.do(orderLines, func(r store.Row) error {
			err := r.Scan(&amount, nil, nil, nil, nil)
			*lines++
			*sum += amount
			return err
		}, store.OfInts(of.Warehouse, of.District, *order)...)
		t.stopAtEnd()
	})
}

func (s *session) StockLevel(ctx context.Context, in *StockLevelInput) Reply {
	return s.transaction(ctx, false, 1, func(t *steps, answer []int64) { answer[0] = t.countLow(in) })
}

// countLow counts the items of a district's last orders whose stock is below the threshold.
func (s *steps) countLow(in *StockLevelInput) (low int64) {
	const last = 20 // orders that are looked at
	var next int64
	s.one(nextOrder, "such district", []any{&next}, store.OfInts(in.Warehouse, in.District)...)
	recent := store.OfInts(in.Warehouse, in.District, next-last, next)
	if s.joins {
		s.one(recentItems, "count", []any{&low}, append(recent, store.OfInt(in.Threshold))...)
		return low
	}
	var items []int64
	s.do(recentItems, func(r store.Row) error {
		var item int64
		err := r.Scan(&item)
		items = append(items, item)
		return err
	}, recent...)
	if items = distinct(items); len(items) > 0 {
		s.one(countLow, "count", []any{&low}, store.OfInt(in.Warehouse), store.OfKeys(items), store.OfInt(in.Threshold))
	}
	return low
}

// Remove removes all rows of the isolation tests in one transaction.
func (s *session) Remove(ctx context.Context) Reply {
	return s.transaction(ctx, true, 0, func(t *steps, _ []int64) {
		for i, of := range tables() {
			t.do(removeTests+i, nil, store.OfInts(of.first, of.last+1)...)
		}
	})
}

// Prices raises the prices unless raise is 0, answers them by item number, and stops at AtEnd.
func (s *session) Prices(ctx context.Context, items []int64, raise int64) Reply {
	return s.transaction(ctx, raise != 0, len(items), func(t *steps, prices []int64) {
		for i, item := range items {
			if raise == 0 {
				t.one(readPrice, "such item", []any{&prices[i]}, store.OfInt(item))
			} else {
				t.one(raisePrice, "such item", []any{&prices[i]}, store.OfInts(item, raise)...)
			}
		}
		t.stopAtEnd()
	})
}
