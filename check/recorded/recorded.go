// Package recorded judges histories that other tools recorded: sets, queues, counters, generators
// of identifiers, locks, logs such as Kafka's, banks, transactions over registers, and which
// writes reads see and in which order. The kinds and their rules are those of Jepsen's checkers
// and tests (https://jepsen-io.github.io/jepsen/) and of Knossos
// (https://github.com/jepsen-io/knossos).
//
// A judge takes operations in any order and keeps them in memory. Unless its kind says otherwise
// it decides in time n log n, without a search. An operation of unknown outcome may have taken
// effect or not, whichever explains the rest.
package recorded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/history/exchange"
)

// Judge judges a history of one kind, operation by operation. It is not safe for concurrent use.
type Judge interface {
	// Add takes the next operation, which is valid until Add returns. An error means that
	// histories of this kind have no such operation.
	Add(*exchange.Operation) error
	// Result returns the answer under the kind's name; unknown if ctx ends before a search.
	Result(context.Context) check.Result
}

// Checker is a form of histories, with the kinds that have it.
type Checker struct {
	Names []string
	// Models are the consistency models that may be asked for besides the kind's own rule.
	Models []string
	// Keyed means that values may be pairs of a key and a value (jepsen.independent). Each key is
	// then judged alone.
	Keyed bool
	// Asked means that another kind has the same form, so this one must be asked for by name.
	Asked bool
	// byKey means that the kind has keys of its own, named beside the value.
	byKey bool
	// open returns a judge of the named kind; "" lets the judge find the kind.
	open func(name, model string) *judge
}

// Open returns a judge of the named kind and model. With "" as name the operations show the kind;
// "" as model is the kind's own rule.
func (c *Checker) Open(name, model string) Judge {
	j := c.open(name, model)
	j.byKey = c.byKey
	return j
}

// OpenKeyed returns a judge that judges each independent key by itself.
func (c *Checker) OpenKeyed(name, model string) *Keyed {
	k := NewKeyed(func() Judge { return c.Open(name, model) })
	k.pairs = c.byKey
	return k
}

// linearizable is the model in which elements of a set must be seen at once.
const linearizable = "linearizable"

// Checkers returns all checkers but those of kinds for which package exchange has operations.
func Checkers() []Checker {
	plain := func(open func() *judge) func(_, _ string) *judge { return func(_, _ string) *judge { return open() } }
	return []Checker{
		{Names: []string{"set", "set-full"}, Keyed: true, Models: []string{linearizable}, open: newSet},
		{Names: []string{"queue", "total-queue"}, Keyed: true, open: newQueue},
		{Names: []string{"counter"}, Keyed: true, open: plain(newCounter)},
		{Names: []string{"unique-ids"}, Keyed: true, open: plain(newUniqueIDs)},
		{Names: []string{"long-fork"}, open: plain(newLongFork)},
		{Names: []string{"monotonic"}, Keyed: true, open: plain(newMonotonic)},
		{Names: []string{"sequential"}, open: plain(newSequential)},
		{Names: []string{"comments"}, Keyed: true, open: plain(newComments)},
		{Names: []string{"adya-g2"}, open: plain(newAdyaG2)},
		{Names: []string{"causal"}, Keyed: true, open: plain(newCausal)},
		{Names: []string{"kafka"}, Models: []string{string(cycle.ReadUncommitted), string(cycle.ReadCommitted), string(cycle.Serializable)}, open: newLog},
		{Names: []string{"mutex"}, Keyed: true, open: newLock},
		{Names: []string{"owner-mutex", "reentrant-mutex", "fenced-mutex", "reentrant-fenced-mutex"}, Keyed: true, Asked: true, open: newLock},
		{Names: []string{"key-value"}, Keyed: true, byKey: true, open: plain(newKeyValue)},
		{Names: []string{"multi-register"}, Keyed: true, open: plain(newMultiRegister)},
	}
}

type judge struct {
	byKey     bool
	functions []function
	result    func(context.Context) check.Result
}

// function takes the operations of one function. A hidden function is not listed in errors.
type function struct {
	word   string
	take   taker
	hidden bool
}

// taker takes one operation. An error of type unfit names what the operation should have been.
type taker func(o *exchange.Operation, by Operation) error

type unfit string

func (u unfit) Error() string { return string(u) }

// UnfitError means that a kind of history has operations with this function, and other values.
type UnfitError struct {
	// Operation describes the operation, and Want the values that it should have.
	Operation, Want string
}

func (e *UnfitError) Error() string { return e.Operation + "; want " + e.Want }

// UnknownFunctionError means that a kind of history has no operations with this function.
type UnknownFunctionError struct{ Word, Known string }

