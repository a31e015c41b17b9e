package runner

import (
	"context"
	"errors"
	"io"
	"slices"

	"assay/check"
	"assay/check/balances"
	"assay/check/register"
	"assay/history"
	"assay/history/exchange"
	"assay/report"
)

// The names under which histories without transactions are judged.
const (
	modelLinearizable = "linearizable"
	modelBank         = "bank"
)

// each hands on an operation that was read already and then all others.
func each(rest operations, first *exchange.Operation, visit func(*exchange.Operation) error) error {
	for op, err := first, error(nil); ; op, err = rest.Next() {
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(op); err != nil {
			return &exchange.FormatError{Line: op.Line, Reason: err.Error()}
		}
	}
}

// judgeRegisters judges single registers for linearizability.
func judgeRegisters(ctx context.Context, rest operations, first *exchange.Operation, o HistoryOptions) (report.History, error) {
	var h register.History
	kinds := map[exchange.Function]register.Kind{
		exchange.Read: register.Read, exchange.Write: register.Write, exchange.CompareAndSet: register.CompareAndSet,
	}
	err := each(rest, first, func(op *exchange.Operation) error {
		out := register.Op{
			ID: op.ID(), Process: op.Process, Kind: kinds[op.Function], Value: op.Value.String(), From: op.From.String(),
			Invoke: op.Invoke, Complete: op.Complete, InvokeTime: op.InvokeTime, CompleteTime: op.CompleteTime,
			Outcome: op.Outcome,
		}
		if op.Keyed {
			out.Key = op.Key.String()
		}
		return h.Add(out)
	})
	if err != nil {
		return report.History{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	return single(modelLinearizable, register.Check(ctx, &h, register.Options{Initial: o.Initial})), nil
}

// bankJudge judges reads of all accounts by their total.
type bankJudge struct {
	*balances.Judge
	read balances.Read
}

// Add takes the next transfer or read.
func (j *bankJudge) Add(op *exchange.Operation) error {
	switch {
	case op.Keyed:
		return errKeyed(op)
	case op.Function == exchange.Transfer:
		j.Transfer(op.Outcome)
		if op.Outcome == history.Committed {
			j.Account(op.Movement.From.String())
			j.Account(op.Movement.To.String())
		}
	case op.Function == exchange.ReadAccounts && op.Outcome == history.Committed:
		j.read = balances.Read{
			ID: op.ID(), Process: op.Process, Invoke: op.InvokeTime, Complete: op.CompleteTime, Accounts: j.read.Accounts[:0],
		}
		for _, a := range op.Accounts {
			j.read.Accounts = append(j.read.Accounts, balances.Account{ID: a.ID.String(), Balance: a.Balance, Missing: a.Missing})
		}
		j.Read(&j.read)
	default: // a read that did not come back with any account
		j.Unanswered()
	}
	return nil
}

// Result returns the answer over all reads.
func (j *bankJudge) Result(context.Context) check.Result { return j.Judge.Result() }

// judgeBalances judges a bank, or one for each independent key.
func judgeBalances(ctx context.Context, rest operations, first *exchange.Operation, o HistoryOptions) (report.History, error) {
	known := balances.Options{TotalKnown: o.Total != nil, NegativeAllowed: o.NegativeBalances, Accounts: o.Accounts}
	if known.TotalKnown {
		known.Total = *o.Total
	}
	judge := judgeOf(first, func() historyJudge { return &bankJudge{Judge: balances.New(known)} })
	if err := each(rest, first, judge.Add); err != nil {
		return report.History{}, err
	}
	return single(modelBank, judge.Result(ctx)), nil
}

// single is the answer of one check that has no lattice of models.
func single(model string, r check.Result) report.History {
	f := report.History{Model: model, Verdict: r.Verdict, Evidence: r.Evidence, Detail: r.Detail}
	if r.Verdict == check.Unknown {
		f.Reason = r.Detail
	}
	for _, e := range r.Evidence {
		if !slices.Contains(f.Anomalies, e.Kind) {
			f.Anomalies = append(f.Anomalies, e.Kind)
		}
	}
	if r.Verdict == check.Violated {
		f.RuledOut = []string{model}
	}
	slices.Sort(f.Anomalies)
	return f
}
