package tpcc

import "fmt"

func (j *judge) row(r row) {
	switch r := r.(type) {
	case *Item:
		j.item(*r)
	case *Warehouse:
		j.warehouse(*r)
	case *District:
		j.district(*r)
	case *Customer:
		j.customer(*r)
	case *Payment:
		j.payment(*r)
	case *Order:
		j.order(*r)
	case *NewOrder:
		j.newOrder(*r)
	case *OrderLine:
		j.line(*r)
	case *Stock:
		j.stockRow(*r)
	case *Delivery:
		j.delivery(*r)
	}
}

// The next functions find a row's place. A number outside the run is a finding, and ok is false.

func (j *judge) warehouseAt(what string, warehouse int64) (w *warehouseSums, ok bool) {
	if warehouse < 1 || warehouse > j.config.Warehouses {
		find(&j.consistency, kindStray, map[string]int64{"warehouse": warehouse}, "a row of %s is of warehouse %d, which there is not", what, warehouse)
		return nil, false
	}
	return &j.warehouses[warehouse-1], true
}

func (j *judge) districtAt(what string, warehouse, district int64) (d *districtSums, ok bool) {
	if _, ok := j.warehouseAt(what, warehouse); !ok {
		return nil, false
	}
	if district < 1 || district > Districts {
		find(&j.consistency, kindStray, map[string]int64{"warehouse": warehouse, "district": district},
			"a row of %s is of district %d of warehouse %d, which there is not", what, district, warehouse)
		return nil, false
	}
	return &j.districts[districtNumber(warehouse, district)], true
}

func (j *judge) customerAt(what string, warehouse, district, customer int64) (c *customerSums, ok bool) {
	if _, ok := j.districtAt(what, warehouse, district); !ok {
		return nil, false
	}
	if customer < 1 || customer > j.config.Customers {
		find(&j.consistency, kindStray, map[string]int64{"warehouse": warehouse, "district": district, "customer": customer},
			"a row of %s is of customer %d of district %d/%d, who does not exist", what, customer, warehouse, district)
		return nil, false
	}
	return &j.customers[districtNumber(warehouse, district)*j.config.Customers+customer-1], true
}

func (d *districtSums) orderAt(number int64) *orderRecord {
	if number < 1 || number > int64(len(d.orders)) || d.orders[number-1].flags&orderThere == 0 {
		return nil
	}
	return &d.orders[number-1]
}

func (j *judge) item(r Item) {
	fields := map[string]int64{"item": r.ID, "price": r.Price}
	if r.ID < 1 || r.ID > j.config.Items {
		find(&j.stocks, kindStray, fields, "item %d is there, and was not loaded", r.ID)
		return
	}
	if j.items[r.ID]++; j.items[r.ID] == 2 {
		find(&j.stocks, kindDoubled, fields, "item %d is there twice", r.ID)
	}
	want := j.population.item(r.ID)
	if r.Price != want.Price || r.Image != want.Image || r.differs(rowTexts(want)) {
		find(&j.stocks, kindAltered, fields, "item %d is not as it was loaded", r.ID)
	}
}

func (j *judge) warehouse(r Warehouse) {
	w, ok := j.warehouseAt("warehouse", r.ID)
	if !ok {
		return
	}
	want := j.population.warehouse(r.ID)
	if w.there || r.Tax != want.Tax || r.differs(rowTexts(want)) {
		find(&j.payments, kindAltered, map[string]int64{"warehouse": r.ID}, "warehouse %d is there twice, or has another tax, name or address than was loaded", r.ID)
	}
	w.there, w.ytd = true, r.YTD
}

func (j *judge) district(r District) {
	d, ok := j.districtAt("district", r.Warehouse, r.ID)
	if !ok {
		return
	}
	want := j.population.district(r.Warehouse, r.ID)
	if d.there || r.Tax != want.Tax || r.differs(rowTexts(want)) {
		find(&j.payments, kindAltered, map[string]int64{"warehouse": r.Warehouse, "district": r.ID},
			"district %d/%d is there twice, or has another tax, name or address than was loaded", r.Warehouse, r.ID)
	}
	d.there, d.ytd, d.next = true, r.YTD, r.NextOrder
	j.warehouses[r.Warehouse-1].districts += r.YTD
}

