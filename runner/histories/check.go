// Package histories judges histories that other tools recorded. It reads a file, finds its kind,
// asks the kind's checker, and looks for the smallest part that is still convicted.
//
// It must not know runs, workloads, drivers or clusters.
package histories

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/check/cycle"
	"assay/check/recorded"
	"assay/check/register"
	"assay/history"
	"assay/history/exchange"
	"assay/report"
	"assay/store"
)

// Options is how a history is judged.
type Options struct {
	// Test is the kind of history, one of TestNames; empty lets the operations tell it.
	Test string
	// Model is a consistency model; empty means the strictest that fits the history.
	Model string
	// Assume names assumptions about the order of writes to a key; see cycle.Assumptions. Only
	// transactions may have them, and not wfr-keys over lists, whose reads show the order.
	Assume []string
	// Initial is the initial value of each register, as EDN; empty means nil. Total is the sum
	// of a bank's accounts; nil means the sum that most reads saw. Both are refused for other
	// kinds of histories.
	Initial string
	Total   *int64
	// Accounts are a bank's accounts, as EDN; a..b are the whole numbers from a to b. Every
	// read must show exactly these. NegativeBalances allows balances below zero. Both are
	// refused for other kinds of histories.
	Accounts         []string
	NegativeBalances bool
	// Timeout bounds the search. What it does not find is unknown.
	Timeout time.Duration
	// Memory bounds the search for an order of a register's operations, in bytes; 0 means half
	// of the machine's or the control group's memory. It is refused for other kinds.
	Memory int64
	// Explain finds the smallest part of a history of single operations for each anomaly. For
	// transactions this is always done.
	Explain bool
	// Read, if not nil, is told how many bytes of the file were read, and of how many; 0 if
	// unknown. Other goroutines may call it, but never two at once.
	Read func(done, total int64)

	keep *kept // where the smallest parts go; nil for nowhere
}

type kept struct {
	smallest []Smallest
	kind     exchange.Kind
}

// add does nothing if k is nil.
func (k *kept) add(found []Smallest, kind exchange.Kind) {
	if k != nil {
		k.smallest, k.kind = found, kind
	}
}

// Check judges the history in a file, or on standard input if path is StandardInput. Errors are a
// *report.InputError for a missing or malformed file and for options that do not fit it, a
// *store.OptionError for an invalid option, and an *InterruptedError if ctx ends while the history
// is read. A blocked read of standard input then stays behind.
func Check(ctx context.Context, path string, o Options) (report.History, error) {
	if err := o.parse(); err != nil {
		return report.History{}, err
	}
	file, err := openHistory(ctx, path)
	if err != nil {
		return report.History{}, historyError(ctx, path, err)
	}
	h, err := judgeHistory(ctx, counted(file, path, o.Read), o)
	h.Path = nameOf(path)
	return h, errors.Join(historyError(ctx, path, err), file.Close())
}

// Reduce judges a history as Check does. If it is violated, Reduce returns its kind and the
// smallest part for each anomaly.
func Reduce(ctx context.Context, path string, o Options) (judged report.History, kind exchange.Kind, found []Smallest, err error) {
	o.keep = &kept{}
	judged, err = Check(ctx, path, o)
	return judged, o.keep.kind, o.keep.smallest, err
}

// ReduceOperations is Reduce for operations of this kind, at least one.
func ReduceOperations(ctx context.Context, kind exchange.Kind, all []*exchange.Operation, o Options) (judged report.History, found []Smallest, err error) {
	judged, err = judgeKind(ctx, kind, &replay{all[1:]}, all[0], o)
	if err == nil && judged.Verdict == check.Violated {
		found = reduceOperations(ctx, kind, all, &judged, o)
	}
	return judged, found, err
}

