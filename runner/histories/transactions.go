package histories

import (
	"context"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/check/cycle"
	"assay/check/recorded"
	"assay/history/exchange"
	"assay/report"
)

// transactionJudge judges transactions over lists or registers by a consistency model. The judges
// of independent keys share found.
type transactionJudge struct {
	found        *transactionFindings
	transactions cycle.Reader
}

// transactionFindings are the options and findings of all histories of a file.
type transactionFindings struct {
	o       Options
	assumed cycle.Options
	model   cycle.Model
	// until ends the judgement. reducing is the time left for the smallest parts.
	until    time.Time
	reducing time.Duration

	anomalies, permitted []string
	ruledOut             []cycle.Model
	parts                []Smallest
	reason               string
}

func (j *transactionJudge) Add(o *exchange.Operation) error {
	if o.Keyed {
		return recorded.NotKeyed(o)
	}
	return j.transactions.Add(o)
}

// Result returns the answer over all transactions, and enters it into found.
func (j *transactionJudge) Result(ctx context.Context) check.Result {
	f := j.found
	timed, cancel := context.WithDeadline(ctx, f.until)
	defer cancel()
	h := j.transactions.History()
	r := cycle.Check(timed, h, f.model, f.assumed)
	if r.Verdict == check.Violated {
		f.reduce(ctx, h, &r)
	}
	f.anomalies, f.permitted = append(f.anomalies, r.Anomalies...), append(f.permitted, r.Permitted...)
	f.ruledOut = append(append(f.ruledOut, r.Not...), r.AlsoNot...)
	f.reason = r.Reason
	r.Evidence = r.Evidence[:len(r.Anomalies)] // no vendor promises anything about a file: only the model counts
	result := r.Result()
	result.Verdict = r.Verdict
	return result
}

// reduce finds the smallest parts. It ends with ctx and, unless they are to be kept, after the time
// for them.
func (f *transactionFindings) reduce(ctx context.Context, h *cycle.History, r *cycle.Report) {
	if f.o.keep == nil {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, f.reducing)
		defer cancel()
		defer func() { f.reducing -= time.Since(began) }()
		ctx = limited
	}
	parts := cycle.FindSmallest(ctx, h, f.assumed, r, check.Events)
	r.Attach(parts)
	f.parts = append(f.parts, parts...)
}

// judgeTransactions judges the transactions of each independent key separately.
func judgeTransactions(ctx context.Context, rest operations, first *exchange.Operation, o Options) (report.History, error) {
	f := transactionFindings{o: o, model: cycle.StrictSerializable, reducing: cycle.SmallestTime}
	for _, name := range o.Assume {
		f.assumed.Assume(name)
	}
	judge, uninvoked := judgeOf(first, func() recorded.Judge { return &transactionJudge{found: &f} }), false
	err := eachOperation(rest, first, func(op *exchange.Operation) error {
		uninvoked = uninvoked || op.Uninvoked
		return judge.Add(op)
	})
	if err != nil {
		return report.History{}, err
	}
	switch {
	case o.Model != "":
		if f.model, err = cycle.ParseModel(o.Model); err != nil {
			return report.History{}, err
		}
	case uninvoked && first.Unnamed:
		f.model = cycle.Serializable
	case uninvoked:
		f.model = cycle.SessionSerializable
	}
	f.until = time.Now().Add(o.Timeout)
	result := judge.Result(ctx)
	o.keep.add(f.parts, exchange.ListAppend)
	if first.Keyed && result.Verdict == check.Unknown {
		f.reason = result.Detail
	}
	if result.Verdict != check.Unknown {
		f.reason = ""
	}
	if len(o.Assume) > 0 {
		result.Detail += "; assumed: " + strings.Join(o.Assume, ", ")
	}
	h := report.History{
		Model: string(f.model), Verdict: result.Verdict, Reason: f.reason, Anomalies: sorted(f.anomalies),
		Evidence: result.Evidence, Detail: result.Detail,
	}
	h.Permitted = slices.DeleteFunc(sorted(f.permitted), func(a string) bool { return slices.Contains(h.Anomalies, a) })
	h.RuledOut, h.AlsoNot = weakest(f.ruledOut)
	return h, nil
}

// weakest separates the models that include no other of them from the rest, each sorted.
func weakest(models []cycle.Model) (least, others []string) {
	for _, m := range models {
		if slices.ContainsFunc(models, func(other cycle.Model) bool { return other != m && m.Includes(other) }) {
			others = append(others, string(m))
		} else {
			least = append(least, string(m))
		}
	}
	return sorted(least), sorted(others)
}

// sorted sorts words and removes duplicates.
func sorted(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
