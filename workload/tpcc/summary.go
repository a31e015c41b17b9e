package tpcc

import (
	"fmt"

	"assay/check"
	"assay/report"
	"assay/workload/definition"
)

// summarize completes verdicts and details.
func (j *judge) summarize() definition.Judgement {
	finish := func(r *check.Result, nothing bool, why, detail string) {
		r.Detail = detail
		if r.Found > 0 {
			r.Detail += "; " + check.Counted(r.Found, "thing is", "things are") + " wrong"
		}
		r.Finish(j.missing, nothing, why)
	}
	const unread = "nothing was read"
	finishKind := func(r *check.Result, kind uint8, one, many, compared string) {
		n := j.acknowledged[kind]
		detail := check.Counted(n, one+" was", many+" were") + " acknowledged"
		if n > 0 {
			detail += ", and compared with " + compared
		}
		finish(r, n == 0, "so there was nothing to compare", detail)
	}
	finish(&j.consistency, j.rows == 0, unread, fmt.Sprintf("%s of %s were judged by the twelve conditions of clause 3.3.2",
		check.Counted(j.rows, "row", "rows"), check.Counted(j.config.Warehouses, "warehouse", "warehouses")))
	finishKind(&j.orders, KindNewOrder, "order", "orders", "their lines and the opening orders")
	finishKind(&j.payments, KindPayment, "payment", "payments", "what customers have paid")
	finishKind(&j.deliveries, KindDelivery, "delivery", "deliveries", "the orders that were delivered")
	finish(&j.stocks, j.rows == 0, unread, "each stock was compared with what the orders have taken")
	finish(&j.answers, j.answered == 0, "no answer was compared", check.Counted(j.answered, "answer was", "answers were")+" compared with what is there")
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