func (e *UnknownFunctionError) Error() string {
	return fmt.Sprintf("operations of the function :%s; known are %s", e.Word, e.Known)
}

// Add implements Judge.
func (j *judge) Add(o *exchange.Operation) error {
	at := slices.IndexFunc(j.functions, func(f function) bool { return f.word == o.Word })
	if at < 0 {
		return &UnknownFunctionError{o.Word, j.known()}
	}
	if o.Keyed && !j.byKey {
		return fmt.Errorf("an operation with the key %s, in a history of a kind without keys, or that began without them; name the key of each operation, or of none", o.Key)
	}
	err := j.functions[at].take(o, operationOf(o))
	if want := unfit(""); errors.As(err, &want) {
		return &UnfitError{describe(o), string(want)}
	}
	return err
}

// describe tells an operation by its values.
func describe(o *exchange.Operation) string {
	text := "a "
	if strings.ContainsAny(o.Word[:1], "aeiou") {
		text = "an "
	}
	text += o.Word + " of " + o.Request.String()
	if o.Outcome == history.Committed {
		text += ", answered with " + o.Answer.String()
	}
	return text
}

func (j *judge) known() string {
	var words []string
	for _, f := range j.functions {
		if !f.hidden {
			words = append(words, f.word)
		}
	}
	last := len(words) - 1
	return strings.TrimPrefix(strings.Join(words[:last], ", ")+" and "+words[last], " and ")
}

// Result implements Judge.
func (j *judge) Result(ctx context.Context) check.Result { return j.result(ctx) }

// putting takes operations on one element, which an acknowledgement repeats or leaves out.
func putting(take func(o *exchange.Operation, by Operation, element exchange.Atom) error) taker {
	return func(o *exchange.Operation, by Operation) error {
		if o.Request.Form != exchange.Scalar || o.Request.IsNil() {
			return unfit("one element")
		}
		if o.Outcome == history.Committed && !o.Answer.IsNil() && (o.Answer.Form != exchange.Scalar || o.Answer.Atom != o.Request.Atom) {
			return unfit("the same element")
		}
		return take(o, by, o.Request.Atom)
	}
}

// asking takes operations invoked with nil, or with the element that they answer: some tools put
// it there, and without an invocation there is nothing else.
func asking(take taker) taker {
	return func(o *exchange.Operation, by Operation) error {
		if !o.Request.IsNil() && !o.Uninvoked && !(by.Acknowledged() && o.Request.Form == exchange.Scalar && o.Request.Equal(&o.Answer)) {
			return unfit("an invocation with nil")
		}
		return take(o, by)
	}
}

// answered takes the acknowledged operations that asking accepts, and ignores the others and those
// acknowledged without an answer, which tell nothing.
func answered(take func(by Operation, answer *exchange.Value) error) taker {
	return asking(func(o *exchange.Operation, by Operation) error {
		if !by.Acknowledged() || o.Answer.IsNil() {
			return nil
		}
		return take(by, &o.Answer)
	})
}

// value returns the answer of an acknowledged operation if it has one, and otherwise its request.
func value(o *exchange.Operation) *exchange.Value {
	if o.Outcome == history.Committed && !o.Answer.IsNil() {
		return &o.Answer
	}
	return &o.Request
}

// elementsOf returns a list or set of atoms.
func elementsOf(v *exchange.Value) ([]exchange.Atom, error) {
	if v.Form != exchange.List && v.Form != exchange.Set || slices.ContainsFunc(v.Items, func(item exchange.Value) bool { return item.Form != exchange.Scalar }) {
		return nil, unfit("a list or a set of elements")
	}
	all := make([]exchange.Atom, len(v.Items))
	for i := range v.Items {
		all[i] = v.Items[i].Atom
	}
	return all, nil
}

func number(v *exchange.Value, want unfit) (int64, error) {
	if v.Form != exchange.Scalar || v.Atom.Kind != exchange.Number {
		return 0, want
	}
	return v.Atom.Int, nil
}

// stepOf returns the word, the key and the value of a step such as [:r 1 nil]. A read of two parts,
// [:r 1], reads nil.
func stepOf(v *exchange.Value, want unfit) (word string, key, value exchange.Atom, err error) {
	if v.Form != exchange.List || len(v.Items) < 2 || len(v.Items) > 3 || v.Items[1].Form != exchange.Scalar {
		return "", key, value, want
	}
	switch word = v.Items[0].Word(); {
	case len(v.Items) == 2 && (word == "r" || word == "read"):
		return word, v.Items[1].Atom, value, nil
	case len(v.Items) == 2 || v.Items[2].Form != exchange.Scalar:
		return "", key, value, want
	}
	return word, v.Items[1].Atom, v.Items[2].Atom, nil
}
