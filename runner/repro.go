package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
	"assay/report"
	"assay/runner/histories"
	"assay/workload/definition"
)

// ReproOptions says how Reproduce searches and what it writes.
type ReproOptions struct {
	// Options says how the history is judged. Timeout bounds the whole search. A run's folder
	// allows only Timeout and Model.
	histories.Options
	// Out is the file to write, which must not exist.
	Out    string
	Format exchange.Format
}

// Reproduction is a smallest history, written to a file and judged again from there.
type Reproduction struct {
	Kind string
	// Evidence includes the excerpt that was written.
	Evidence check.Evidence
	// Arguments judge the file with assay check; nil if there are only the statements that
	// were sent, and no file.
	Arguments []string
	// Conviction supports a broken promise of the vendor; nil if none was broken.
	Conviction *report.Conviction
}

type NothingError struct {
	Path, Reason string
}

func (e *NothingError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Reason) }

// Reproduce finds and writes the smallest history that is convicted like the history in a file
// or the run in a folder. It returns a *NothingError, and writes nothing, if there is no
// violation or no smaller history. Other errors are those of histories.Check and a
// *history.WriteError.
func Reproduce(ctx context.Context, path string, o ReproOptions) (Reproduction, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	var (
		found      []histories.Smallest
		kind       string
		conviction *report.Conviction
		err        error
	)
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		r := sentIn(path)
		if r.Kind != "" {
			return r, nil
		}
		conviction = r.Conviction
		kind, found, err = reduceRun(ctx, path, &o)
	} else {
		kind, found, err = reduceFile(ctx, path, &o)
	}
	if err != nil {
		return Reproduction{}, err
	}
	s := histories.Best(found)
	switch {
	case s == nil && ctx.Err() != nil:
		return Reproduction{}, &NothingError{path, "is violated, and the time was over, or assay interrupted, before a smaller history was found; allow more with --timeout"}
	case s == nil:
		return Reproduction{}, &NothingError{path, "is violated, and no smaller history was found that shows it"}
	}
	r := Reproduction{Conviction: conviction, Kind: kind, Evidence: check.Evidence{Kind: s.Anomaly, Text: s.Excerpt.Why, Smallest: &s.Excerpt}}
	r.Arguments = append([]string{o.Out}, o.arguments()...)
	if err := writeOperations(o.Out, o.Format, s.Operations); err != nil {
		return Reproduction{}, err
	}
	if err := verifyWritten(ctx, s.Anomaly, o); err != nil {
		return Reproduction{}, errors.Join(err, os.Remove(o.Out))
	}
	return r, nil
}

// sentIn returns a run's conviction and, if some evidence has the statements of transactions and
// no history that other tools know, that evidence.
func sentIn(folder string) (out Reproduction) {
	_, r, err := readRun(folder)
	if err != nil {
		return out // reduceRun reports it
	}
	out.Conviction = r.Conviction
	for _, c := range r.Checks {
		for _, e := range c.Evidence {
			if out.Kind == "" && e.Smallest != nil && report.Noted(e.Smallest) {
				out.Kind, out.Evidence = c.Name, e
			}
		}
	}
	return out
}

// arguments are the flags of assay check that judge the history in the same way.
func (o *ReproOptions) arguments() []string {
	var flags []string
	if o.Test != "" {
		flags = append(flags, "--test", o.Test)
	}
	if o.Model != "" {
		flags = append(flags, "--model", o.Model)
	}
	if len(o.Assume) > 0 {
		flags = append(flags, "--assume", strings.Join(o.Assume, ","))
	}
	if o.Initial != "" {
		flags = append(flags, "--initial", o.Initial)
	}
	if len(o.Accounts) > 0 {
		flags = append(flags, "--accounts", strings.Join(o.Accounts, ","))
	}
	if o.NegativeBalances {
		flags = append(flags, "--negative-balances")
	}
	if o.Total != nil {
		flags = append(flags, "--total", strconv.FormatInt(*o.Total, 10))
	}
	return flags
}

func reduceFile(ctx context.Context, path string, o *ReproOptions) (string, []histories.Smallest, error) {
	judged, of, found, err := histories.Reduce(ctx, path, o.Options)
	if err != nil {
		return "", nil, err
	}
	if judged.Verdict != check.Violated {
		return "", nil, nothing(path, judged.Verdict, judged.Reason)
	}
	if of.Transactions() {
		o.Model = judged.Model
	}
	if of == exchange.AsWritten {
		o.Test = judged.Kind
	}
	return judged.Kind, found, nil
}

func nothing(path string, verdict check.Verdict, reason string) error {
	text := "nothing to reproduce: the verdict is " + verdict.String()
	if reason != "" {
		text += " (" + reason + ")"
	}
	return &NothingError{path, text}
}

