package collections

import (
	"context"
	"fmt"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// UniqueIDs judges a generator of identifiers (jepsen.checker/unique-ids): none
// is given out twice.
type UniqueIDs struct {
	given  map[string]operation.Operation // who was given it first
	again  *operation.Findings
	asked  int64
	gotten int64
}

// NewUniqueIDs returns a judge.
func NewUniqueIDs() *UniqueIDs {
	return &UniqueIDs{given: map[string]operation.Operation{}, again: operation.NewFindings(kindDuplicate)}
}

// Add takes one operation, a :generate that is answered with an identifier. Any
// other is an error.
func (u *UniqueIDs) Add(o *exchange.Operation) error {
	if o.Word != "generate" {
		return operation.UnknownFunction(o, "generate")
	}
	if err := operation.Nothing(o); err != nil {
		return err
	}
	u.asked++
	if o.Outcome != history.Committed {
		return nil
	}
	if o.Answer.IsNil() || o.Answer.Form == exchange.List || o.Answer.Form == exchange.Map {
		return operation.Unfit(o, "an identifier")
	}
	u.gotten++
	id, by := o.Answer.String(), operation.Of(o)
	first, given := u.given[id]
	if !given {
		u.given[id] = by
		return nil
	}
	u.again.Add(kindDuplicate, &by, "was given %s, which %s had been given", operation.Field{Name: "id", Value: id}, &first)
	return nil
}

// Result returns the answer over all operations.
func (u *UniqueIDs) Result(context.Context) check.Result {
	r := check.Result{Name: "unique-ids", Detail: fmt.Sprintf("%s, %s given", operation.Plural(u.asked, "request"), operation.Plural(u.gotten, "identifier"))}
	u.again.Into(&r)
	if n := u.again.Count(kindDuplicate); n > 0 {
		r.Detail += fmt.Sprintf("; %s given before", check.Count(n))
	}
	r.Finish("", u.gotten == 0, "no identifier was given, so nothing can be said")
	return r
}
