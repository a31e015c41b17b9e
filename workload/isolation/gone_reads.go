package isolation

import (
	"fmt"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/workload/definition"
)

// KindGoneRead is a read of an unanswered transaction's element that is gone in the end: a
// server showed what the others never took over. It is reported apart from other violations.
const KindGoneRead = "gone-read"

type goneReads struct {
	// leave is true if transactions with such reads are left out.
	leave bool
	// unanswered are the transactions without an answer.
	unanswered map[int64]struct{}
	found      []check.Evidence
}

// leftOut reports whether a committed transaction has such a read and is left out.
func (j *judge) leftOut(op *history.Op, ops []Op) bool {
	if !j.goneReads.leave || j.state.missing != "" {
		return false
	}
	for i := range ops {
		if ops[i].Kind != ReadList {
			continue
		}
		for _, v := range ops[i].List {
			client, seq, attempt, _, ok := SplitElement(v)
			writer := TransactionID(client, seq, attempt)
			if _, unanswered := j.goneReads.unanswered[writer]; !ok || !unanswered || j.state.holdsElement(v) {
				continue
			}
			j.goneReads.found = append(j.goneReads.found, check.Evidence{Kind: KindGoneRead,
				Text: fmt.Sprintf("operation %d of client %d read %d from key %d, which operation %d of client %d appended: no answer had come to it, and what was shown is gone",
					op.Seq, op.Client, v, ops[i].Key, seq, client),
				Fields: map[string]int64{"client": int64(op.Client), "operation": int64(op.Seq), "key": ops[i].Key, "element": v}})
			return true
		}
	}
	return false
}

// withoutGoneReads leaves out transactions with gone reads. It counts no losses.
func withoutGoneReads(t *Transactions, model cycle.Model, e definition.Evidence) (*judge, error) {
	if e.Losses != nil {
		losses := *e.Losses
		e.Losses = &losses
	}
	j := newJudge(t, model, e)
	j.goneReads.leave = true
	return j, j.read()
}