func (j *judge) customer(r Customer) {
	c, ok := j.customerAt("customer", r.Warehouse, r.District, r.ID)
	if !ok {
		return
	}
	j.date(r.Since)
	want := j.population.customer(r.Warehouse, r.District, r.ID)
	texts := rowTexts(want)
	if r.told {
		behind := want.Data[:min(int64(len(want.Data)), maxData-min(r.noted, maxData))]
		c.badCredit, c.otherData = want.Credit == badCredit, r.data != addText(0, behind)
		c.notes += r.notes
	}
	if r.Discount != want.Discount || r.CreditLimit != want.CreditLimit || r.Since != j.population.moment || r.told && r.texts != texts.texts {
		find(&j.payments, kindAltered, map[string]int64{"warehouse": r.Warehouse, "district": r.District, "customer": r.ID},
			"customer %d of district %d/%d has another discount, credit, date, name or address than was loaded", r.ID, r.Warehouse, r.District)
	}
	c.balance += r.Balance
	c.total += r.YTDPayment
	c.payments += int32(r.Payments)
	c.deliveries += int32(r.Deliveries)
}

// date learns how rows are dated: in earlier versions all loaded rows have one clock time.
func (j *judge) date(since int64) {
	if j.dated {
		return
	}
	j.dated, j.byClock = true, since != openingMoment
	j.population.moment = since
}

func (j *judge) sameDate(date, operation int64) bool {
	switch {
	case operation <= 0:
		return date == j.population.moment
	case j.byClock:
		return date >= j.population.moment
	default:
		return date == j.population.Moment(operation)
	}
}

func (j *judge) payment(r Payment) {
	c, ok := j.customerAt("history", r.CustomerWarehouse, r.CustomerDistrict, r.Customer)
	d, known := j.districtAt("history", r.Warehouse, r.District)
	if !ok || !known {
		return
	}
	c.balance += r.Amount
	c.total -= r.Amount
	c.payments--
	d.payments += r.Amount
	j.warehouses[r.Warehouse-1].payments += r.Amount
	what := "a payment"
	if r.Operation < 0 {
		if r.Operation != j.population.loadedID(r.Warehouse, r.District, r.Customer) || r.Amount != openingPayment ||
			r.CustomerWarehouse != r.Warehouse || r.CustomerDistrict != r.District || !j.sameDate(r.Date, r.Operation) || r.differs(j.openingTexts(&r)) {
			find(&j.payments, kindAltered, map[string]int64{"operation": r.Operation}, "the opening payment of customer %d of district %d/%d is not as it was loaded",
				r.Customer, r.Warehouse, r.District)
		}
		return
	}
	if c.badCredit && r.told {
		note := paymentNote(&r)
		c.notes -= noteSum(note)
		c.noted += int32(len(note))
	}
	if !j.claim(&j.payments, KindPayment, r.Operation, what) {
		return
	}
	in := j.inputs.Payment(r.Operation)
	if r.Warehouse != in.Warehouse || r.District != in.District || r.CustomerWarehouse != in.Customer.Warehouse ||
		r.CustomerDistrict != in.Customer.District || r.Amount != in.Amount || r.Customer != j.inputs.Resolve(&in.Customer) ||
		!j.sameDate(r.Date, r.Operation) || r.differs(j.paymentTexts(&r)) {
		find(&j.payments, kindAltered, map[string]int64{"operation": r.Operation, "amount": r.Amount, "want": in.Amount},
			"the payment of %s is not as it was asked for", describe(r.Operation))
	}
}

// paymentNote is what a payment puts before the data of a customer with bad credit.
func paymentNote(r *Payment) string {
	return fmt.Sprintf("%d %d %d %d %d %d;", r.Customer, r.CustomerDistrict, r.CustomerWarehouse, r.District, r.Warehouse, r.Amount)
}

// openingTexts are of a loaded payment, paymentTexts of the run: names of warehouse and district
// (clause 2.5.2.2).
func (j *judge) openingTexts(r *Payment) kept {
	return rowTexts(j.population.payment(r.Warehouse, r.District, r.Customer))
}

func (j *judge) paymentTexts(r *Payment) kept {
	return rowTexts(&Payment{Data: j.population.warehouse(r.Warehouse).Name + "    " + j.population.district(r.Warehouse, r.District).Name})
}

