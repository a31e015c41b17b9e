package visibility

import (
	"context"
	"fmt"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// Sequential judges clients that write the parts of a key one after the other,
// each in a transaction of its own, and read them in the opposite order
// (CockroachDB's sequential): who finds a part finds all that were
// written before it, and so all that it reads after it.
type Sequential struct {
	writes, reads, some, all, none int64
	f                              *operation.Findings
}

// NewSequential returns a judge.
func NewSequential() *Sequential { return &Sequential{f: operation.NewFindings(kindGap)} }

// Add takes one operation: a :write of a key, or a :read of a key that is answered
// with [key parts], the part that was written last first and nil for what
// was not found. Any other is an error.
func (s *Sequential) Add(o *exchange.Operation) error {
	switch o.Word {
	case "write":
		_, err := operation.Element(o)
		s.writes++
		return err
	case "read":
		return s.read(o)
	}
	return operation.UnknownFunction(o, "write and read")
}

func (s *Sequential) read(o *exchange.Operation) error {
	if key, nothing, ok := o.Request.Pair(); o.Request.Form != exchange.Scalar && (!ok || key.Form != exchange.Scalar || !nothing.IsNil()) {
		return operation.Unfit(o, "a key")
	}
	if o.Outcome != history.Committed {
		return nil
	}
	key, parts, ok := o.Answer.Pair()
	if !ok || key.Form != exchange.Scalar {
		return operation.Unfit(o, "[key parts]")
	}
	list, err := operation.Elements(o, parts)
	if err != nil {
		return err
	}
	s.reads++
	first, gap := -1, -1
	for i := range list {
		switch missing := list[i].Kind == exchange.Nil; {
		case !missing && first < 0:
			first = i
		case missing && first >= 0 && gap < 0:
			gap = i
		}
	}
	switch {
	case gap >= 0:
		by := operation.Of(o)
		s.f.Add(kindGap, &by, "of key %s found %s and then missed part %d of %d that it read, which was written before: %s",
			key, list[first], gap+1, len(list), parts)
	case first < 0:
		s.none++
	case first == 0:
		s.all++
	default:
		s.some++
	}
	return nil
}

// Result returns the answer over all operations.
func (s *Sequential) Result(context.Context) check.Result {
	r := s.f.Result("sequential", fmt.Sprintf("%s, %s: %s of all parts, %s of the first ones alone, %s of none", operation.Plural(s.writes, "write"),
		operation.Plural(s.reads, "read"), check.CountOrNone(s.all), check.CountOrNone(s.some), check.CountOrNone(s.none)))
	r.Finish("", s.all+s.some == 0, "no read found a part, so nothing can be said")
	return r
}
