package bank

import (
	"slices"

	"assay/check"
	"assay/check/ledger"
	"assay/history"
	"assay/workload/definition"
)

// operation is one client's operation number.
type operation struct {
	client int
	seq    uint64
}

// permitted is what was lost by power cuts as the database's manual allows: of these
// transfers nothing need be there, and what audits saw meanwhile may be gone too.
type permitted struct {
	transfers map[operation]bool
	spans     []span
	copied    history.Op
}

// span is the time from the first transfer that was lost at a cut to the cut.
type span struct{ from, cut int64 }

// findLost takes account of the acknowledged transfers that have no journal row, and
// returns those that may be lost. Without power cuts there are none. It keeps 16 bytes
// for each of them, which were acknowledged in the time that the manual allows.
func findLost(judge *ledger.Judge, e Evidence) (*permitted, error) {
	p := &permitted{transfers: map[operation]bool{}}
	if e.Losses == nil {
		return p, nil
	}
	_, err := history.Read(e.History, history.Visitor{Op: func(op *history.Op) error {
		if op.Kind == KindTransfer && op.Last && op.Final == history.Committed && judge.Lost(op.Client, op.Seq) {
			p.add(op, e.Losses)
		}
		return nil
	}})
	return p, err
}

func (p *permitted) add(op *history.Op, losses *definition.Losses) {
	cut, allowed := losses.Add(op.Start, op.End)
	if !allowed {
		return
	}
	p.transfers[operation{op.Client, op.Seq}] = true
	i := slices.IndexFunc(p.spans, func(s span) bool { return s.cut == cut.At })
	if i < 0 {
		p.spans = append(p.spans, span{op.First, cut.At})
		return
	}
	p.spans[i].from = min(p.spans[i].from, op.First)
}

// withdraw is the attempt without what may be lost: whether such a transfer took place
// is unknown, and an audit that may have seen one says nothing.
func (p *permitted) withdraw(op *history.Op) *history.Op {
	if p == nil {
		return op
	}
	outcome := history.Unknown
	if op.Kind != KindTransfer {
		outcome = history.Failed
		if !slices.ContainsFunc(p.spans, func(s span) bool { return op.First <= s.cut && op.End >= s.from }) {
			return op
		}
	} else if !p.transfers[operation{op.Client, op.Seq}] {
		return op
	}
	p.copied = *op
	p.copied.Outcome, p.copied.Final, p.copied.Values = outcome, outcome, nil
	return &p.copied
}

// checkTransfers is the ledger's check that names each transfer without a row.
const checkTransfers = "transfers"

// describeLosses says in the check of the transfers what was lost.
func describeLosses(results []check.Result, losses *definition.Losses) {
	text := losses.Text()
	i := slices.IndexFunc(results, func(r check.Result) bool { return r.Name == checkTransfers })
	if text != "" && i >= 0 {
		results[i].Detail += "; " + text
	}
}
