package tpcc

import (
	"fmt"

	"assay/check"
	"assay/report"
	"assay/workload/definition"
)

// summarize completes verdicts and details.
func (j *judge) summarize() definition.Judgement {
	of := func(kind uint8, one, many string) string { return check.Counted(j.acknowledged[kind], one, many) }
	finish := func(r *check.Result, detail string) {
		r.Detail = detail
		if r.Found > 0 {
			r.Detail += "; " + check.Counted(r.Found, "thing is", "things are") + " wrong"
		}
		r.Finish(j.missing, j.rows == 0, "nothing was read")
	}
	finish(&j.consistency, fmt.Sprintf("%s of %s were judged by the twelve conditions of clause 3.3.2",
		check.Counted(j.rows, "row", "rows"), check.Counted(j.config.Warehouses, "warehouse", "warehouses")))
	finish(&j.orders, of(KindNewOrder, "order was", "orders were")+" acknowledged, and compared with their lines and the opening orders")
	finish(&j.payments, of(KindPayment, "payment was", "payments were")+" acknowledged, and compared with what customers have paid")
	finish(&j.deliveries, of(KindDelivery, "delivery was", "deliveries were")+" acknowledged, and compared with the orders that were delivered")
	finish(&j.stocks, "each stock was compared with what the orders have taken")
	finish(&j.answers, check.Counted(j.answered, "answer was", "answers were")+" compared with what is there")
	out := definition.Judgement{
		Results: []check.Result{j.consistency, j.orders, j.payments, j.deliveries, j.stocks, j.answers},
		Counts:  j.counts, WorkloadFigures: report.WorkloadFigures{TPCC: figures(j.config, j.paces)},
	}
	if j.isolation != nil {
		out.Results = append(out.Results, *j.isolation)
	}
	out.TPCC.IsolationTests = j.isolationTests
	if j.isolationNote != "" {
		out.Notes = append(out.Notes, j.isolationNote)
	}
	out.Notes = append(out.Notes, j.evidence.UnknownNotes("unknown transaction that writes", "unknown transactions that write", j.unknown, j.unknownDone)...)
	return out
}

// specified returns the limit of the 90th percentile of response times in seconds (clause
// 5.2.5.7) and the least share of transactions in percent (clause 5.2.3).
func specified(kind uint8) (limit, share float64) {
	switch kind {
	case KindNewOrder:
		return 5, 0
	case KindPayment:
		return 5, payments
	case KindStockLevel:
		return 20, stockChecks
	default:
		return 5, statuses
	}
}

// mostPerWarehouse is the highest tpmC of ten terminals with keying and think times.
const mostPerWarehouse = 12.86

func figures(config Config, paces map[uint8]*definition.Pace) *report.TPCC {
	out := &report.TPCC{Warehouses: config.Warehouses, ThinkTimes: config.ThinkTimes}
	if config.ThinkTimes {
		out.MostTpmC = mostPerWarehouse * float64(config.Warehouses)
	}
	var all int64
	for _, pace := range paces {
		all += pace.Committed()
	}
	for kind := KindNewOrder; kind <= KindStockLevel; kind++ {
		pace := paces[kind]
		flow := pace.Flow()
		if kind == KindNewOrder {
			out.TpmC = flow.PerSecond * 60
		}
		t := report.TPCCTransaction{
			Name: Definition().Operations[kind], Outcomes: flow.Outcomes, Measured: pace.Committed(),
			Mean: flow.Mean, P90: pace.Percentile(90), Longest: flow.Longest,
		}
		limit, share := specified(kind)
		t.LimitP90, t.LeastShare = limit*1000, share
		if all > 0 {
			t.Share = 100 * float64(t.Measured) / float64(all)
		}
		out.Transactions = append(out.Transactions, t)
	}
	return out
}
