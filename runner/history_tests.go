package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/collections"
	"assay/check/cycle"
	"assay/check/locks"
	"assay/check/logs"
	"assay/check/multiregister"
	"assay/check/visibility"
	"assay/history"
	"assay/history/exchange"
	"assay/report"
)

// historyJudge judges a history of one kind, operation by operation.
type historyJudge interface {
	// Add takes the next operation, which is valid until Add returns. An error
	// means that histories of this kind have no such operation.
	Add(*exchange.Operation) error
	// Result returns the answer over all operations, by the name of the kind.
	Result(context.Context) check.Result
}

// historyTest is a form of histories that Jepsen's tests record, beside those
// that package exchange knows, and the kinds that have it.
type historyTest struct {
	names []string
	// open returns a judge of the kind of that name; "" leaves the kind to the
	// judge. The model is one of models, or "".
	open   func(name, model string) historyJudge
	models []string
	// keyed means that the values may be pairs of a key and a value
	// (jepsen.independent), each key judged by itself.
	keyed bool
	// asked means that the form is that of another kind, so that it must be asked
	// for by its name.
	asked bool
}

// kindCounter is the name of histories of a counter.
const kindCounter = "counter"

// typedTests are the kinds that package exchange knows.
func typedTests() []string {
	return []string{exchange.ListAppend.String(), exchange.ReadWrite.String(), exchange.Register.String(), exchange.Bank.String()}
}

