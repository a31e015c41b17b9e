package tpcc

import "math/bits"

func (j *judge) takenFrom(r OrderLine) {
	if r.Supply < 1 || r.Supply > j.config.Warehouses || r.Item < 1 || r.Item > j.config.Items {
		return // that is found as altered
	}
	all := &j.stock[r.Supply-1]
	if *all == nil {
		*all = make([]stockSums, j.config.Items)
	}
	s := &(*all)[r.Item-1]
	s.ytd += int32(r.Quantity)
	s.orders++
	if r.Supply != r.Warehouse {
		s.remote++
	}
}

// quantityAfter is the rest of a stock, whatever the order of the orders: Remaining subtracts
// modulo 91 and stays from 10 to 100.
func quantityAfter(opening, taken int64) int64 {
	const least, span = 10, 91
	return least + ((opening-least-taken)%span+span)%span
}

func (j *judge) stockRow(r Stock) {
	if r.Warehouse < 1 || r.Warehouse > j.config.Warehouses || r.Item < 1 || r.Item > j.config.Items {
		find(&j.stocks, kindStray, map[string]int64{"warehouse": r.Warehouse, "item": r.Item}, "there is stock of item %d in warehouse %d, which was not loaded", r.Item, r.Warehouse)
		return
	}
	rows := &j.stocked[r.Warehouse-1]
	if *rows == nil {
		*rows = make([]uint8, j.config.Items+1)
	}
	fields := map[string]int64{"warehouse": r.Warehouse, "item": r.Item}
	if (*rows)[r.Item]++; (*rows)[r.Item] == 2 {
		find(&j.stocks, kindDoubled, fields, "the stock of item %d in warehouse %d is there twice", r.Item, r.Warehouse)
	}
	if want := j.population.stock(r.Warehouse, r.Item); r.differs(rowTexts(want)) {
		find(&j.stocks, kindAltered, fields, "the texts of the stock of item %d in warehouse %d are not as they were loaded", r.Item, r.Warehouse)
	}
	var taken stockSums
	if all := j.stock[r.Warehouse-1]; all != nil {
		taken = all[r.Item-1]
	}
	quantity := quantityAfter(j.population.quantity(r.Warehouse, r.Item), int64(taken.ytd))
	if r.Quantity != quantity || r.YTD != int64(taken.ytd) || r.Orders != int64(taken.orders) || r.Remote != int64(taken.remote) {
		find(&j.stocks, kindQuantity, map[string]int64{"warehouse": r.Warehouse, "item": r.Item, "quantity": r.Quantity, "want": quantity, "ytd": r.YTD, "want_ytd": int64(taken.ytd)},
			"stock of item %d in warehouse %d: quantity %d, %d taken by %d lines, %d of them remote; by the orders it is %d, %d, %d and %d",
			r.Item, r.Warehouse, r.Quantity, r.YTD, r.Orders, r.Remote, quantity, taken.ytd, taken.orders, taken.remote)
	}
}

func (j *judge) delivery(r Delivery) {
	if !j.claim(&j.deliveries, KindDelivery, r.Operation, "the result of a delivery") {
		return
	}
	in := j.inputs.Delivery(r.Operation)
	fields := map[string]int64{"operation": r.Operation, "warehouse": r.Warehouse, "orders": r.Orders}
	if r.Warehouse != in.Warehouse || r.Carrier != in.Carrier || !j.sameDate(r.Entered, r.Operation) {
		find(&j.deliveries, kindAltered, fields, "the result of %s has another warehouse, carrier or date than was asked for", describe(r.Operation))
	}
	j.results[r.Operation] = r.Orders
	if n := int64(bits.OnesCount16(j.delivered[r.Operation])); n != r.Orders {
		find(&j.deliveries, kindHalf, fields, "%s counts %d orders as delivered, and %d are", describe(r.Operation), r.Orders, n)
	}
}
