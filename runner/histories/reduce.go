package histories

import (
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"assay/check"
	"assay/check/cycle"
	"assay/check/reduce"
	"assay/history"
	"assay/history/exchange"
	"assay/report"
)

// MostKept bounds the operations, and the accounts in their reads, of a history that is reduced
// operation by operation. Transactions have no such bound: see cycle.FindSmallest.
const MostKept = 1 << 20

// maxShownParts bounds a smallest history. A counter's may need all additions.
const maxShownParts = 1000

// recorder keeps the operations that it passes on.
type recorder struct {
	operations
	kept []*exchange.Operation
	room int
}

func (r *recorder) Next() (*exchange.Operation, error) {
	op, err := r.operations.Next()
	if err == nil {
		r.keep(op)
	}
	return op, err
}

// keep drops all operations if there is no room.
func (r *recorder) keep(op *exchange.Operation) {
	if r.room -= 1 + len(op.Accounts); r.room < 0 {
		r.kept = nil
		return
	}
	r.kept = append(r.kept, op.Clone())
}

type replay struct{ rest []*exchange.Operation }

func (r *replay) Next() (*exchange.Operation, error) {
	if len(r.rest) == 0 {
		return nil, io.EOF
	}
	op := r.rest[0]
	r.rest = r.rest[1:]
	return op, nil
}

// Smallest is a small history with the same anomaly as a larger one.
type Smallest = cycle.Smallest

// reduction reduces a history of single operations for one anomaly by leaving out whole operations.
// The rest, judged like the whole, must show that anomaly and nothing that the whole does not.
// Operations that may explain those that are kept stay, too: see closed.
type reduction struct {
	ctx     context.Context
	kind    exchange.Kind
	o       Options
	all     []*exchange.Operation
	allowed []string
	anomaly string
	// found is the evidence of the whole history.
	found []check.Evidence
	// writers are the writes of a register's value, by key and value.
	writers map[[2]string][]int
	// quiet are the moments of a lock before which nothing matters; see quietMoments.
	quiet map[int64][]int64
}

// reduceOperations returns a small history for each anomaly that was found.
func reduceOperations(ctx context.Context, kind exchange.Kind, all []*exchange.Operation, judged *report.History, o Options) []Smallest {
	o.Explain, o.keep = false, nil
	if kind == exchange.AsWritten {
		o.Test = judged.Kind // some of the operations alone may be of several kinds
	}
	var found []Smallest
	for _, anomaly := range judged.Anomalies {
		r := &reduction{ctx: ctx, kind: kind, o: o, all: all, allowed: judged.Anomalies, anomaly: anomaly, found: judged.Evidence}
		r.index()
		parts, whole := reduce.Minimize(ctx, len(all), func(parts []int) bool { return r.judge(parts) != nil })
		if e := r.judge(parts); e != nil && len(r.closed(parts)) <= maxShownParts {
			found = append(found, r.describe(r.closed(parts), e, whole))
		}
	}
	return found
}

// judge returns the evidence of the anomaly; nil if there is none, or findings that the whole
// history does not have.
func (r *reduction) judge(parts []int) *check.Evidence {
	parts = r.closed(parts)
	if len(parts) == 0 {
		return nil
	}
	f, err := r.verdict(parts)
	if err != nil || f.Verdict != check.Violated {
		return nil
	}
	for _, name := range f.Anomalies {
		if !slices.Contains(r.allowed, name) {
			return nil
		}
	}
	return r.evidenceOf(f.Evidence)
}

func (r *reduction) verdict(parts []int) (report.History, error) {
	rest := make([]*exchange.Operation, len(parts))
	for i, n := range parts {
		rest[i] = r.all[n]
	}
	return judgeKind(r.ctx, r.kind, &replay{rest[1:]}, rest[0], r.o)
}