// parse checks the options and normalizes values and names.
func (o *Options) parse() error {
	if o.Test != "" && !slices.Contains(TestNames(), o.Test) {
		return &store.OptionError{Option: "--test", Value: o.Test, Want: allTests()}
	}
	if o.Model != "" && o.Model != modelLinearizable {
		model, err := cycle.ParseModel(o.Model)
		if err != nil {
			return &store.OptionError{Option: "--model", Value: o.Model, Want: cycle.ModelNames()}
		}
		o.Model = string(model)
	}
	for _, name := range o.Assume {
		if !new(cycle.Options).Assume(name) {
			return &store.OptionError{Option: "--assume", Value: name, Want: strings.Join(cycle.Assumptions(), ", ")}
		}
	}
	if o.Initial != "" {
		value, err := exchange.ParseAtom(o.Initial)
		if err != nil {
			return &store.OptionError{Option: "--initial", Value: o.Initial, Want: `one value as EDN writes it, such as nil, 0, true, "text" or :word`}
		}
		o.Initial = value.String()
	}
	return o.parseAccounts()
}

func judgeHistory(ctx context.Context, source io.Reader, o Options) (report.History, error) {
	reader, err := exchange.NewReader(source)
	if err != nil {
		return report.History{}, err
	}
	switch {
	case slices.Contains(typedTests(), o.Test):
		reader.Typed(kindNamed(o.Test))
	case o.Test != "":
		reader.Untyped()
	}
	kind, err := reader.Decide()
	if err != nil {
		return report.History{}, err
	}
	first, err := reader.Next()
	if errors.Is(err, io.EOF) {
		return report.History{
			Format: reader.Format().String(), Verdict: check.Unknown, Reason: "the history has no operations: nothing was put to the test",
		}, nil
	}
	if err != nil {
		return report.History{}, err
	}
	if err := o.fit(kind); err != nil {
		return report.History{}, err
	}
	f, err := judgeAndReduce(ctx, kind, reader, first, o)
	if now := reader.Kind(); now != exchange.NoKind { // a later operation may have told more
		kind = now
	}
	if f.Kind == "" {
		f.Kind = kind.String()
	}
	f.Format, f.Asked = reader.Format().String(), o.Model != ""
	if err == nil {
		sayWhatOrderIsUnknown(&f, reader.Unnamed(), reader.Uninvoked())
	}
	return f, err
}

func kindNamed(name string) exchange.Kind {
	for kind := exchange.ListAppend; kind < exchange.AsWritten; kind++ {
		if kind.String() == name {
			return kind
		}
	}
	return exchange.NoKind
}

// operations are the operations of a history. After the last, Next returns io.EOF. Its result is
// valid until its next call.
type operations interface {
	Next() (*exchange.Operation, error)
}

// judgeAndReduce judges a history and, on demand, finds the smallest part for each anomaly.
func judgeAndReduce(ctx context.Context, kind exchange.Kind, rest operations, first *exchange.Operation, o Options) (report.History, error) {
	if kind.Transactions() || kind == exchange.NoKind || !o.Explain && o.keep == nil {
		return judgeKind(ctx, kind, rest, first, o)
	}
	kept := recorder{operations: rest, room: MostKept}
	kept.keep(first)
	f, err := judgeKind(ctx, kind, &kept, first, o)
	if err != nil || f.Verdict != check.Violated {
		return f, err
	}
	if o.keep == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cycle.SmallestTime)
		defer cancel()
	}
	found := reduceOperations(ctx, kind, kept.kept, &f, o)
	attach(&f, found)
	o.keep.add(found, kind)
	return f, nil
}

// judgeKind judges operations by the rules of their kind. first was already taken from rest.
func judgeKind(ctx context.Context, kind exchange.Kind, rest operations, first *exchange.Operation, o Options) (report.History, error) {
	switch kind {
	case exchange.Register:
		return judgeRegisters(ctx, rest, first, o)
	case exchange.Bank:
		return judgeBalances(ctx, rest, first, o)
	case exchange.AsWritten:
		return judgeAsWritten(ctx, rest, first, o)
	default:
		return judgeTransactions(ctx, rest, first, o)
	}
}