func reduceRun(ctx context.Context, folder string, o *ReproOptions) (string, []histories.Smallest, error) {
	if o.Test != "" || len(o.Assume) > 0 || o.Initial != "" || o.Total != nil || len(o.Accounts) > 0 || o.NegativeBalances {
		return "", nil, &report.InputError{Path: folder, Err: errors.New("is a run's folder; --test, --assume, --initial, --total, --accounts and --negative-balances go with a history of another tool")}
	}
	s, r, err := readRun(folder)
	if err != nil {
		return "", nil, err
	}
	if of, is := s.Config.(definition.Reducing); is {
		return reduceTransactions(ctx, folder, s, of, r, o)
	}
	_, exports := s.Config.(definition.Exporting)
	switch {
	case o.Model != "":
		return "", nil, &report.InputError{Path: folder, Err: fmt.Errorf("holds a run of workload %s, which is judged by its own rules; leave --model out", s.Workload)}
	case r.Verdict != check.Violated && r.Verdict != check.Allowed:
		return "", nil, nothing(folder, r.Verdict, "")
	case exports:
		return reduceBank(ctx, folder, s, r, o)
	}
	return "", nil, noSmaller(folder, r.Checks, fmt.Sprintf("the checks of workload %s judge the state that was read back, not a history that other tools know", s.Workload))
}

// noSmaller is a *NothingError that quotes the evidence.
func noSmaller(folder string, checks []check.Result, why string) error {
	var named []string
	for _, c := range checks {
		if c.Found > 0 && len(c.Evidence) > 0 {
			named = append(named, fmt.Sprintf("%s: %s", c.Name, strings.TrimSuffix(c.Evidence[0].Text, ".")))
		}
	}
	return &NothingError{folder, fmt.Sprintf("is violated, and has no smaller history: %s. The evidence names what is wrong itself: %s", why, strings.Join(named, "; "))}
}

func reduceTransactions(ctx context.Context, folder string, s Scenario, of definition.Reducing, r *report.Result, o *ReproOptions) (string, []histories.Smallest, error) {
	end, err := readEnding(folder, r)
	if err != nil {
		return "", nil, err
	}
	if o.Model != "" {
		if _, err := (&RecheckOptions{Model: o.Model}).chooseModel(&s, r); err != nil {
			return "", nil, err
		}
	}
	e := definition.Evidence{
		History: filepath.Join(folder, FileHistory), State: filepath.Join(folder, s.definition().State), Promise: r.Database.Promise,
	}
	if !end.whole() {
		e.InFlight = "the run was cut"
	}
	reduced, err := of.Reduce(ctx, s.Load.Seed, e, o.Model)
	if err != nil {
		return "", nil, err
	}
	violated := slices.DeleteFunc(slices.Clone(reduced.Results), func(c check.Result) bool { return c.Verdict != check.Violated })
	switch {
	case len(reduced.Smallest) > 0:
		o.Model = string(reduced.Model)
		return "transactions", reduced.Smallest, nil
	case len(violated) == 0:
		return "", nil, nothing(folder, check.Combine(reduced.Results), "")
	case ctx.Err() != nil:
		return "", nil, nil
	}
	return "", nil, noSmaller(folder, violated, "what is wrong is not in transactions over lists or registers")
}

// reduceBank reduces a bank to its opening, one transfer and the last read, if that read has
// another total.
func reduceBank(ctx context.Context, folder string, s Scenario, r *report.Result, o *ReproOptions) (string, []histories.Smallest, error) {
	const why = "the total of all accounts at the end is right, and other tools know a bank by its total alone"
	e, err := newExport(folder, s, "")
	if err != nil {
		return "", nil, err
	}
	if e.run.Rows() > histories.MostKept/2 {
		return "", nil, noSmaller(folder, r.Checks, "a read of so many accounts is not small")
	}
	var kept []*exchange.Operation
	keep := func(op *exchange.Operation) error {
		kept = append(kept, op.Clone())
		return nil
	}
	if err := e.extremes(keep); err != nil {
		return "", nil, err
	}
	var total int64
	if len(kept) < 3 {
		return "", nil, noSmaller(folder, r.Checks, why)
	}
	for _, a := range kept[0].Accounts {
		total += a.Balance
	}
	o.Total = &total
	judged, found, err := histories.ReduceOperations(ctx, exchange.Bank, kept, o.Options)
	if err != nil {
		return "", nil, err
	}
	if judged.Verdict != check.Violated {
		return "", nil, noSmaller(folder, r.Checks, why)
	}
	for i := range found {
		found[i].Excerpt.Of, found[i].Excerpt.Clock = r.Outcomes.Total(), check.Nanoseconds
	}
	return exchange.Bank.String(), found, nil
}

func writeOperations(path string, format exchange.Format, ops []exchange.Operation) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return &history.WriteError{Path: path, Err: err}
	}
	if err = errors.Join(histories.Encode(file, format, ops), file.Close()); err != nil {
		return errors.Join(&history.WriteError{Path: path, Err: err}, os.Remove(path))
	}
	return nil
}

func verifyWritten(ctx context.Context, anomaly string, o ReproOptions) error {
	judged, err := histories.Check(ctx, o.Out, o.Options)
	if err != nil {
		return err
	}
	if judged.Verdict != check.Violated || !slices.Contains(judged.Anomalies, anomaly) {
		return &NothingError{o.Out, fmt.Sprintf("was to show %s and is judged %s when it is read again, so it was not kept; "+
			"allow more time with --timeout, or report this as a fault of assay", anomaly, judged.Verdict)}
	}
	return nil
}
