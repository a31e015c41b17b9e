package recorded

import (
	"context"
	"errors"
	"fmt"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

// Keyed judges each key of a history alone (jepsen.independent): values are pairs of key and value.
type Keyed struct {
	open  func() Judge
	byKey map[exchange.Atom]int
	keys  []exchange.Atom
	of    []Judge
}

// NewKeyed returns a judge that opens a judge for each key.
func NewKeyed(open func() Judge) *Keyed { return &Keyed{open: open, byKey: map[exchange.Atom]int{}} }

// Keys returns the number of keys.
func (k *Keyed) Keys() int { return len(k.keys) }

// Add passes an operation to the judge of its key.
func (k *Keyed) Add(o *exchange.Operation) error {
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

// Result returns the answer over all keys: violated if one is, valid if all are. It lists one
// piece of evidence of each violated key before a second of any.
func (k *Keyed) Result(ctx context.Context) check.Result {
	var r check.Result
	count := map[check.Verdict]int{}
	first := map[check.Verdict]string{}
	var evidence [][]check.Evidence
	var found int64
	for n, judge := range k.of {
		one := judge.Result(ctx)
		if n == 0 {
			r.Name = one.Name
		}
		if count[one.Verdict]++; count[one.Verdict] == 1 {
			first[one.Verdict] = fmt.Sprintf("; key %s: %s", k.keys[n], one.Detail)
		}
		found += one.Found
		if one.Verdict == check.Violated && len(evidence) < check.MaxEvidence {
			evidence = append(evidence, withKey(k.keys[n], one.Evidence))
		}
		k.of[n] = nil
	}
	r.AddInTurn(evidence)
	r.Found = max(r.Found, found)
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
