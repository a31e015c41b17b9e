package histories

import (
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
		var refused error
		left = slices.DeleteFunc(left, func(c candidate) bool {
			err := c.judge.Add(op)
			if err != nil && refused == nil {
				refused = err
			}
			return err != nil
		})
		if len(left) > 0 {
			return nil
		}
		if op.Line == first.Line && o.Test == "" {
			key := ""
			if op.Keyed {
				key = " and the key " + op.Key.String()
			}
			return fmt.Errorf("operations of the function :%s with the value %s%s are of no kind that is known; name it with --test: %s",
				op.Word, op.Request.String(), key, allTests())
		}
		return refused
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

// judgeOf returns a judge for the history of a first operation, or one for each independent key.
func judgeOf(first *exchange.Operation, open func() recorded.Judge) recorded.Judge {
	if first.Keyed {
		return recorded.NewKeyed(open)
	}
	return open()
}