func (j *judge) order(r Order) {
	d, ok := j.districtAt("orders", r.Warehouse, r.District)
	if !ok {
		return
	}
	if _, ok := j.customerAt("orders", r.Warehouse, r.District, r.Customer); !ok {
		return
	}
	if r.ID < 1 || r.ID > j.config.Customers+j.operations.reserved {
		find(&j.orders, kindStray, orderFields(r), "order %d/%d/%d has a number that no order can have", r.Warehouse, r.District, r.ID)
		return
	}
	for int64(len(d.orders)) < r.ID {
		d.orders = append(d.orders, orderRecord{})
	}
	o := &d.orders[r.ID-1]
	if o.flags&orderThere != 0 {
		find(&j.orders, kindDoubled, orderFields(r), "order %d/%d/%d is there twice: the number was given to two orders, the other one of %s",
			r.Warehouse, r.District, r.ID, describe(o.operation))
	}
	d.count++
	d.last = max(d.last, r.ID)
	d.lineCount += r.LineCount
	*o = orderRecord{operation: r.Operation, delivery: r.Delivery, customer: int16(r.Customer), carrier: uint8(min(max(r.Carrier, 0), 255)),
		lines: uint8(min(max(r.LineCount, 0), 255)), flags: orderThere}
	if r.Operation < 0 {
		j.openingOrder(r)
	} else if j.claim(&j.orders, KindNewOrder, r.Operation, "an order") {
		in := j.inputs.NewOrder(r.Operation)
		if r.Warehouse != in.Warehouse || r.District != in.District || r.Customer != in.Customer ||
			r.LineCount != int64(len(in.Lines)) || r.AllLocal != in.AllLocal() || !j.sameDate(r.Entered, r.Operation) {
			find(&j.orders, kindAltered, orderFields(r), "order %d/%d/%d of %s is not as it was asked for", r.Warehouse, r.District, r.ID, describe(r.Operation))
		}
		if j.inputs.RolledBack(&in) {
			find(&j.orders, kindFailed, orderFields(r), "order %d/%d/%d is there, and %s asked for an item that does not exist", r.Warehouse, r.District, r.ID, describe(r.Operation))
		}
	}
	j.deliveredBy(r, d)
}

func orderFields(r Order) map[string]int64 {
	return map[string]int64{"warehouse": r.Warehouse, "district": r.District, "order": r.ID, "operation": r.Operation, "delivery": r.Delivery}
}

// openingOrder compares an order with the loaded one.
func (j *judge) openingOrder(r Order) {
	if r.ID > j.config.Customers || r.Operation != j.population.loadedID(r.Warehouse, r.District, r.ID) {
		find(&j.orders, kindStray, orderFields(r), "order %d/%d/%d is none that was loaded", r.Warehouse, r.District, r.ID)
		return
	}
	want, _ := j.population.order(r.Warehouse, r.District, r.ID, false, nil)
	done := r.ID <= j.config.delivered()
	if r.Customer != want.Customer || r.LineCount != want.LineCount || !j.sameDate(r.Entered, r.Operation) || r.AllLocal != want.AllLocal || done && (r.Carrier != want.Carrier || r.Delivery != 0) {
		find(&j.orders, kindAltered, orderFields(r), "order %d/%d/%d is not as it was loaded", r.Warehouse, r.District, r.ID)
	}
}

// deliveredBy notes who delivered an order.
func (j *judge) deliveredBy(r Order, d *districtSums) {
	if r.Delivery == 0 {
		return
	}
	d.won++
	j.customers[districtNumber(r.Warehouse, r.District)*j.config.Customers+r.Customer-1].deliveries--
	client, seq, ok := SplitID(r.Delivery)
	if !ok || j.operations.find(client, seq) == nil || j.kind(client, seq) != KindDelivery {
		find(&j.deliveries, kindStray, orderFields(r), "order %d/%d/%d was delivered, and no such delivery of this run was begun: %s",
			r.Warehouse, r.District, r.ID, describe(r.Delivery))
		return
	}
	if in := j.inputs.Delivery(r.Delivery); r.Warehouse != in.Warehouse || r.Carrier != in.Carrier {
		find(&j.deliveries, kindAltered, orderFields(r), "order %d/%d/%d was delivered by %s, which had another warehouse or carrier",
			r.Warehouse, r.District, r.ID, describe(r.Delivery))
		return
	}
	bit := uint16(1) << r.District
	if j.delivered[r.Delivery]&bit != 0 {
		find(&j.deliveries, kindDoubled, orderFields(r), "%s has delivered more than one order of district %d/%d", describe(r.Delivery), r.Warehouse, r.District)
	}
	j.delivered[r.Delivery] |= bit
}

