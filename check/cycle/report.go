package cycle

import (
	"fmt"
	"strings"

	"assay/check"
)

// Report is the result for a history under one model.
type Report struct {
	// Model is the requested model.
	Model Model
	// Verdict is Violated if the model is ruled out. It is Unknown if nothing was put to the test,
	// if the time ran out first, or if the history cannot be judged; Reason says why.
	Verdict check.Verdict
	Reason  string
	// Partial means that the time ran out after a violation was found: more may exist, and weaker
	// models may be ruled out.
	Partial bool
	// Anomalies are the sorted names of the anomalies found that the model forbids.
	Anomalies []string
	// Permitted are the sorted names of those that the model allows.
	Permitted []string
	// Not are the weakest models ruled out by all findings, and AlsoNot those above them, each
	// sorted. Both are empty unless the verdict is Violated: ask for a stronger model to learn
	// more.
	Not     []Model
	AlsoNot []Model
	// Evidence has one case of each of Anomalies and then of Permitted; for cycles, the shortest
	// found.
	Evidence []Evidence
	// Findings are acknowledged appends that are lost ("lost-append"), and reads that lack an
	// append acknowledged before they began ("stale-read"). They do not change the verdict, because
	// models without real time allow both. Under strong snapshot isolation and strict
	// serializability the same shows as a realtime anomaly.
	Findings []Evidence
	// Repeated names a value that was written to a key more than once, a mistake of the test, if the
	// verdict is Violated without such values.
	Repeated string
	Size     Size
}

// Size counts what was examined.
type Size struct {
	Transactions int
	Committed    int
	Unknown      int
	Operations   int
	Keys         int
	// Dependencies counts the ww, wr and rw edges.
	Dependencies int
	// Components counts the sets of transactions in cycles with each other.
	Components int
}

// Evidence proves one anomaly.
type Evidence struct {
	// Anomaly is its name.
	Anomaly string
	// Text says what happened, with T1 for Txns[0] and so on.
	Text string
	// Found counts the cases; for cycles, the components that have one.
	Found int64
	// Txns are the transactions involved, in the order of a cycle.
	Txns []TxnView
	// Edges make the cycle: Edges[i] leads from Txns[i] to Txns[i+1], the last one back to Txns[0].
	// It is empty without a cycle.
	Edges []Edge
	// AnyOrder means that the cycle rests on an order of versions that no read shows, but that
	// every other order has a cycle too. Reasons say why the versions must be in the order of the
	// edges, and what the transactions in Txns after those of the cycle are for.
	AnyOrder bool
	Reasons  []string
	// Smallest is the smallest part of the history with the anomaly, if FindSmallest was used.
	Smallest *check.Excerpt
}

// TxnView is a transaction in an Evidence.
type TxnView struct {
	ID      int64
	Process int32
	// Text has its operations, with long lists cut.
	Text string
}

func (v *TxnView) name() string {
	if v.ID < 0 {
		return txnName(v.ID) // of no process
	}
	return fmt.Sprintf("%s of process %d", txnName(v.ID), v.Process)
}

// Edge says why one transaction of a cycle comes before the next.
type Edge struct {
	From int
	To   int
	// Kind is ww, wr, rw, process or realtime.
	Kind string
	// Key is the key that proves it; empty for process and realtime.
	Key  string
	Text string
}

// Result converts the report. Anomalies that the model does not forbid are allowed.
func (r *Report) Result() check.Result {
	result := check.Result{Name: "isolation", Detail: r.detail()}
	for i, e := range append(append([]Evidence(nil), r.Evidence...), r.Findings...) {
		listed := check.Evidence{Kind: e.Anomaly, Text: e.Text, Fields: map[string]int64{"found": e.Found}, Cycle: e.cycle(), Smallest: e.Smallest}
		if i >= len(r.Anomalies) {
			result.Allow(e.Anomaly, e.Found, listed)
			continue
		}
		result.AddUnlisted(e.Anomaly, e.Found)
		if len(result.Evidence) < check.MaxEvidence {
			result.Evidence = append(result.Evidence, listed)
		}
	}
	if result.Found == 0 || r.Verdict == check.Unknown {
		result.Verdict = r.Verdict
	}
	return result
}

func (e *Evidence) cycle() *check.Cycle {
	if len(e.Edges) == 0 {
		return nil
	}
	c := &check.Cycle{}
	for i, edge := range e.Edges {
		t := e.Txns[edge.From]
		c.Steps = append(c.Steps, check.Step{
			Name: fmt.Sprintf("T%d", i+1), Text: t.name() + ": " + t.Text,
			Kind: edge.Kind, Why: edge.Text,
		})
	}
	last := &c.Steps[len(c.Steps)-1]
	last.Why = strings.Join(append([]string{last.Why}, e.Reasons...), ". ")
	return c
}

func (r *Report) detail() string {
	looked := fmt.Sprintf("%s with %s on %s, %s", check.Counted(r.Size.Transactions, "transaction", "transactions"),
		check.Counted(r.Size.Operations, "operation", "operations"), check.Counted(r.Size.Keys, "key", "keys"),
		check.Counted(r.Size.Dependencies, "dependency", "dependencies"))
	switch r.Verdict {
	case check.Violated:
		not := make([]string, len(r.Not))
		for i, m := range r.Not {
			not[i] = string(m)
		}
		more := ""
		if r.Partial {
			more = "; the time ran out, there may be more"
		}
		if r.Repeated != "" {
			more += "; " + r.Repeated
		}
		return fmt.Sprintf("%s: not %s: %s; the weakest model ruled out is %s%s",
			looked, r.Model, strings.Join(r.Anomalies, ", "), strings.Join(not, " and "), more)
	case check.Valid:
		return fmt.Sprintf("%s: nothing that %s forbids", looked, r.Model)
	default:
		return fmt.Sprintf("%s: %s", looked, r.Reason)
	}
}

// anomalyCases counts the cases of each anomaly and keeps the first.
type anomalyCases struct {
	count [anomalies]int64
	kept  [anomalies]*Evidence
}

func (b *anomalyCases) add(a anomaly, evidence func() Evidence) {
	b.count[a]++
	if b.kept[a] == nil {
		e := evidence()
		e.Anomaly = a.String()
		b.kept[a] = &e
	}
}

func (b *anomalyCases) found() anomalySet {
	var s anomalySet
	for a := range anomalies {
		if b.count[a] > 0 {
			s |= set(a)
		}
	}
	return s
}

func (b *anomalyCases) list(s anomalySet) []Evidence {
	var all []Evidence
	for a := range anomalies {
		if s.has(a) && b.kept[a] != nil {
			e := *b.kept[a]
			e.Found = b.count[a]
			all = append(all, e)
		}
	}
	return all
}
