package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/history/exchange"
	"assay/report"
)

// candidate is a form that a history may have, and the judge of it.
type candidate struct {
	test  historyTest
	judge historyJudge
}

// candidates returns the forms that a history may have: those of the kind that
// was asked for, or all that need not be asked for.
func (o *HistoryOptions) candidates() []candidate {
	var all []candidate
	for _, test := range historyTests() {
		if o.Test == "" && test.asked || o.Test != "" && !slices.Contains(test.names, o.Test) {
			continue
		}
		open := func() historyJudge { return test.open(o.Test, o.Model) }
		all = append(all, candidate{test, open()})
		if test.keyed {
			all = append(all, candidate{test, newKeyedJudge(open)})
		}
	}
	return all
}

// judgeAsWritten judges a history of a kind that package exchange does not know.
// The kind is the one whose judge takes all operations. An operation that none
// takes is malformed; more than one kind is an error that names them.
func judgeAsWritten(ctx context.Context, reader operations, first *exchange.Operation, o HistoryOptions) (report.History, error) {
	left := o.candidates()
	err := each(reader, first, func(op *exchange.Operation) error {
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
			return fmt.Errorf("operations of the function :%s with the value %s are of no kind that is known; name it with --test: %s",
				op.Word, op.Request.String(), allTests())
		}
		return refused
	})
	if err != nil {
		return report.History{}, err
	}
	left = slices.DeleteFunc(left, func(c candidate) bool { // values and pairs of values, where there was no value
		keyed, ok := c.judge.(*keyedJudge)
		return ok && len(keyed.keys) == 0
	})
	if len(left) > 1 {
		return report.History{}, fmt.Errorf("holds operations that several kinds of histories have; say with --test which it is: %s", namesOf(left))
	}
	if models := left[0].test.models; o.Model != "" && !slices.Contains(models, o.Model) {
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
