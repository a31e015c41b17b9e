package recorded

import (
	"context"
	"errors"
	"fmt"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

// Keyed judges each key of a history alone (jepsen.independent). The key is a field of its own, or
// values are pairs of key and value.
type Keyed struct {
	open func() Judge
	// pairs means that a key of its own is for the judges.
	pairs bool
	// beside means that the operations so far had keys of their own.
	beside bool
	byKey  map[exchange.Atom]int
	keys   []exchange.Atom
	of     []Judge
}

// NewKeyed returns a judge that opens a judge for each key.
func NewKeyed(open func() Judge) *Keyed { return &Keyed{open: open, byKey: map[exchange.Atom]int{}} }

// Keys returns the number of keys.
func (k *Keyed) Keys() int { return len(k.keys) }

// Add passes an operation to the judge of its key.
func (k *Keyed) Add(o *exchange.Operation) error {
	key, inner, err := k.ofKey(o)
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

func (k *Keyed) ofKey(o *exchange.Operation) (exchange.Atom, exchange.Operation, error) {
	inner := *o
	switch inner.Keyed = false; {
	case o.Keyed && !k.pairs:
		return o.Key, inner, k.mixed(true)
	case o.Keyed:
		return exchange.Atom{}, inner, errors.New("an operation with a key, whose value is to be a pair of a key and a value")
	case o.Function != exchange.Other:
		return exchange.Atom{}, inner, errors.New("a value that is no pair of a key and a value, in a history of independent keys")
	}
	if err := k.mixed(false); err != nil {
		return exchange.Atom{}, inner, err
	}
	key, request, ok := o.Request.Pair()
	if !ok || key.Form != exchange.Scalar {
		return exchange.Atom{}, inner, fmt.Errorf("%s, in a history of independent keys, whose values are pairs of a key and a value", describe(o))
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

// mixed refuses operations with a key of its own among others whose values are pairs.
func (k *Keyed) mixed(beside bool) error {
	if len(k.keys) > 0 && k.beside != beside {
		return errors.New("an operation with a :key in a history of operations without one, or the other way round; name the key of each operation, or of none")
	}
	k.beside = beside
	return nil
}

// Result returns the answer over all keys: violated if one is, valid if all are. It lists one
// piece of evidence of each violated key before a second of any.
func (k *Keyed) Result(ctx context.Context) check.Result {
	var r check.Result
	count := map[check.Verdict]int{}
	first := map[check.Verdict]string{}
	var violated []check.Result
	for n, judge := range k.of {
		one := judge.Result(ctx)
		if n == 0 {
			r.Name = one.Name
		}
		if count[one.Verdict]++; count[one.Verdict] == 1 {
			first[one.Verdict] = fmt.Sprintf("; key %s: %s", k.keys[n], one.Detail)
		}
		if one.Verdict == check.Violated {
			part := check.Result{Findings: one.Findings}
			if len(violated) < check.MaxEvidence {
				part.Evidence = withKey(k.keys[n], one.Evidence)
			}
			violated = append(violated, part)
		}
		k.of[n] = nil
	}
	r.AddParts(violated)
	r.Detail = fmt.Sprintf("%s, each judged by itself: %s valid, %s violated, %s unknown", plural(len(k.keys), "key"),
		check.CountOrNone(count[check.Valid]), check.CountOrNone(count[check.Violated]), check.CountOrNone(count[check.Unknown]))
	switch {
	case count[check.Violated] > 0:
		r.Detail += first[check.Violated]
	case count[check.Unknown] > 0:
		r.Detail += first[check.Unknown]
	case count[check.Valid] > 0:
		r.Verdict = check.Valid
	}
	return r
}

func withKey(key exchange.Atom, evidence []check.Evidence) []check.Evidence {
	for i := range evidence {
		evidence[i].Text = "key " + key.String() + ": " + evidence[i].Text
		if key.Kind == exchange.Number && evidence[i].Fields != nil {
			evidence[i].Fields["key"] = key.Int
		}
	}
	return evidence
}
