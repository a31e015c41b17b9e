package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"assay/check"
	"assay/history"
	"assay/history/exchange"
)

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
