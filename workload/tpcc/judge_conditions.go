package tpcc

import (
	"fmt"
	"maps"
	"math/bits"
)

// condition reports a violation of a condition of clause 3.3.2.
func (j *judge) condition(number int, fields map[string]int64, format string, of ...any) {
	find(&j.consistency, fmt.Sprintf("condition %d", number), fields, format, of...)
}

// conditions judges sums and missing rows. Others judge 5, 7 and parts of 6 row by row.
func (j *judge) conditions() {
	if j.missing != "" {
		return
	}
	j.thereIs("item", j.items, map[string]int64{})
	for i := range j.warehouses {
		j.warehouseConditions(int64(i) + 1)
		for district := int64(1); district <= Districts; district++ {
			j.districtConditions(int64(i)+1, district)
			j.orderConditions(int64(i)+1, district)
			j.customerConditions(int64(i)+1, district)
		}
	}
	for id, districts := range j.delivered {
		if _, result := j.results[id]; !result {
			find(&j.deliveries, kindHalf, map[string]int64{"operation": id}, "%s has delivered %d orders, and there is no result of it",
				describe(id), bits.OnesCount16(districts))
		}
	}
}

func (j *judge) warehouseConditions(warehouse int64) {
	w := &j.warehouses[warehouse-1]
	fields := map[string]int64{"warehouse": warehouse, "w_ytd": w.ytd, "districts": w.districts, "payments": w.payments}
	if !w.there {
		find(&j.consistency, kindLost, fields, "warehouse %d is not there", warehouse)
	}
	if w.ytd != w.districts {
		j.condition(1, fields, "warehouse %d has w_ytd %d, and its districts' d_ytd are %d together", warehouse, w.ytd, w.districts)
	}
	if w.ytd != w.payments {
		j.condition(8, fields, "warehouse %d has w_ytd %d, and its payments are %d together", warehouse, w.ytd, w.payments)
	}
	j.thereIs(fmt.Sprintf("the stock of warehouse %d of item", warehouse), j.stocked[warehouse-1], map[string]int64{"warehouse": warehouse})
}

func (j *judge) thereIs(what string, rows []uint8, fields map[string]int64) {
	for item := int64(1); item <= j.config.Items; item++ {
		if rows == nil || rows[item] == 0 {
			fields := maps.Clone(fields)
			fields["item"] = item
			find(&j.stocks, kindLost, fields, "%s %d was loaded, and is not there", what, item)
		}
	}
}

func (j *judge) districtConditions(warehouse, district int64) {
	d := &j.districts[districtNumber(warehouse, district)]
	fields := map[string]int64{"warehouse": warehouse, "district": district}
	at := fmt.Sprintf("district %d/%d", warehouse, district)
	if !d.there {
		find(&j.consistency, kindLost, fields, "%s is not there", at)
	}
	if d.next-1 != d.last || d.undelivered > 0 && d.newest != d.last {
		j.condition(2, fields, "%s has d_next_o_id %d; the highest order is %d, the highest in new_order %d", at, d.next, d.last, d.newest)
	}
	if d.undelivered > 0 && d.newest-d.oldest+1 != d.undelivered {
		j.condition(3, fields, "%s has in new_order %d rows, from order %d to %d", at, d.undelivered, d.oldest, d.newest)
	}
	if d.lineCount != d.lines {
		j.condition(4, fields, "the orders of %s count %d lines, and there are %d", at, d.lineCount, d.lines)
	}
	if d.ytd != d.payments {
		j.condition(9, fields, "%s has d_ytd %d, and its payments are %d together", at, d.ytd, d.payments)
	}
	if want := j.config.delivered() + d.won; d.count-d.undelivered != want {
		j.condition(11, fields, "%s has %d orders and %d in new_order; %d were delivered when the run began and %d in it",
			at, d.count, d.undelivered, j.config.delivered(), d.won)
	}
}

func (j *judge) orderConditions(warehouse, district int64) {
	d := &j.districts[districtNumber(warehouse, district)]
	for number := int64(1); number <= max(int64(len(d.orders)), j.config.Customers); number++ {
		fields := func() map[string]int64 {
			return map[string]int64{"warehouse": warehouse, "district": district, "order": number}
		}
		o := d.orderAt(number)
		if o == nil {
			if number <= j.config.Customers {
				find(&j.orders, kindLost, fields(), "order %d/%d/%d was loaded and is not there", warehouse, district, number)
			} else if number < d.next { // a rollback gives the number back: it is taken and used by one transaction
				find(&j.orders, kindHalf, fields(), "district %d/%d has d_next_o_id %d and no order %d: the number was taken and not used, or the order is lost", warehouse, district, d.next, number)
			}
			continue
		}
		if (o.carrier == 0) != (o.flags&orderNew != 0) {
			j.condition(5, fields(), "order %d/%d/%d has the carrier %d, and is in new_order: %t", warehouse, district, number, o.carrier, o.flags&orderNew != 0)
		}
		if n := bits.OnesCount16(o.lineSet); n != int(o.lines) {
			j.condition(6, fields(), "order %d/%d/%d counts %d lines, and %d are there", warehouse, district, number, o.lines, n)
			find(&j.orders, kindHalf, fields(), "order %d/%d/%d (%s) has %d of its %d lines", warehouse, district, number, describe(o.operation), n, o.lines)
		}
	}
}

// otherNotes reports whether a customer's data differ from notes and loaded data, unless they
// were cut.
func (c *customerSums) otherNotes() bool { return c.noted <= maxData && (c.otherData || c.notes != 0) }

func (j *judge) customerConditions(warehouse, district int64) {
	first := districtNumber(warehouse, district) * j.config.Customers
	for id := int64(1); id <= j.config.Customers; id++ {
		c := j.customers[first+id-1]
		if c == (customerSums{}) {
			continue
		}
		fields := map[string]int64{"warehouse": warehouse, "district": district, "customer": id, "balance": c.balance, "total": c.total}
		at := fmt.Sprintf("customer %d of district %d/%d", id, warehouse, district)
		if c.balance != 0 {
			j.condition(10, fields, "%s has a balance that is %d more than what was delivered less what was paid", at, c.balance)
		}
		if c.balance+c.total != 0 {
			j.condition(12, fields, "%s has a balance and payments that are together %d more than what was delivered", at, c.balance+c.total)
		}
		if c.total != 0 || c.payments != 0 {
			find(&j.payments, kindTotal, fields, "%s has paid %d more, and %d times more often, than the payments say", at, c.total, c.payments)
		}
		if c.otherNotes() {
			find(&j.payments, kindAltered, fields, "%s has other data than was loaded, with the notes of its payments where its credit is bad", at)
		}
		if c.deliveries != 0 {
			find(&j.deliveries, kindTotal, fields, "%s counts %d more deliveries than there are", at, c.deliveries)
		}
	}
}