func (j *judge) newOrder(r NewOrder) {
	d, ok := j.districtAt("new_order", r.Warehouse, r.District)
	if !ok {
		return
	}
	if d.undelivered == 0 || r.Order < d.oldest {
		d.oldest = r.Order
	}
	d.newest = max(d.newest, r.Order)
	d.undelivered++
	o := d.orderAt(r.Order)
	if o == nil {
		j.condition(5, map[string]int64{"warehouse": r.Warehouse, "district": r.District, "order": r.Order},
			"order %d/%d/%d is in new_order, and not in orders", r.Warehouse, r.District, r.Order)
		return
	}
	o.flags |= orderNew
}

func (j *judge) line(r OrderLine) {
	d, ok := j.districtAt("order_line", r.Warehouse, r.District)
	if !ok {
		return
	}
	d.lines++
	o := d.orderAt(r.Order)
	if o == nil {
		j.condition(6, lineFields(r), "line %d of order %d/%d/%d is there, and the order is not", r.Number, r.Warehouse, r.District, r.Order)
		return
	}
	if r.Number < 1 || r.Number > MaxLines || o.lineSet&(1<<r.Number) != 0 {
		find(&j.orders, kindDoubled, lineFields(r), "line %d of order %d/%d/%d is there twice, or no line can have that number", r.Number, r.Warehouse, r.District, r.Order)
	} else {
		o.lineSet |= 1 << r.Number
	}
	o.amount += r.Amount
	if (r.Delivered == 0) != (o.carrier == 0) {
		j.condition(7, lineFields(r), "line %d of order %d/%d/%d has the delivery date %d, and the order the carrier %d",
			r.Number, r.Warehouse, r.District, r.Order, r.Delivered, o.carrier)
	}
	if r.Delivered != 0 && o.carrier != 0 && !j.sameDate(r.Delivered, o.delivery) { // without a carrier it is condition 7
		find(&j.deliveries, kindAltered, lineFields(r), "line %d of order %d/%d/%d has another date of delivery than %s has",
			r.Number, r.Warehouse, r.District, r.Order, describe(o.delivery))
	}
	if r.Delivered != 0 {
		j.customers[districtNumber(r.Warehouse, r.District)*j.config.Customers+int64(o.customer)-1].balance -= r.Amount
	}
	if want, ok := j.lineAsked(r, o.operation); !ok || r.Item != want.Item || r.Supply != want.Supply || r.Quantity != want.Quantity || r.Amount != want.Amount ||
		r.differs(rowTexts(&want)) {
		find(&j.orders, kindAltered, lineFields(r), "line %d of order %d/%d/%d is not as it was asked for", r.Number, r.Warehouse, r.District, r.Order)
	}
	if o.operation > 0 {
		j.takenFrom(r)
	}
}

func lineFields(r OrderLine) map[string]int64 {
	return map[string]int64{"warehouse": r.Warehouse, "district": r.District, "order": r.Order, "line": r.Number, "amount": r.Amount}
}

// lineAsked is the expected line; false if there is none.
func (j *judge) lineAsked(r OrderLine, operation int64) (OrderLine, bool) {
	if operation < 0 {
		if j.opening.Operation != operation || j.opening.ID != r.Order {
			j.opening, j.openingLine = j.population.order(r.Warehouse, r.District, r.Order, true, j.openingLine[:0])
		}
		if r.Number < 1 || r.Number > int64(len(j.openingLine)) {
			return OrderLine{}, false
		}
		return j.openingLine[r.Number-1], true
	}
	if j.ordered.Operation != operation {
		j.ordered = j.inputs.NewOrder(operation)
	}
	if r.Number < 1 || r.Number > int64(len(j.ordered.Lines)) {
		return OrderLine{}, false
	}
	l := j.ordered.Lines[r.Number-1]
	return OrderLine{Item: l.Item, Supply: l.Supply, Quantity: l.Quantity, Amount: l.Quantity * j.population.Price(l.Item),
		DistInfo: j.population.distInfo(l.Supply, l.Item, r.District)}, true
}