// operationNumber matches an operation's name in evidence.
var operationNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\boperation (\d+)`) })

func (r *reduction) describe(parts []int, e *check.Evidence, whole bool) Smallest {
	s := Smallest{Anomaly: r.anomaly, Excerpt: check.Excerpt{Of: int64(len(r.all)), Minimal: whole, Clock: check.Events}}
	names := map[string]string{}
	for _, i := range parts {
		s.Operations = append(s.Operations, *r.all[i])
	}
	slices.SortStableFunc(s.Operations, func(a, b exchange.Operation) int { return int(a.Invoke - b.Invoke) })
	for i := range s.Operations {
		op := &s.Operations[i]
		x := check.Operation{
			Name: fmt.Sprintf("T%d", i+1), ID: op.ID(), Process: op.Process, Invoke: op.Invoke, Complete: -1,
			Outcome: op.Outcome.String(), Steps: []string{stepText(op)},
		}
		if op.Complete != exchange.Never && op.Outcome != history.Unknown {
			x.Complete = op.Complete
		}
		names["operation "+strconv.FormatInt(x.ID, 10)] = x.Name
		s.Excerpt.Operations = append(s.Excerpt.Operations, x)
	}
	s.Excerpt.Why = operationNumber().ReplaceAllStringFunc(e.Text, func(word string) string {
		if name, known := names[word]; known {
			return name
		}
		return word
	}) + "."
	return s
}

func stepText(op *exchange.Operation) string {
	key := ""
	if op.Keyed {
		key = " of key " + op.Key.String()
	}
	switch op.Function {
	case exchange.Read:
		if op.Outcome != history.Committed {
			return "read the register" + key
		}
		return "read " + op.Value.String() + key
	case exchange.Write:
		return "write " + op.Value.String() + key
	case exchange.CompareAndSet:
		return "compare-and-set " + op.From.String() + " to " + op.Value.String() + key
	case exchange.Transfer:
		return fmt.Sprintf("transfer %d from %s to %s", op.Movement.Amount, op.Movement.From, op.Movement.To) + key
	case exchange.ReadAccounts:
		return "read " + accountsText(op.Accounts) + key
	case exchange.Other:
		value := &op.Request
		if op.Outcome == history.Committed && !op.Answer.IsNil() {
			value = &op.Answer
		}
		return op.Word + " " + value.String()
	default:
		return op.Function.String()
	}
}

func accountsText(accounts []exchange.Account) string {
	const most = 8
	var parts []string
	for _, a := range accounts[:min(len(accounts), most)] {
		balance := strconv.FormatInt(a.Balance, 10)
		if a.Missing {
			balance = "no balance"
		}
		parts = append(parts, a.ID.String()+": "+balance)
	}
	text := strings.Join(parts, ", ")
	if left := len(accounts) - most; left > 0 {
		text += " and " + check.Counted(int64(left), "more account", "more accounts")
	}
	return text
}

func attach(f *report.History, found []Smallest) {
	for i := range f.Evidence {
		for j := range found {
			if found[j].Anomaly == f.Evidence[i].Kind {
				f.Evidence[i].Smallest = &found[j].Excerpt
			}
		}
	}
}

// Best is the first history with the fewest operations.
func Best(all []Smallest) *Smallest {
	var least *Smallest
	size := math.MaxInt
	for i := range all {
		steps := 0
		for k := range all[i].Operations {
			steps += 1 + len(all[i].Operations[k].Txn)
		}
		if n := 1000*len(all[i].Operations) + steps; n < size {
			least, size = &all[i], n
		}
	}
	return least
}

// Encode writes a small history in this format. Operations without a process get one of their own.
func Encode(w io.Writer, format exchange.Format, ops []exchange.Operation) error {
	var (
		span    exchange.Span
		highest int64
	)
	for i := range ops {
		span.See(ops[i].Invoke, ops[i].Complete)
		highest = max(highest, ops[i].Process)
	}
	out, err := exchange.NewWriter(w, exchange.Output{Format: format, Processes: highest + 2, Window: span.Window()})
	if err != nil {
		return err
	}
	for i := range ops {
		op := ops[i]
		if op.Process < 0 { // the read at the end, which no client did
			op.Process = highest + 1
		}
		if op.Outcome == history.Rejected { // other tools know three outcomes; it had no effect
			op.Outcome = history.Failed
		}
		if err := out.Add(&op); err != nil {
			return err
		}
	}
	return out.Close()
}