// fit refuses options that mean nothing for a history of this kind.
func (o *Options) fit(kind exchange.Kind) error {
	own := kind == exchange.Register || kind == exchange.Bank || kind == exchange.AsWritten
	name := kind.String()
	switch {
	case o.Model == modelLinearizable && kind.Transactions():
		return fmt.Errorf("holds a history of kind %s, for which --model is one of %s", name, cycle.ModelNames())
	case o.Model != "" && (kind == exchange.Bank || kind == exchange.Register && o.Model != modelLinearizable):
		return fmt.Errorf("holds a history of kind %s, which is judged by its own rule; leave --model out", kind)
	case len(o.Assume) > 0 && own:
		return fmt.Errorf("holds a history of kind %s; --assume goes with transactions, leave it out", kind)
	case slices.Contains(o.Assume, "wfr-keys") && kind == exchange.ListAppend:
		return fmt.Errorf("holds a history of kind %s, whose reads show what was appended after what; wfr-keys goes with one of kind %s, leave it out",
			kind, exchange.ReadWrite)
	case o.Initial != "" && kind != exchange.Register:
		return fmt.Errorf("holds a history of kind %s; --initial goes with one of kind %s, leave it out", kind, exchange.Register)
	case o.Memory != 0 && kind != exchange.Register:
		return fmt.Errorf("holds a history of kind %s; --memory goes with one of kind %s, leave it out", kind, exchange.Register)
	case kind == exchange.Bank:
	case o.Total != nil:
		return fmt.Errorf("holds a history of kind %s; --total goes with one of kind %s, leave it out", kind, exchange.Bank)
	case len(o.Accounts) > 0:
		return fmt.Errorf("holds a history of kind %s; --accounts goes with one of kind %s, leave it out", kind, exchange.Bank)
	case o.NegativeBalances:
		return fmt.Errorf("holds a history of kind %s; --negative-balances goes with one of kind %s, leave it out", kind, exchange.Bank)
	}
	return nil
}

// The models of histories without transactions.
const (
	modelLinearizable = "linearizable"
	modelBank         = "bank"
)

func eachOperation(rest operations, first *exchange.Operation, visit func(*exchange.Operation) error) error {
	for op, err := first, error(nil); ; op, err = rest.Next() {
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(op); err != nil {
			return &exchange.FormatError{Line: op.Line, Column: op.Column, Reason: err.Error()}
		}
	}
}

// judgeRegisters judges single registers for linearizability.
func judgeRegisters(ctx context.Context, rest operations, first *exchange.Operation, o Options) (report.History, error) {
	var h register.History
	kinds := map[exchange.Function]register.Kind{
		exchange.Read: register.Read, exchange.Write: register.Write, exchange.CompareAndSet: register.CompareAndSet,
	}
	var keyed *bool // the operations name a key
	err := eachOperation(rest, first, func(op *exchange.Operation) error {
		if op.Function != exchange.Read || op.Outcome == history.Committed { // such a read may name its key in the answer alone
			if keyed == nil {
				keyed = new(op.Keyed)
			}
			if *keyed != op.Keyed {
				return errors.New("an operation with a key among others without one, or the other way round; name the key of each operation, or of none")
			}
		}
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
	memory := o.Memory
	if memory == 0 {
		memory = searchMemory(ctx)
	}
	return single(modelLinearizable, register.Check(ctx, &h, register.Options{Initial: o.Initial, Memory: memory})), nil
}

// judgeBalances judges a bank, or one for each independent key.
func judgeBalances(ctx context.Context, rest operations, first *exchange.Operation, o Options) (report.History, error) {
	judge := judgeOf(first, recorded.Bank{Total: o.Total, NegativeAllowed: o.NegativeBalances, Accounts: o.Accounts}.Open)
	told := o.Test != "" || o.Total != nil || len(o.Accounts) > 0 || o.NegativeBalances
	err := eachOperation(rest, first, func(op *exchange.Operation) error {
		told = told || op.Function == exchange.Transfer || op.Function == exchange.ReadAccounts && !op.Listed
		return judge.Add(op)
	})
	if err != nil {
		return report.History{}, err
	}
	if !told {
		return report.History{}, errors.New("holds reads alone that are answered with lists, as histories of several kinds are; " +
			"say with --test which it is: bank, register, set, set-full")
	}
	return single(modelBank, judge.Result(ctx)), nil
}

// single is the answer of a check without a lattice of models.
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
