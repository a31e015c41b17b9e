package simulated

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history/exchange"
)

// Judge judges a history of one kind, operation by operation.
type Judge interface {
	Add(*exchange.Operation) error
	Result(context.Context) check.Result
}

// MustRead returns the operations of a history that is written as Events takes it.
func MustRead(t *testing.T, short string) []exchange.Operation {
	t.Helper()
	ops, err := Read(Events(short))
	if err != nil {
		t.Fatalf("%v in %s", err, short)
	}
	return ops
}

// Judged gives a history to a judge, which must take it.
func Judged(t *testing.T, j Judge, ops []exchange.Operation) check.Result {
	t.Helper()
	for i := range ops {
		if err := j.Add(&ops[i]); err != nil {
			t.Fatalf("%v of %+v", err, ops[i])
		}
	}
	return j.Result(t.Context())
}

// Expect gives a short history to a judge and compares the verdict. What the judge
// says in words, evidence and its kinds included, must contain says.
func Expect(t *testing.T, j Judge, short string, want check.Verdict, says string) check.Result {
	t.Helper()
	r := Judged(t, j, MustRead(t, short))
	text := r.Detail
	for _, e := range r.Evidence {
		text += "\n" + e.Kind + ": " + e.Text
	}
	if r.Verdict != want || !strings.Contains(text, says) || (r.Found > 0) != (want == check.Violated) {
		t.Errorf("%s of %s: %v, %d found\n%s\nwant %v: %s", r.Name, short, r.Verdict, r.Found, text, want, says)
	}
	return r
}

// Refused checks that a judge does not take all of a short history.
func Refused(t *testing.T, j Judge, short string) {
	t.Helper()
	ops := MustRead(t, short)
	for i := range ops {
		if j.Add(&ops[i]) != nil {
			return
		}
	}
	t.Errorf("a %s takes %s", j.Result(t.Context()).Name, short)
}

// Fuzz gives judges whatever comes, in any order of the operations and as it would be
// read: none may panic, and each must count what it lists.
func Fuzz(f *testing.F, open func(kind string) Judge, kinds []string, seeds ...string) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, short string) {
		ops, err := Read(Events(short))
		if err != nil {
			return
		}
		slices.SortStableFunc(ops, func(a, b exchange.Operation) int { return cmp.Compare(a.Complete, b.Complete) })
		for _, kind := range kinds {
			j := open(kind)
			for i := range ops {
				if j.Add(&ops[i]) != nil {
					break
				}
			}
			r := j.Result(t.Context())
			if (r.Verdict == check.Violated) != (r.Found > 0) || r.Found < int64(len(r.Evidence)) || r.Detail == "" {
				t.Errorf("%s of %s: %v with %d found and %d listed: %q", kind, short, r.Verdict, r.Found, len(r.Evidence), r.Detail)
			}
		}
	})
}
