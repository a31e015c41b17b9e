package operation

import (
	"fmt"

	"assay/history"
	"assay/history/exchange"
)

// Unfit is the error of an operation that histories of a kind do not have.
func Unfit(o *exchange.Operation, want string) error {
	return fmt.Errorf("a %s of %s, answered with %s; want %s", o.Word, o.Request.String(), o.Answer.String(), want)
}

// UnknownFunction is the error of a function that histories of a kind do not have.
func UnknownFunction(o *exchange.Operation, known string) error {
	return fmt.Errorf("operations of the function :%s; known are %s", o.Word, known)
}

// Value returns the answer of an operation that was acknowledged with one, else its
// request.
func Value(o *exchange.Operation) *exchange.Value {
	if o.Outcome == history.Committed && !o.Answer.IsNil() {
		return &o.Answer
	}
	return &o.Request
}

// Element returns the request of an operation as one element.
func Element(o *exchange.Operation) (exchange.Atom, error) {
	if o.Request.Form != exchange.Scalar || o.Request.IsNil() {
		return exchange.Atom{}, Unfit(o, "one element")
	}
	if o.Outcome == history.Committed && !o.Answer.IsNil() && (o.Answer.Form != exchange.Scalar || o.Answer.Atom != o.Request.Atom) {
		return exchange.Atom{}, Unfit(o, "the same element")
	}
	return o.Request.Atom, nil
}

// Elements returns a list or set of atoms.
func Elements(o *exchange.Operation, v *exchange.Value) ([]exchange.Atom, error) {
	if v.Form != exchange.List {
		return nil, Unfit(o, "a list or a set of elements")
	}
	all := make([]exchange.Atom, len(v.Items))
	for i := range v.Items {
		if v.Items[i].Form != exchange.Scalar {
			return nil, Unfit(o, "a list or a set of elements")
		}
		all[i] = v.Items[i].Atom
	}
	return all, nil
}

// Nothing checks that an operation was invoked with nil.
func Nothing(o *exchange.Operation) error {
	if !o.Request.IsNil() {
		return Unfit(o, "an invocation with nil")
	}
	return nil
}
