package tpcc

import (
	"math/bits"

	"assay/history"
)

// secondReading compares the answers to clients with the state, and computes the figures.
func (j *judge) secondReading() error {
	_, err := history.Read(j.evidence.History, history.Visitor{Op: func(op *history.Op) error {
		j.paces[op.Kind].Op(op)
		if op.Outcome != history.Committed || len(op.Values) == 0 {
			return nil
		}
		counts := [...]int{KindNewOrder: 2, KindPayment: 2, KindOrderStatus: 5, KindDelivery: Districts, KindStockLevel: 1}
		if len(op.Values) != counts[op.Kind] {
			return &history.FormatError{Path: j.evidence.History, Reason: "an answer that cannot be understood"}
		}
		if j.missing == "" {
			j.answered++
			j.answer(op, OperationID(op.Client, op.Seq))
		}
		return nil
	}})
	return err
}

func (j *judge) answer(op *history.Op, id int64) {
	switch op.Kind {
	case KindNewOrder:
		j.answerNewOrder(op, id)
	case KindPayment:
		in := j.inputs.Payment(id)
		if want := j.inputs.Resolve(&in.Customer); op.Values[0] != want {
			j.other(op, "answered customer %d, and customer %d was asked for", op.Values[0], want)
		}
	case KindOrderStatus:
		j.answerOrderStatus(op, id)
	case KindDelivery:
		j.answerDelivery(op, id)
	default:
		// A Stock-Level counts in 20 orders of at most 15 lines.
		if low := op.Values[0]; low < 0 || low > 20*MaxLines {
			j.other(op, "counted %d items of 20 orders", low)
		}
	}
}

// other adds an answer that disagrees with the state.
func (j *judge) other(op *history.Op, format string, of ...any) {
	id := OperationID(op.Client, op.Seq)
	find(&j.answers, kindOther, map[string]int64{"operation": id, "client": int64(op.Client), "seq": int64(op.Seq), "start_ns": op.Start, "end_ns": op.End},
		describe(id)+" "+format, of...)
}

func (j *judge) answerNewOrder(op *history.Op, id int64) {
	in := j.inputs.NewOrder(id)
	number, total := op.Values[0], op.Values[1]
	o := j.districts[districtNumber(in.Warehouse, in.District)].orderAt(number)
	if o == nil || o.operation != id {
		j.other(op, "answered order %d/%d/%d, which is not its own", in.Warehouse, in.District, number)
	}
	var sum int64
	for _, l := range in.Lines {
		sum += l.Quantity * j.population.Price(l.Item)
	}
	want := Total(sum, j.population.Discount(in.Warehouse, in.District, in.Customer), j.population.WarehouseTax(in.Warehouse),
		j.population.DistrictTax(in.Warehouse, in.District))
	if total != want && !j.inputs.RolledBack(&in) {
		j.other(op, "answered a total of %d, and its lines come to %d", total, want)
	}
}

// The order shown must be the customer's and whole. Only deliveries change its lines.
func (j *judge) answerOrderStatus(op *history.Op, id int64) {
	in := j.inputs.OrderStatus(id)
	c := in.Customer
	customer, number, lines, amount := op.Values[0], op.Values[2], op.Values[3], op.Values[4]
	if want := j.inputs.Resolve(&c); customer != want {
		j.other(op, "answered customer %d, and customer %d was asked for", customer, want)
		return
	}
	o := j.districts[districtNumber(c.Warehouse, c.District)].orderAt(number)
	switch {
	case o == nil:
		j.other(op, "was shown order %d/%d/%d, which is not there", c.Warehouse, c.District, number)
	case int64(o.customer) != customer:
		j.other(op, "was shown order %d/%d/%d as that of customer %d, and it is that of customer %d", c.Warehouse, c.District, number, customer, o.customer)
	case lines != int64(o.lines) || amount != o.amount:
		j.other(op, "was shown order %d/%d/%d with %d lines of %d in all, and it has %d of %d", c.Warehouse, c.District, number, lines, amount, o.lines, o.amount)
	}
}

func (j *judge) answerDelivery(op *history.Op, id int64) {
	in := j.inputs.Delivery(id)
	var answered uint16
	for i, number := range op.Values {
		if number == 0 {
			continue
		}
		district := int64(i) + 1
		answered |= 1 << district
		if o := j.districts[districtNumber(in.Warehouse, district)].orderAt(number); o == nil || o.delivery != id {
			j.other(op, "answered that it has delivered order %d/%d/%d, and it has not", in.Warehouse, district, number)
			find(&j.deliveries, kindHalf, map[string]int64{"operation": id, "warehouse": in.Warehouse, "district": district, "order": number},
				"%s was acknowledged, and order %d/%d/%d, which it answered, is not delivered by it", describe(id), in.Warehouse, district, number)
		}
	}
	if there := j.delivered[id]; there&^answered != 0 {
		j.other(op, "answered %d delivered orders, and there are %d", bits.OnesCount16(answered), bits.OnesCount16(there))
	}
}
