package runner

import (
	"context"
	"slices"
	"strings"

	"assay/check"
	"assay/check/collections"
	"assay/check/cycle"
	"assay/check/locks"
	"assay/check/logs"
	"assay/check/multiregister"
	"assay/check/visibility"
	"assay/history/exchange"
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

// typedTests are the kinds that package exchange knows.
func typedTests() []string {
	return []string{exchange.ListAppend.String(), exchange.ReadWrite.String(), exchange.Register.String(), exchange.Bank.String()}
}

func historyTests() []historyTest {
	return []historyTest{
		{names: []string{"set", "set-full"}, keyed: true, models: []string{modelLinearizable}, open: openSet},
		{names: []string{"queue", "total-queue"}, keyed: true, open: openQueue},
		{names: []string{"counter"}, keyed: true, open: func(_, _ string) historyJudge { return collections.NewCounter() }},
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
