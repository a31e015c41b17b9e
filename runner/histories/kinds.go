package histories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/recorded"
	"assay/history/exchange"
	"assay/report"
)

const kindCounter = "counter"

// typedTests are the kinds that package exchange knows.
func typedTests() []string {
	return []string{exchange.ListAppend.String(), exchange.ReadWrite.String(), exchange.Register.String(), exchange.Bank.String()}
}

// TestNames returns the names of kinds of histories, sorted.
func TestNames() []string {
	names := typedTests()
	for _, c := range recorded.Checkers() {
		names = append(names, c.Names...)
	}
	slices.Sort(names)
	return names
}

func namesOf(tests []candidate) string {
	var names []string
	for i := range tests {
		names = append(names, tests[i].checker.Names...)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func allTests() string { return strings.Join(TestNames(), ", ") }

// candidate is a form that a history may have, with its judge.
type candidate struct {
	checker recorded.Checker
	judge   recorded.Judge
}

// candidates are the forms of the kind that was asked for, or all forms that need no asking.
func (o *Options) candidates() []candidate {
	var all []candidate
	for _, c := range recorded.Checkers() {
		if o.Test == "" && c.Asked || o.Test != "" && !slices.Contains(c.Names, o.Test) {
			continue
		}
		all = append(all, candidate{c, c.Open(o.Test, o.Model)})
		if c.Keyed {
			all = append(all, candidate{c, c.OpenKeyed(o.Test, o.Model)})
		}
	}
	return all
}

// judgeAsWritten judges a history of a kind that package exchange does not know: the kind whose
// judge takes all operations. An operation that no judge takes is malformed. Several kinds give
// an error that names them.
func judgeAsWritten(ctx context.Context, reader operations, first *exchange.Operation, o Options) (report.History, error) {
	left := o.candidates()
	err := eachOperation(reader, first, func(op *exchange.Operation) error {
		var refused refusals
		left = slices.DeleteFunc(left, func(c candidate) bool {
			err := c.judge.Add(op)
			if keyed, ok := c.judge.(*recorded.Keyed); err != nil && (!ok || keyed.Keys() > 0) { // else values are no pairs anyway
				refused.add(c.checker.Names[0], err)
			}
			return err != nil
		})
		if len(left) > 0 {
			return nil
		}
		if refused.unknown() && op.ID() == first.ID() && o.Test == "" {
			key := ""
			if op.Keyed {
				key = " and the key " + op.Key.String()
			}
			return fmt.Errorf("operations of the function :%s with the value %s%s are of no kind that is known; name it with --test: %s",
				op.Word, op.Request.String(), key, allTests())
		}
		return refused.reason()
	})
	if err != nil {
		return report.History{}, err
	}
	left = slices.DeleteFunc(left, func(c candidate) bool { // values and pairs of values, where there was no value
		keyed, ok := c.judge.(*recorded.Keyed)
		return ok && keyed.Keys() == 0
	})
	if len(left) > 1 {
		return report.History{}, fmt.Errorf("holds operations that several kinds of histories have; say with --test which it is: %s", namesOf(left))
	}
	if models := left[0].checker.Models; o.Model != "" && !slices.Contains(models, o.Model) {
		text := "holds a history of kind " + namesOf(left) + ", which is judged by its own rule; leave --model out"
		if len(models) > 0 {
			text += ", or give " + strings.Join(models, " or ")
		}
		return report.History{}, errors.New(text)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	r := left[0].judge.Result(ctx)
	h := single(r.Name, r)
	h.Kind = r.Name
	if o.Model != "" {
		h.Model = o.Model
	}
	if h.Verdict == check.Violated {
		h.RuledOut = []string{h.Model}
	}
	return h, nil
}

// refusals are why an operation is of none of the kinds that the history may have.
type refusals struct {
	kinds  []string
	errors []error
}

func (r *refusals) add(kind string, err error) {
	r.kinds, r.errors = append(r.kinds, kind), append(r.errors, err)
}

// unknown reports whether no kind has the operation's function.
func (r *refusals) unknown() bool {
	return !slices.ContainsFunc(r.errors, func(err error) bool { return !errors.As(err, new(*recorded.UnknownFunctionError)) })
}

// reason says what those kinds want that have the operation's function, or else the first reason.
func (r *refusals) reason() error {
	const most = 4
	var wants []string // with the kinds that want it
	var operation string
	other := errors.New("an operation of another kind than those before it")
	if len(r.errors) > 0 {
		other = r.errors[0]
	}
	for i, err := range r.errors {
		var unfit *recorded.UnfitError
		switch {
		case errors.As(err, &unfit):
			operation = cmp.Or(operation, unfit.Operation)
			at := slices.IndexFunc(wants, func(w string) bool { return strings.HasPrefix(w, unfit.Want+" (") })
			switch {
			case at >= 0 && !strings.Contains(wants[at], r.kinds[i]):
				wants[at] = strings.TrimSuffix(wants[at], ")") + ", " + r.kinds[i] + ")"
			case at < 0:
				wants = append(wants, unfit.Want+" ("+r.kinds[i]+")")
			}
		case errors.As(other, new(*recorded.UnknownFunctionError)):
			other = err
		}
	}
	switch {
	case len(wants) == 0:
		return other
	case len(wants) == 1:
		at := strings.LastIndex(wants[0], " (")
		return &recorded.UnfitError{Operation: operation, Want: wants[0][:at]}
	case len(wants) > most:
		wants = append(wants[:most], "values of another kind, which --test names")
	}
	return &recorded.UnfitError{Operation: operation, Want: strings.Join(wants, ", or ")}
}

// judgeOf returns a judge for the history of a first operation, or one for each independent key.
func judgeOf(first *exchange.Operation, open func() recorded.Judge) recorded.Judge {
	if first.Keyed {
		return recorded.NewKeyed(open)
	}
	return open()
}
