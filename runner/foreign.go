package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"assay/check"
	"assay/check/cycle"
	"assay/history/exchange"
	"assay/report"
	"assay/workload"
)

// Foreign is the judgement of another tool's history.
type Foreign struct {
	// Format and Kind are how it is written and what it is a history of.
	Format string `json:"format"`
	Kind   string `json:"kind"`
	// Model is what it was held against; Asked is true if the user named it.
	Model string `json:"model"`
	Asked bool   `json:"asked"`
	// Promise is what the vendor of the database promises: nobody knows, of a
	// history that another tool recorded.
	Promise report.Promise `json:"promise"`
	Verdict check.Verdict  `json:"verdict"`
	// Reason says why the verdict is unknown; empty otherwise.
	Reason string `json:"reason,omitempty"`
	// Anomalies are the names of those found that the model forbids, Permitted
	// of those that it allows.
	Anomalies []string `json:"anomalies"`
	Permitted []string `json:"permitted"`
	// RuledOut are the weakest models that are ruled out, AlsoNot those above.
	RuledOut []string `json:"ruled_out"`
	AlsoNot  []string `json:"also_not"`
	// Evidence proves the anomalies, one of each.
	Evidence []check.Evidence `json:"evidence"`
	// Detail is one sentence with figures.
	Detail string `json:"detail"`
}

// ForeignOptions is how another tool's history is judged.
type ForeignOptions struct {
	// Model is a consistency model by name; empty means the strictest that
	// fits the history.
	Model string
	// Initial is what each register held before the first write, as EDN writes
	// it; empty means nil. Total is what the accounts of a bank must add up to;
	// nil means the total that most reads saw. Both are refused for a history
	// of another kind.
	Initial string
	Total   *int64
	// Timeout bounds the search; what is not found by then is unknown.
	Timeout time.Duration
}

// CheckForeign judges the history in a file. A file that is missing or
// malformed, or that an option does not fit, gives an *InputError, an option
// that cannot be understood a *workload.OptionError.
func CheckForeign(ctx context.Context, path string, o ForeignOptions) (Foreign, error) {
	if o.Model != "" {
		if _, err := cycle.ParseModel(o.Model); err != nil {
			return Foreign{}, &workload.OptionError{Option: "--model", Value: o.Model, Want: cycle.ModelNames()}
		}
	}
	if o.Initial != "" {
		value, err := exchange.ParseAtom(o.Initial)
		if err != nil {
			return Foreign{}, &workload.OptionError{Option: "--initial", Value: o.Initial, Want: `one value as EDN writes it, such as nil, 0, true, "text" or :word`}
		}
		o.Initial = value.String()
	}
	file, err := os.Open(path)
	if err != nil {
		return Foreign{}, &InputError{Path: path, Err: fmt.Errorf("cannot be read: %w", errors.Unwrap(err))}
	}
	f, err := judgeForeign(ctx, file, o)
	if err != nil {
		err = &InputError{Path: path, Err: err}
	}
	return f, errors.Join(err, file.Close())
}

func judgeForeign(ctx context.Context, source io.Reader, o ForeignOptions) (Foreign, error) {
	reader, err := exchange.NewReader(source)
	if err != nil {
		return Foreign{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	kind, err := reader.Decide()
	if err != nil {
		return Foreign{}, err
	}
	first, err := reader.Next()
	if errors.Is(err, io.EOF) {
		return Foreign{
			Format: reader.Format().String(), Verdict: check.Unknown, Reason: "the history has no operations",
		}.filled(), nil
	}
	if err != nil {
		return Foreign{}, err
	}
	var f Foreign
	if err := o.fit(kind); err != nil {
		return Foreign{}, err
	}
	switch kind {
	case exchange.Register:
		f, err = foreignRegisters(ctx, reader, first, o)
	case exchange.Bank:
		f, err = foreignBank(reader, first, o)
	default:
		f, err = foreignTransactions(ctx, reader, first, o)
	}
	f.Format, f.Kind, f.Asked = reader.Format().String(), reader.Kind().String(), o.Model != ""
	return f.filled(), err
}

// fit refuses what says nothing about a history of this kind.
func (o *ForeignOptions) fit(kind exchange.Kind) error {
	switch {
	case o.Model != "" && (kind == exchange.Register || kind == exchange.Bank):
		return fmt.Errorf("holds a history of kind %s, which is judged by its own rule; leave --model out", kind)
	case o.Initial != "" && kind != exchange.Register:
		return fmt.Errorf("holds a history of kind %s; --initial goes with one of kind %s, leave it out", kind, exchange.Register)
	case o.Total != nil && kind != exchange.Bank:
		return fmt.Errorf("holds a history of kind %s; --total goes with one of kind %s, leave it out", kind, exchange.Bank)
	}
	return nil
}

// filled has no list that is nil, so that JSON has [].
func (f Foreign) filled() Foreign {
	for _, list := range []*[]string{&f.Anomalies, &f.Permitted, &f.RuledOut, &f.AlsoNot} {
		if *list == nil {
			*list = []string{}
		}
	}
	if f.Evidence == nil {
		f.Evidence = []check.Evidence{}
	}
	return f
}

// foreignTransactions judges transactions over lists or registers.
func foreignTransactions(ctx context.Context, reader *exchange.Reader, first *exchange.Operation, o ForeignOptions) (Foreign, error) {
	model := cycle.StrictSerializable
	if o.Model != "" {
		var err error
		if model, err = cycle.ParseModel(o.Model); err != nil {
			return Foreign{}, err
		}
	}
	var transactions cycle.Reader
	if err := each(reader, first, transactions.Add); err != nil {
		return Foreign{}, err
	}
	found := cycle.Check(ctx, transactions.History(), model, cycle.Options{})
	result := found.Result()
	return Foreign{
		Model: string(model), Verdict: found.Verdict, Reason: found.Reason, Anomalies: found.Anomalies,
		Permitted: found.Permitted, RuledOut: names(found.Not), AlsoNot: names(found.AlsoNot),
		Evidence: result.Evidence, Detail: result.Detail,
	}, nil
}

func names(models []cycle.Model) []string {
	var out []string
	for _, m := range models {
		out = append(out, string(m))
	}
	slices.Sort(out)
	return out
}