func historyTests() []historyTest {
	return []historyTest{
		{names: []string{"set", "set-full"}, keyed: true, models: []string{modelLinearizable}, open: openSet},
		{names: []string{"queue", "total-queue"}, keyed: true, open: openQueue},
		{names: []string{kindCounter}, keyed: true, open: func(_, _ string) historyJudge { return collections.NewCounter() }},
		{names: []string{"unique-ids"}, keyed: true, open: func(_, _ string) historyJudge { return collections.NewUniqueIDs() }},
		{names: []string{"long-fork"}, open: func(_, _ string) historyJudge { return visibility.NewLongFork() }},
		{names: []string{"monotonic"}, keyed: true, open: func(_, _ string) historyJudge { return visibility.NewMonotonic() }},
		{names: []string{"sequential"}, open: func(_, _ string) historyJudge { return visibility.NewSequential() }},
		{names: []string{"comments"}, keyed: true, open: func(_, _ string) historyJudge { return visibility.NewComments() }},
		{names: []string{"adya-g2"}, open: func(_, _ string) historyJudge { return visibility.NewAdyaG2() }},
		{names: []string{"causal"}, keyed: true, open: func(_, _ string) historyJudge { return visibility.NewCausal() }},
		{names: []string{"kafka"}, models: []string{string(cycle.ReadUncommitted), string(cycle.ReadCommitted)}, open: openLog},
		{names: []string{"mutex"}, keyed: true, open: func(_, _ string) historyJudge { return locks.NewMutex() }},
		{names: []string{"owner-mutex", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex"}, keyed: true, asked: true, open: openOwned},
		{names: []string{"multi-register"}, keyed: true, open: func(_, _ string) historyJudge { return multiregister.New() }},
	}
}

func openSet(name, model string) historyJudge {
	o := collections.SetOptions{Linearizable: model == modelLinearizable}
	switch {
	case name == "set" && !o.Linearizable:
		o.Reads = collections.LastReads
	case name != "" || o.Linearizable:
		o.Reads = collections.AllReads
	}
	return collections.NewSet(o)
}

func openLog(_, model string) historyJudge {
	switch cycle.Model(model) {
	case cycle.ReadUncommitted:
		return logs.New(logs.Sends)
	case cycle.ReadCommitted:
		return logs.New(logs.SendsAndPolls)
	default:
		return logs.New(logs.Polls)
	}
}

func openOwned(name, _ string) historyJudge {
	return locks.NewOwned(locks.OwnedOptions{Reentrant: strings.HasPrefix(name, "reentrant"), Fenced: strings.Contains(name, "fenced")})
}

func openQueue(name, _ string) historyJudge {
	must := collections.AnyQueue
	switch name {
	case "queue":
		must = collections.UnorderedQueue
	case "total-queue":
		must = collections.TotalQueue
	}
	return collections.NewQueue(must)
}

// TestNames returns the kinds of histories that can be named, sorted.
func TestNames() []string {
	names := typedTests()
	for _, t := range historyTests() {
		names = append(names, t.names...)
	}
	slices.Sort(names)
	return names
}

// namesOf returns the kinds of some forms, for a message.
func namesOf(tests []candidate) string {
	var names []string
	for i := range tests {
		names = append(names, tests[i].test.names...)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// allTests are the kinds of histories, for a message.
func allTests() string { return strings.Join(TestNames(), ", ") }

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

// keyedJudge judges each key of a history by itself (jepsen.independent): the
// values are pairs of a key and what the operation of that key would have.
type keyedJudge struct {
	open  func() historyJudge
	byKey map[exchange.Atom]int
	keys  []exchange.Atom
	of    []historyJudge
}

func newKeyedJudge(open func() historyJudge) *keyedJudge {
	return &keyedJudge{open: open, byKey: map[exchange.Atom]int{}}
}

// Add hands an operation on to the judge of its key.
func (k *keyedJudge) Add(o *exchange.Operation) error {
	key, inner, err := ofKey(o)
	if err != nil {
		return err
	}
	n, known := k.byKey[key]
	if !known {
		n = len(k.keys)
		k.byKey[key] = n
		k.keys = append(k.keys, key)
		k.of = append(k.of, k.open())
	}
	return k.of[n].Add(&inner)
}

// ofKey returns the key of an operation, and the operation without it.
func ofKey(o *exchange.Operation) (exchange.Atom, exchange.Operation, error) {
	inner := *o
	if o.Function != exchange.Other {
		if inner.Keyed = false; !o.Keyed {
			return exchange.Atom{}, inner, errors.New("a value that is no pair of a key and a value, in a history of independent keys")
		}
		return o.Key, inner, nil
	}
	key, request, ok := o.Request.Pair()
	if !ok || key.Form != exchange.Scalar {
		return exchange.Atom{}, inner, errors.New("a value that is no pair of a key and a value")
	}
	inner.Request, inner.Answer = *request, exchange.Value{}
	if o.Outcome == history.Committed && !o.Answer.IsNil() {
		answered, answer, ok := o.Answer.Pair()
		if !ok || answered.Form != exchange.Scalar || answered.Atom != key.Atom {
			return exchange.Atom{}, inner, fmt.Errorf("an answer %s that is not of the key %s", o.Answer.String(), key.Atom)
		}
		inner.Answer = *answer
	}
	return key.Atom, inner, nil
}

// errKeyed is the error of a judge of histories without independent keys.
func errKeyed(o *exchange.Operation) error {
	return fmt.Errorf("a value of the independent key %s, in a history that began without such keys", o.Key)
}

// judgeOf returns the judge of a history that begins with an operation: one, or one
// for each independent key.
func judgeOf(first *exchange.Operation, open func() historyJudge) historyJudge {
	if first.Keyed {
		return newKeyedJudge(open)
	}
	return open()
}

// Result returns the answer over all keys: violated if one is, valid if all are.
// The evidence of each violated key is listed once before any is listed twice.
func (k *keyedJudge) Result(ctx context.Context) check.Result {
	var r check.Result
	count := map[check.Verdict]int{}
	var evidence [][]check.Evidence
	var found int64
	unknown, violated := "", ""
	for n, judge := range k.of {
		one := judge.Result(ctx)
		if n == 0 {
			r.Name = one.Name
		}
		count[one.Verdict]++
		found += one.Found
		switch one.Verdict {
		case check.Violated:
			if violated == "" {
				violated = fmt.Sprintf("; key %s: %s", k.keys[n], one.Detail)
			}
			if len(evidence) < check.MaxEvidence {
				evidence = append(evidence, k.ofKey(n, one.Evidence))
			}
		case check.Unknown:
			if unknown == "" {
				unknown = fmt.Sprintf("; key %s: %s", k.keys[n], one.Detail)
			}
		}
		k.of[n] = nil
	}
	for depth := range check.MaxEvidence {
		for _, of := range evidence {
			if depth < len(of) {
				r.Add(of[depth])
			}
		}
	}
	r.Found = max(r.Found, found)
	r.Detail = fmt.Sprintf("%s, each judged by itself: %s valid, %s violated, %s unknown", check.Counted(len(k.keys), "key", "keys"),
		check.CountOrNone(count[check.Valid]), check.CountOrNone(count[check.Violated]), check.CountOrNone(count[check.Unknown]))
	switch {
	case count[check.Violated] > 0:
		r.Detail += violated
	case count[check.Unknown] > 0:
		r.Detail += unknown
	case count[check.Valid] > 0:
		r.Verdict = check.Valid
	}
	return r
}

// ofKey says of evidence which key it is of.
func (k *keyedJudge) ofKey(n int, evidence []check.Evidence) []check.Evidence {
	named := slices.Clone(evidence)
	for i := range named {
		named[i].Text = "key " + k.keys[n].String() + ": " + named[i].Text
		if k.keys[n].Kind == exchange.Number && named[i].Fields != nil {
			named[i].Fields["key"] = k.keys[n].Int
		}
	}
	return named
}
